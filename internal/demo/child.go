package demo

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// child is a `leat run` of the demo.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start runs the script; its progress goes to the output of the demo.
func (r *run) start(ctx context.Context, flags ...string) *child {
	cmd := exec.CommandContext(ctx, r.opt.Program, append([]string{"run", r.script()}, flags...)...)
	cmd.Env = r.env()
	cmd.Stdout, cmd.Stderr = r.opt.Out, r.opt.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	c := &child{cmd: cmd, done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		c.err = fmt.Errorf("starting %s: %w", r.opt.Program, err)
		close(c.done)
		return c
	}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c
}

// runFor lets the job run; it is an error if it ends by itself.
func (c *child) runFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.done:
		return fmt.Errorf("the job ended early: %w", c.exitError())
	case <-ctx.Done():
		<-c.done
		return context.Cause(ctx)
	}
}

func (c *child) exitError() error {
	if c.err != nil {
		return c.err
	}
	return errEnded
}

func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	<-c.done
}

// stop asks for a last checkpoint and waits for the end.
func (c *child) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	return c.wait()
}

func (c *child) wait() error {
	<-c.done
	if c.err != nil {
		return fmt.Errorf("running the job: %w", c.err)
	}
	return nil
}
