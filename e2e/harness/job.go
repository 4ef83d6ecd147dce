package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"leat/internal/mysqld"
)

// Timeout ends a child that does not end by itself and fails its test.
const Timeout = 2 * time.Minute

// Job is a script in a folder of its own, which goes away with the test.
type Job struct {
	t testing.TB
	// Dir holds script.sql, warehouse and state.
	Dir string
	// Timeout ends children that do not end by themselves; NewJob sets the constant.
	Timeout time.Duration
	env     []string
}

// NewJob writes script into a new folder. env are NAME=VALUE for ${NAME} in it;
// WAREHOUSE is set.
func NewJob(t testing.TB, script string, env ...string) *Job {
	t.Helper()
	dir, err := os.MkdirTemp("", "leat-e2e-") //nolint:usetesting // the path of a control socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	j := &Job{t: t, Dir: dir, Timeout: Timeout}
	j.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(),
		"LEAT_STATE_DIR=" + j.State(), "WAREHOUSE=" + j.Warehouse(),
	}, env...)
	j.SetScript(script)
	return j
}

// SetScript replaces the script.
func (j *Job) SetScript(script string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.Dir, "script.sql"), []byte(script), 0o600); err != nil {
		j.t.Fatal(err)
	}
}

// SetEnv sets variables of later children; they win over those of NewJob.
func (j *Job) SetEnv(env ...string) { j.env = append(j.env, env...) }

// Warehouse is the folder of the lake; leat makes it.
func (j *Job) Warehouse() string { return filepath.Join(j.Dir, "lake") }

// State is the state directory.
func (j *Job) State() string { return filepath.Join(j.Dir, "state") }

// Lake is the table db.table of the job's warehouse.
func (j *Job) Lake(table string) Lake { return Lake{Warehouse: j.Warehouse(), Table: table} }

// SourceEnv gives the variables of a server: MYSQL_HOST, MYSQL_PORT, MYSQL_USER,
// MYSQL_PASSWORD, MYSQL_DATABASE. Later variables win, so tests append theirs.
func SourceEnv(s *mysqld.Server, database string) []string {
	return []string{
		"MYSQL_HOST=127.0.0.1", fmt.Sprintf("MYSQL_PORT=%d", s.Port), "MYSQL_USER=root", "MYSQL_PASSWORD=", "MYSQL_DATABASE=" + database,
	}
}

// Result is how a child ended: exit code (-1 after a signal) and output.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Child is a running leat.
type Child struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    output
	err    output
	cancel context.CancelFunc
	done   chan struct{}
}

// output is a buffer that can be read while a process writes it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Start runs the script in the background by leat run, with these flags.
func (j *Job) Start(args ...string) *Child {
	j.t.Helper()
	return j.StartCommand(append([]string{"run", "script.sql"}, args...)...)
}

// StartCommand runs any leat command in the background, in the job's folder.
func (j *Job) StartCommand(args ...string) *Child {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), j.Timeout)
	c := &Child{t: j.t, cmd: exec.CommandContext(ctx, program, args...), cancel: cancel, done: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = j.Dir, j.env
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// A hanging program shows where: SIGQUIT prints the stacks of a Go program.
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGQUIT) }
	c.cmd.WaitDelay = 10 * time.Second
	if err := c.cmd.Start(); err != nil {
		cancel()
		j.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // the state says how it ended
	}()
	j.t.Cleanup(c.cleanup)
	return c
}

func (c *Child) cleanup() {
	c.cancel()
	_ = c.cmd.Process.Kill()
	<-c.done
	if c.t.Failed() {
		c.t.Logf("%s\nexit code %d, standard error:\n%s", strings.Join(c.cmd.Args[1:], " "), c.cmd.ProcessState.ExitCode(), tail(c.err.String()))
	}
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// Stderr is the standard error so far.
func (c *Child) Stderr() string { return c.err.String() }

// Usage gives the CPU time that the child has used, and its memory in bytes.
func (c *Child) Usage() (cpu time.Duration, memory int64) {
	c.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	// The name in parentheses may hold blanks; 14 and 15 are the clock ticks, 24 the pages.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	at := func(n int) int64 {
		v, err := strconv.ParseInt(fields[n-3], 10, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		return v
	}
	const tick = time.Second / 100
	return time.Duration(at(14)+at(15)) * tick, at(24) * int64(os.Getpagesize())
}

// Ended reports whether the child has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Wait waits for the end.
func (c *Child) Wait() Result {
	c.t.Helper()
	<-c.done
	c.cancel()
	return Result{Code: c.cmd.ProcessState.ExitCode(), Stdout: c.out.String(), Stderr: c.err.String()}
}

// Kill ends the child as a crash would; it must still be running.
func (c *Child) Kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			r := c.Wait()
			c.t.Fatalf("leat ended by itself before it was killed: exit code %d\n%s", r.Code, tail(r.Stderr))
		}
		c.t.Fatal(err)
	}
	<-c.done
	if s, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && !s.Signaled() {
		c.t.Fatalf("leat ended by itself before it was killed: exit code %d\n%s", s.ExitStatus(), tail(c.Stderr()))
	}
}

// End sends SIGTERM and waits for the end, whatever the exit code.
func (c *Child) End() Result {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
	return c.Wait()
}

// Stop is End that requires exit code 0.
func (c *Child) Stop() Result {
	c.t.Helper()
	r := c.End()
	if r.Code != 0 {
		c.t.Fatalf("leat stopped with exit code %d:\n%s", r.Code, tail(r.Stderr))
	}
	return r
}

// Run runs the script to its end, whatever the exit code.
func (j *Job) Run(args ...string) Result {
	j.t.Helper()
	return j.Start(args...).Wait()
}

// CatchUp runs the script with --catch-up and requires exit code 0.
func (j *Job) CatchUp(args ...string) Result {
	j.t.Helper()
	return j.MustRun(append([]string{"--catch-up"}, args...)...)
}

// MustRun runs the script to its end and requires exit code 0.
func (j *Job) MustRun(args ...string) Result {
	j.t.Helper()
	r := j.Run(args...)
	if r.Code != 0 {
		j.t.Fatalf("leat run %v: exit code %d\n%s", args, r.Code, tail(r.Stderr))
	}
	return r
}

// Leat runs any command to its end.
func (j *Job) Leat(args ...string) Result {
	j.t.Helper()
	return j.StartCommand(args...).Wait()
}

// Wait waits until the running job called name has come up, then until it has
// reached a state: snapshot or caught-up.
func (j *Job) Wait(name, until string) {
	j.t.Helper()
	Eventually(j.t, "job "+name+" came up", func() bool { return j.Leat("job", "show", name).Code == 0 })
	if r := j.Leat("job", "wait", name, "--until", until); r.Code != 0 {
		j.t.Fatalf("leat job wait %s --until %s: exit code %d\n%s", name, until, r.Code, r.Stderr)
	}
}

// Eventually polls cond until it holds, for two minutes: more than any machine needs.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("two minutes passed before %s", what)
		}
	}
}
