package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/internal/job"
	"leat/planner"
	"leat/sqlfront"
)

// runInsert runs an INSERT that is a job: here, if the session waits for jobs, else
// in a process of its own.
func (sh *shell) runInsert(ctx context.Context, st sqlfront.Statement, result *planner.Result) error {
	if err := job.GuardRunning(ctx, sh.jobs, result.Steps); err != nil {
		return err
	}
	if configs.DMLSync.Get(result.Settings) {
		return sh.runHere(ctx, st, result)
	}
	return sh.startJob(ctx, st, result)
}

// runHere runs a job in the shell until it ends; Ctrl-C ends it after a last checkpoint.
func (sh *shell) runHere(ctx context.Context, st sqlfront.Statement, result *planner.Result) error {
	log, err := sh.app.settings.logger()
	if err != nil {
		return err
	}
	p := newProgress(sh.notices)
	j := job.New(job.Spec{
		Result: result, Replan: result.Replan, Script: st.Pos().File, StateDir: sh.app.settings.stateDir(), Log: log, Listener: p.listener(), Output: quiet{sh.out},
		Notice: func(text string) { p.print("notice: " + text) },
	})
	if err := runJob(ctx, j, p); err != nil {
		return err
	}
	return sh.out.Done("job " + result.Plan.Name + " has ended")
}

// A job that starts is looked at this often, and waited for this long.
const (
	startPoll    = 50 * time.Millisecond
	startTimeout = time.Minute
)

// startJob starts `leat run` with the statements of the session that the job needs
// and st, which come on its standard input: values of secrets reach no file. The
// process has a session of its own, so that Ctrl-C and the end of the terminal do
// not reach it.
func (sh *shell) startJob(ctx context.Context, st sqlfront.Statement, result *planner.Result) error {
	name, key := result.Plan.Name, job.IdentityOf(result).Key
	if running, err := sh.jobs.Find(ctx, key); err == nil {
		return &diag.Error{Domain: diag.User, Code: diag.CodeJobRunning, Pos: st.Pos(), Msg: fmt.Sprintf("job %s runs already (pid %d)", name, running.PID), Hint: "STOP JOB '" + name + "' first, or SET 'pipeline.name' to another name"}
	}
	log, err := sh.jobLog(ctx, result)
	if err != nil {
		return err
	}
	defer log.Close()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	// Not CommandContext: the job outlives the statement and the shell.
	c := exec.Command(program, sh.runArgs()...) //nolint:noctx // see above
	c.Stdin = strings.NewReader(strings.Join(append(slices.Clone(sh.shaping), st.Text()), ";\n") + ";\n")
	c.Stdout, c.Stderr = log, log
	if c.Env, err = sh.runEnv(); err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting the job: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	return sh.awaitStart(ctx, name, key, log.Name(), ended)
}

// awaitStart waits until the job runs, or has ended.
func (sh *shell) awaitStart(ctx context.Context, name, key, log string, ended <-chan error) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	late := time.After(startTimeout)
	for {
		select {
		case err := <-ended:
			if err == nil {
				return sh.out.Done("job " + name + " has ended")
			}
			return startError(name, log, err)
		case <-tick.C:
			s, err := sh.jobs.Find(ctx, key)
			if err != nil || s.State == job.Starting {
				continue
			}
			if s.State == job.Restarting {
				fmt.Fprintf(sh.notices, "notice: job %s failed and is started again: %s\n", name, s.Error)
			}
			sh.started = append(sh.started, name)
			return sh.out.Done("job " + name + " runs: see SHOW JOBS; STOP JOB '" + name + "' ends it; it writes to " + log)
		case <-late:
			sh.started = append(sh.started, name)
			return sh.out.Done("job " + name + " is starting: see SHOW JOBS; it writes to " + log)
		case <-ctx.Done():
			fmt.Fprintf(sh.notices, "notice: job %s goes on starting; it writes to %s\n", name, log)
			return context.Cause(ctx)
		}
	}
}

// startError tells why a job did not start, in its own words.
func startError(name, log string, err error) error {
	e := &diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: fmt.Sprintf("job %s did not run", name), Hint: "see " + log}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case exitUsage:
			e.Domain = diag.User
		case exitRefused:
			e.Domain = diag.Guard
		}
	}
	if text, err := os.ReadFile(log); err == nil {
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimRight(line, "\n"); !strings.Contains(line, "notice: ") {
				e.Notes = append(e.Notes, line)
			}
		}
	}
	e.Notes = e.Notes[max(0, len(e.Notes)-10):]
	return e
}

// jobLog makes the file that the job of a result writes to.
func (sh *shell) jobLog(ctx context.Context, result *planner.Result) (*os.File, error) {
	dir := filepath.Join(sh.app.settings.stateDir(), "logs")
	if err := local.New().MkdirAll(ctx, dir); err != nil {
		return nil, &diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: "the folder of logs cannot be made", Hint: "choose another --state-dir", Cause: err}
	}
	f, err := local.Output(filepath.Join(dir, job.IdentityOf(result).Key+".log"))
	if err != nil {
		return nil, &diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: "the job's log cannot be made", Hint: "choose another --state-dir", Cause: err}
	}
	return f, nil
}

// runArgs are the arguments of `leat run` that say what those of the shell say.
func (sh *shell) runArgs() []string {
	args := []string{"run", "-"}
	sh.cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "set":
			values, err := sh.cmd.Flags().GetStringArray(f.Name)
			if err != nil {
				return
			}
			for _, v := range values {
				args = append(args, "--set="+v)
			}
		case "warehouse", "config", "log-level":
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(args, "--state-dir="+sh.app.settings.stateDir())
}

// runEnv is the environment of `leat run`: other users can see arguments, so the
// values of --var, which may be secrets, come here.
func (sh *shell) runEnv() ([]string, error) {
	given, err := sh.cmd.Flags().GetStringArray("var")
	if err != nil {
		return nil, fmt.Errorf("reading --var: %w", err)
	}
	return append(os.Environ(), given...), nil
}

// tellJobs says at the end of the shell which of its jobs go on.
func (sh *shell) tellJobs(ctx context.Context) {
	var on []string
	for _, name := range sh.started {
		if _, err := sh.jobs.Find(ctx, name); err == nil && !slices.Contains(on, name) {
			on = append(on, name)
		}
	}
	if len(on) > 0 {
		fmt.Fprintf(sh.notices, "still running: %s (`leat job stop NAME` ends one)\n", strings.Join(on, ", "))
	}
}
