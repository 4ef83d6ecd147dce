package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what the kernel accounts to a child that has ended.
type usage struct {
	wall  time.Duration
	cpu   time.Duration // user and system
	rssMB float64       // high-water mark of the resident memory
}

// child is a running program whose output goes to a log file.
type child struct {
	cmd   *exec.Cmd
	log   *os.File
	start time.Time
	// peak gets the high-water mark when the child has ended.
	peak chan float64
	done chan struct{}
}

func startChild(ctx context.Context, logFile string, env []string, name string, args ...string) (*child, error) {
	f, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &child{cmd: exec.CommandContext(ctx, name, args...), log: f}
	c.cmd.Stdout, c.cmd.Stderr = f, f
	c.cmd.Env = append(os.Environ(), env...)
	return c, c.begin()
}

// startPiped starts a program that reads in and writes to out; the log gets what it says besides.
func startPiped(ctx context.Context, logFile string, in, out *os.File, name string, args ...string) (*child, error) {
	f, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &child{cmd: exec.CommandContext(ctx, name, args...), log: f}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in, out, f
	return c, c.begin()
}

// begin starts the program.
func (c *child) begin() error {
	// A child that is given up gets the chance to end in order.
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 20 * time.Second
	c.start = time.Now()
	if err := c.cmd.Start(); err != nil {
		c.log.Close()
		return fmt.Errorf("starting %s: %w", c.cmd.Path, err)
	}
	c.peak, c.done = make(chan float64, 1), make(chan struct{})
	go c.watchMemory()
	return nil
}

// watchMemory reads the high-water mark as long as the child runs. The figure
// that wait4 gives is no use: it begins with the memory of the process that started it.
func (c *child) watchMemory() {
	var peak float64
	for {
		peak = max(peak, highWaterMB(c.cmd.Process.Pid))
		select {
		case <-c.done:
			c.peak <- peak
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// highWaterMB gives VmHWM of a process in MB; 0 if it is gone.
func highWaterMB(pid int) float64 { return statusMB(pid, "VmHWM:") }

// statusMB gives a line of the status of a process in MB; 0 if it is gone.
func statusMB(pid int, name string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) == 3 && f[0] == name {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

func (c *child) wait() (usage, error) {
	err := c.cmd.Wait()
	u := usage{wall: time.Since(c.start)}
	close(c.done)
	u.rssMB = <-c.peak
	c.log.Close()
	if ru, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.cpu = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w\n%s", c.cmd.Path, err, tail(c.log.Name()))
	}
	return u, nil
}

func tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

// processCPU gives the CPU time of a running process.
func processCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The fields after the command, which may hold anything, begin behind the last ')'.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	// Clock ticks are 1/100 s on Linux.
	return time.Duration(user+system) * 10 * time.Millisecond
}
