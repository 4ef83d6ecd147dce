package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"leat/internal/diag"
	"leat/internal/job"
)

func (a *app) jobCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "job",
		Short:   "List, show, wait for, save, restart and stop the jobs running on this machine",
		Example: "  leat job list\n  leat job wait orders --until caught-up --timeout 60s\n  leat job savepoint orders\n  leat job stop orders",
	}
	c.AddCommand(a.jobListCommand(), a.jobShowCommand(), a.jobWaitCommand(), a.jobSavepointCommand(), a.jobRestartCommand(), a.jobStopCommand())
	group(c)
	return c
}

func (a *app) client() *job.Client { return job.NewClient(a.settings.stateDir()) }

func (a *app) jobListCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list", Short: "List the running jobs", Example: "  leat job list --output json", Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.client().List(cmd.Context())
			if err != nil {
				return err
			}
			return writeJobs(cmd.OutOrStdout(), list, output)
		},
	}
	c.Flags().StringVar(&output, "output", "table", "table, json or ndjson")
	return c
}

func writeJobs(w io.Writer, list []job.Status, output string) error {
	e := json.NewEncoder(w)
	switch output {
	case "json":
		e.SetIndent("", "  ")
		if list == nil {
			list = []job.Status{}
		}
		if err := e.Encode(list); err != nil {
			return fmt.Errorf("printing jobs: %w", err)
		}
	case "ndjson":
		for i := range list {
			if err := e.Encode(&list[i]); err != nil {
				return fmt.Errorf("printing jobs: %w", err)
			}
		}
	case "table":
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tSTATE\tPID\tSINCE\tROWS\tCHECKPOINT\tLAG")
		for i := range list {
			s := &list[i]
			var rows int64
			var lag time.Duration
			for j := range s.Stats.Sources {
				rows += s.Stats.Sources[j].Rows
				lag = max(lag, s.Stats.Sources[j].Status.Lag)
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%d\t%s\n", s.Name, s.State, s.PID, s.Started.Format(time.DateTime), rows, s.Stats.Checkpoints.LastID, lag.Round(time.Millisecond))
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("printing jobs: %w", err)
		}
	default:
		return outputError(output)
	}
	return nil
}

func (a *app) jobShowCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "show NAME", Short: "Show everything about a running job, as JSON, or its source tables", Args: exactArgs(1, "the name of a job"),
		Long: `Show everything about a running job as JSON. --output table shows a job of ` + "`leat sync`" + ` by its
source tables instead: snapshot, streaming, dropped, set aside with the reason, catching up
after it was set aside, or left out with the reason; and how many rows went to dead letters.`,
		Example: "  leat job show orders\n  leat job show orders --output table",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.client().Find(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case output == "table":
				return writeTables(cmd.OutOrStdout(), &s)
			case output != "json":
				return usageError(fmt.Sprintf("--output '%s' is not a form of output", output), "write json or table")
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			if err := e.Encode(&s); err != nil {
				return fmt.Errorf("printing the job: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&output, "output", "json", "json or table")
	return c
}

// writeTables prints the source tables of a job with their states.
func writeTables(w io.Writer, s *job.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TABLE\tSTATE\tBAD ROWS\tREASON")
	for i := range s.Stats.Sources {
		for _, x := range s.Stats.Sources[i].Status.Tables {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", x.Name, x.State, x.BadRows, x.Reason)
		}
	}
	for _, x := range s.Left {
		fmt.Fprintf(t, "%s\tleft out\t\t%s\n", x.Name, x.Reason)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing tables: %w", err)
	}
	return nil
}

func (a *app) jobRestartCommand() *cobra.Command {
	var table string
	c := &cobra.Command{
		Use: "restart NAME --table TABLE", Short: "Let a table go on that was set aside", Args: exactArgs(1, "the name of a job"),
		Long: `Let a table of a job of ` + "`leat sync`" + ` go on that was set aside, from the place where it stands, without
a new snapshot as long as the server has the binlog from there on. The job takes a checkpoint
and begins again with the table, which catches up beside the others.`,
		Example: "  leat job restart sync_shop --table shop.orders",
		RunE: func(cmd *cobra.Command, args []string) error {
			if table == "" {
				return usageError("--table is missing", "add --table database.table; `leat job show NAME --output table` lists them")
			}
			c := a.client()
			s, err := c.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.Resume(cmd.Context(), &s, table)
		},
	}
	c.Flags().StringVar(&table, "table", "", "source table, as database.table")
	return c
}

func (a *app) jobWaitCommand() *cobra.Command {
	var timeout time.Duration
	var until string
	c := &cobra.Command{
		Use: "wait NAME", Short: "Wait until a job has reached a state", Args: exactArgs(1, "the name of a job"),
		Long:    "Wait until a job has its snapshot in the lake (--until snapshot), has read and committed what was there when the wait began to be caught up (--until caught-up), or has ended (--until end).\nA job that is just being started is waited for too.",
		Example: "  leat job wait orders --until snapshot --timeout 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			begin := time.Now()
			read, ok := waitStates[until]
			if !ok {
				return usageError(fmt.Sprintf("--until '%s' is not a state", until), "write snapshot, caught-up or end")
			}
			c := a.client()
			s, err := awaitJob(cmd, c, args[0], timeout)
			if err != nil {
				return err
			}
			timeout -= time.Since(begin)
			w := job.Progressed{Read: func(s *job.Status) bool { return read(s, begin) }}
			return poll(cmd.Context(), c, &s, timeout, until, w.Committed)
		},
	}
	c.Flags().StringVar(&until, "until", "caught-up", "snapshot, caught-up or end")
	c.Flags().DurationVar(&timeout, "timeout", 60*time.Second, "how long to wait")
	return c
}

// awaitJob finds a job, or waits for it to appear: `leat run` is heard of once it
// has read its script.
func awaitJob(cmd *cobra.Command, c *job.Client, name string, timeout time.Duration) (job.Status, error) {
	told := false
	for begin := time.Now(); ; {
		s, err := c.Find(cmd.Context(), name)
		if err == nil || time.Since(begin) > timeout {
			return s, err
		}
		if !told && time.Since(begin) > time.Second {
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting for a job called %s to start\n", name)
			told = true
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-cmd.Context().Done():
			return s, context.Cause(cmd.Context())
		}
	}
}

var waitStates = map[string]func(s *job.Status, begin time.Time) bool{
	"snapshot":  func(s *job.Status, _ time.Time) bool { return s.SnapshotComplete() },
	"caught-up": (*job.Status).CaughtUp,
	"end":       func(*job.Status, time.Time) bool { return false },
}

// poll asks the job until reached, or until it has ended.
func poll(ctx context.Context, c *job.Client, s *job.Status, timeout time.Duration, what string, reached func(*job.Status) bool) error {
	deadline := time.Now().Add(timeout)
	for {
		now, err := c.Refresh(ctx, s)
		if err != nil {
			if what == "stopped" || what == "end" {
				return nil
			}
			return &diag.Error{Domain: diag.External, Code: diag.CodeJobUnknown, Msg: fmt.Sprintf("job %s ended while waiting for it to be %s", s.Name, what), Hint: "look at the output of its run"}
		}
		if reached(&now) {
			return nil
		}
		if time.Now().After(deadline) {
			return &diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: fmt.Sprintf("job %s was not %s within %s", s.Name, what, timeout), Hint: "wait longer with --timeout, or see `leat job show " + s.Name + "`"}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
