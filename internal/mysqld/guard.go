package mysqld

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// guard ends the server when this process goes away without Stop: a shell that
// waits for the end of a pipe whose other end only we hold. It removes a
// temporary data folder too.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

const guardScript = `cat >/dev/null
if [ -z "$2" ]; then kill "$1"; exit; fi
kill -9 "$1"
while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
rm -rf "$2"`

func startGuard(pid int, dropDir string) (*guard, error) {
	// Not CommandContext: it outlives any context by design.
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(pid), dropDir)}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("guarding mysqld: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("guarding mysqld: %w", err)
	}
	return g, nil
}

// stop ends the guard without letting it act.
func (g *guard) stop() {
	if g == nil || g.cmd.ProcessState != nil {
		return
	}
	// The group holds the shell and its cat.
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	_ = g.cmd.Wait()
	_ = g.in.Close()
}
