package job

import (
	"context"
	"fmt"
	"time"

	"leat/internal/diag"
	"leat/planner"
)

// jobStatement carries out SHOW JOBS, DESCRIBE JOB and STOP JOB. Columns and
// states are Flink's.
func (a *application) jobStatement(ctx context.Context) error {
	s := a.step
	if a.jobs == nil {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Msg: "there are no jobs here", Hint: "use `leat shell`, or `leat job`"}
	}
	var list []Status
	if s.Kind == planner.StepShowJobs {
		var err error
		if list, err = a.jobs.List(ctx); err != nil {
			return err
		}
	} else {
		one, err := a.jobs.Find(ctx, s.Job)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	if s.Kind == planner.StepStopJob {
		return a.stopJob(ctx, &list[0])
	}
	var rows [][]string
	for i := range list {
		j := &list[i]
		rows = append(rows, []string{j.Key, j.Name, j.State.flink(), j.Started.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	return a.table([]string{"job id", "job name", "status", "start time"}, rows)
}

// flink is the word of Flink for a state.
func (s State) flink() string {
	switch s {
	case Starting:
		return "CREATED"
	case Stopping:
		return "RUNNING"
	case Running, Restarting, Finished, Failed:
	}
	return string(s)
}

// stopTimeout is how long STOP JOB waits for the end, savepointTimeout for a savepoint.
const (
	stopTimeout      = time.Minute
	savepointTimeout = 10 * time.Minute
)

func (a *application) stopJob(ctx context.Context, s *Status) error {
	if !a.step.Savepoint {
		if err := a.jobs.Stop(ctx, s); err != nil {
			return err
		}
		if err := a.jobs.AwaitEnd(ctx, s, stopTimeout); err != nil {
			return err
		}
		return a.out.Done("OK")
	}
	taking, cancel := context.WithTimeout(ctx, savepointTimeout)
	defer cancel()
	info, err := a.jobs.Savepoint(taking, s, "", true)
	if err != nil {
		return err
	}
	if err := a.jobs.AwaitEnd(ctx, s, stopTimeout); err != nil {
		return err
	}
	return a.table([]string{"savepoint path"}, [][]string{{info.Path}})
}

// AwaitEnd waits until a job has ended.
func (c *Client) AwaitEnd(ctx context.Context, s *Status, timeout time.Duration) error {
	for until := time.Now().Add(timeout); ; {
		if _, err := c.Refresh(ctx, s); err != nil {
			return nil //nolint:nilerr // a job that does not answer has ended
		}
		if time.Now().After(until) {
			return &diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: fmt.Sprintf("job %s has not ended within %s", s.Name, timeout), Hint: "see `leat job show " + s.Name + "`"}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
