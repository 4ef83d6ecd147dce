package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// pager passes a result on to the screen, or to the program of $PAGER (less, if
// it is there) once the result is longer than the window.
type pager struct {
	screen  io.Writer
	columns int
	lines   int
	held    bytes.Buffer
	seen    int
	passing bool
	program *exec.Cmd
	into    io.WriteCloser
}

func newPager(screen io.Writer, columns, lines int) *pager {
	return &pager{screen: screen, columns: columns, lines: lines}
}

func (p *pager) Write(b []byte) (int, error) {
	if p.passing {
		return p.pass(b)
	}
	p.seen += bytes.Count(b, []byte{'\n'})
	p.held.Write(b)
	if p.lines > 0 && p.seen < p.lines-1 {
		return len(b), nil
	}
	p.start()
	_, err := p.pass(p.held.Bytes())
	p.held.Reset()
	return len(b), err
}

// Live shows what comes as it comes, on the screen itself.
func (p *pager) Live() { p.passing = true }

// errSeenEnough says that the user left the pager before the end of the result.
var errSeenEnough = errors.New("the user left the pager")

// pass writes on.
func (p *pager) pass(b []byte) (int, error) {
	if p.into == nil {
		n, err := p.screen.Write(b)
		if err != nil {
			return n, fmt.Errorf("writing to the screen: %w", err)
		}
		return n, nil
	}
	n, err := p.into.Write(b)
	if err != nil {
		return n, errSeenEnough
	}
	return n, nil
}

// start starts the pager, if there is one.
func (p *pager) start() {
	p.passing = true
	command, set := os.LookupEnv("PAGER")
	if !set {
		command = "less"
	}
	words := strings.Fields(command)
	if len(words) == 0 || p.lines <= 0 {
		return
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return
	}
	cmd := exec.Command(program, words[1:]...) //nolint:gosec // the user names the pager
	cmd.Stdout, cmd.Stderr = p.screen, os.Stderr
	if os.Getenv("LESS") == "" {
		cmd.Env = append(os.Environ(), "LESS=SRFX")
	}
	into, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	p.program, p.into = cmd, into
}

// close writes what was held back, or waits until the user has left the pager.
func (p *pager) close() {
	if p.program == nil {
		p.screen.Write(p.held.Bytes()) //nolint:errcheck // the screen is all there is to tell it on
		return
	}
	p.into.Close()
	p.program.Wait() //nolint:errcheck // its exit code says nothing here
}
