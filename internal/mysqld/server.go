package mysqld

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// Options says which server to run and how.
type Options struct {
	// Install is the server program; nil means Get(ctx, Dir, Progress).
	Install  *Install
	Dir      string
	Progress func(line string)
	// DataDir keeps the data; it is made and initialised if it is empty. "" uses
	// a temporary folder that Stop removes.
	DataDir string
	// Port on 127.0.0.1; 0 picks a free one.
	Port int
	// Flags are further mysqld options; they win over the defaults.
	Flags []string
}

// Server is a running server.
type Server struct {
	Port    int
	Version string
	DataDir string
	// Install is the program that runs.
	Install *Install

	cmd   *exec.Cmd
	guard *guard
	done  chan struct{} // closed when the process has ended
	drop  bool          // Stop removes DataDir
}

// errPortTaken makes Start try another free port.
var errPortTaken = errors.New("port is taken")

// Start starts a server and waits until it answers.
func Start(ctx context.Context, opt Options) (*Server, error) {
	in := opt.Install
	if in == nil {
		var err error
		if in, err = Get(ctx, opt.Dir, opt.Progress); err != nil {
			return nil, err
		}
	}
	s := &Server{Version: in.Version, DataDir: opt.DataDir, Install: in}
	if s.DataDir == "" {
		dir, err := os.MkdirTemp("", "leat-mysql-")
		if err != nil {
			return nil, fmt.Errorf("making a data folder: %w", err)
		}
		s.DataDir, s.drop = dir, true
	}
	if err := s.start(ctx, in, opt); err != nil {
		if s.drop {
			err = errors.Join(err, os.RemoveAll(s.DataDir))
		}
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, in *Install, opt Options) (err error) {
	if s.DataDir, err = filepath.Abs(s.DataDir); err != nil {
		return fmt.Errorf("starting mysqld: %w", err)
	}
	if err := initialise(ctx, in, s.DataDir, opt.Flags); err != nil {
		return err
	}
	for range 5 {
		s.Port = opt.Port
		if s.Port == 0 {
			if s.Port, err = freePort(ctx); err != nil {
				return err
			}
		}
		err = s.launch(ctx, in, opt.Flags)
		// Somebody may take a free port before mysqld does.
		if opt.Port != 0 || !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// Addr is host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Connect opens a connection as root; db may be "". LOAD DATA LOCAL is allowed on it.
func (s *Server) Connect(db string) (*client.Conn, error) {
	c, err := client.Connect(s.Addr(), "root", "", db, func(c *client.Conn) error { return c.SetCapability(mysql.CLIENT_LOCAL_FILES) })
	if err != nil {
		return nil, fmt.Errorf("connecting to mysqld on %s: %w", s.Addr(), err)
	}
	// MariaDB does not know the collation that the client asks for.
	if _, err := c.Execute("SET NAMES utf8mb4"); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to mysqld on %s: %w", s.Addr(), err), c.Close())
	}
	return c, nil
}

// Exec runs statements one after another on a connection of its own.
func (s *Server) Exec(statements ...string) error {
	c, err := s.Connect("")
	if err != nil {
		return err
	}
	for _, q := range statements {
		if _, err := c.Execute(q); err != nil {
			return errors.Join(fmt.Errorf("running %.200q: %w", q, err), c.Close())
		}
	}
	return c.Close()
}

// Stop ends the server in order, by force after a minute, and removes a
// temporary data folder. A second call does nothing.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

// Kill ends the server at once, as a crash would; the data folder stays.
func (s *Server) Kill() error {
	s.drop = false
	return s.end(syscall.SIGKILL)
}

func (s *Server) end(sig syscall.Signal) error {
	// The guard goes first: once the process is reaped its pid may be another's.
	s.guard.stop()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping mysqld: %w", err)
	}
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("killing mysqld: %w", err)
		}
		<-s.done
	}
	if s.drop {
		if err := os.RemoveAll(s.DataDir); err != nil {
			return fmt.Errorf("removing the data folder: %w", err)
		}
	}
	return nil
}

func baseArgs(in *Install, dataDir string) []string {
	args := append([]string{"--no-defaults"}, in.Args...)
	args = append(
		args, "--datadir="+filepath.Join(dataDir, "data"), "--log-error="+logFile(dataDir),
		"--secure-file-priv=",
	)
	if !in.MariaDB {
		args = append(args, "--mysqlx=OFF")
	}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

func logFile(dataDir string) string { return filepath.Join(dataDir, "mysqld.log") }

// logTail gives the end of the server's log, for error messages.
func logTail(dataDir string) []byte {
	b, err := os.ReadFile(logFile(dataDir))
	if err != nil {
		return nil
	}
	return b[max(0, len(b)-3000):]
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts the process and waits for an answer on the port.
func (s *Server) launch(ctx context.Context, in *Install, flags []string) error {
	if err := os.Truncate(logFile(s.DataDir), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("starting mysqld: %w", err)
	}
	sock, err := socketPath(s.DataDir)
	if err != nil {
		return err
	}
	args := slices.Concat(baseArgs(in, s.DataDir), []string{
		"--socket=" + sock, "--pid-file=" + filepath.Join(s.DataDir, "mysqld.pid"),
		"--tmpdir=" + s.DataDir, // that of the system is others', too
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.Port),
		"--server-id=1", "--log-bin=binlog",
		"--binlog-format=ROW", "--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--binlog-expire-logs-seconds=0",
		"--local-infile=1", "--max-allowed-packet=256M", "--innodb-buffer-pool-size=256M",
	}, gtidArgs(in), flags)
	// Not CommandContext: the server lives until Stop, not as long as ctx.
	s.cmd = exec.Command(in.Program, args...)
	// A process group of its own: Ctrl-C must reach our caller first, who stops the server in order.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting mysqld: %w", err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended stands in its log
		close(done)
	}(s.cmd, s.done)
	dropDir := ""
	if s.drop {
		dropDir = s.DataDir
	}
	if s.guard, err = startGuard(s.cmd.Process.Pid, dropDir); err != nil {
		return errors.Join(err, s.Kill())
	}
	return s.waitReady(ctx)
}

// gtidArgs turns GTIDs on; MariaDB always has them.
func gtidArgs(in *Install) []string {
	if in.MariaDB {
		return nil
	}
	return []string{"--gtid-mode=ON", "--enforce-gtid-consistency=ON"}
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		select {
		case <-s.done:
			s.guard.stop()
			tail := logTail(s.DataDir)
			if bytes.Contains(tail, []byte("Address already in use")) {
				return fmt.Errorf("starting mysqld on port %d: %w", s.Port, errPortTaken)
			}
			return fmt.Errorf("starting mysqld: it ended: %s", tail)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for mysqld on port %d: %w: %s", s.Port, ctx.Err(), logTail(s.DataDir)), s.end(syscall.SIGKILL))
		case <-time.After(50 * time.Millisecond):
		}
		// Another server on that port would answer too: ask whose data it has.
		if c, err := s.Connect(""); err == nil {
			r, err := c.Execute("SELECT @@datadir")
			_ = c.Close()
			if err != nil {
				continue
			}
			if dir, err := r.GetString(0, 0); err == nil && filepath.Clean(dir) == filepath.Join(s.DataDir, "data") {
				return nil
			}
		}
	}
}

// socketPath gives a socket beside the data; a socket's path is limited to 107 bytes.
func socketPath(dataDir string) (string, error) {
	if p := filepath.Join(dataDir, "mysqld.sock"); len(p) <= 100 {
		return p, nil
	}
	f, err := os.CreateTemp("", "leat-*.sock")
	if err != nil {
		return "", fmt.Errorf("choosing a socket: %w", err)
	}
	return f.Name(), errors.Join(f.Close(), os.Remove(f.Name()))
}
