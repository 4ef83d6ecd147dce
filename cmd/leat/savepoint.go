package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/job"
)

func (a *app) jobSavepointCommand() *cobra.Command {
	var path, dispose, output string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "savepoint NAME | --dispose SAVEPOINT",
		Short: "Take a savepoint of a running job, or delete one",
		Long: `Take a savepoint of a running job and print its folder. The job goes on. A savepoint
waits for the end of open source transactions and for commits under way. It keeps the
state of every table with a tag of its name, and is never deleted by leat itself;
--dispose deletes one, with its tags. leat run SCRIPT --from SAVEPOINT starts from it.`,
		Example: "  leat job savepoint orders\n  leat job savepoint orders --path /backup/savepoints\n  leat job savepoint --dispose /backup/savepoints/savepoint-1f0c3a-9b2f61d20c4e",
		Args: func(cmd *cobra.Command, args []string) error {
			if dispose != "" {
				return exactArgs(0, "no name of a job with --dispose")(cmd, args)
			}
			return exactArgs(1, "the name of a job")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" && output != "ndjson" {
				return outputError(output)
			}
			if dispose != "" {
				return a.dispose(cmd, dispose)
			}
			return a.savepoint(cmd, args[0], path, timeout, false, output)
		},
	}
	c.Flags().StringVar(&path, "path", "", "folder or URL to make the savepoint in (default 'execution.checkpointing.savepoint-dir', then beside the checkpoint log)")
	c.Flags().StringVar(&dispose, "dispose", "", "delete this savepoint with its tags")
	c.Flags().String("warehouse", "", "with --dispose: where the tables are, if not where they were")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the savepoint")
	c.Flags().StringVar(&output, "output", "table", "table (the folder alone), json or ndjson")
	return c
}

// savepoint asks a job for a savepoint and prints where it is.
func (a *app) savepoint(cmd *cobra.Command, name, path string, timeout time.Duration, stop bool, output string) error {
	c := a.client()
	s, err := c.Find(cmd.Context(), name)
	if err != nil {
		return err
	}
	if path, err = absolute(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	info, err := c.Savepoint(ctx, &s, path, stop)
	if err != nil {
		return err
	}
	if stop {
		if err := poll(ctx, c, &s, timeout, "stopped", func(*job.Status) bool { return false }); err != nil {
			return err
		}
	}
	if output == "table" {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), info.Path)
	} else {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(&info)
	}
	if err != nil {
		return fmt.Errorf("printing the savepoint: %w", err)
	}
	return nil
}

// absolute makes a folder absolute: the job has another working folder. URLs stay.
func absolute(path string) (string, error) {
	if path == "" || strings.Contains(path, "://") || strings.HasPrefix(path, "file:") {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	return abs, nil
}

func (a *app) dispose(cmd *cobra.Command, location string) error {
	lake, ok := builtin.Lake().(connect.Rewinder)
	if !ok {
		return &diag.Error{Domain: diag.Internal, Msg: "lake tables hold no savepoints"}
	}
	d, err := job.Dispose(cmd.Context(), location, a.settings.v.GetString("warehouse"), a.settings.stateDir(), lake)
	if err != nil {
		return err
	}
	if len(d.Missing) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "notice: not there, or another table by now: %s\n", strings.Join(d.Missing, ", "))
	}
	return nil
}

func (a *app) jobStopCommand() *cobra.Command {
	var timeout time.Duration
	var target string
	c := &cobra.Command{
		Use: "stop NAME [--savepoint [DIR]]", Short: "Stop a job after a last checkpoint, or with a savepoint",
		Long: `Stop a job after a last checkpoint: run again, it goes on there. With --savepoint the
last checkpoint is a savepoint too, whose folder is printed: one in DIR, or in the
default place. A job whose savepoint fails goes on.`,
		Example: "  leat job stop orders\n  leat job stop orders --savepoint\n  leat job stop orders --savepoint /backup/savepoints",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("savepoint") {
				return a.savepoint(cmd, args[0], stopTarget(target, args), timeout, true, "table")
			}
			c := a.client()
			s, err := c.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.Stop(cmd.Context(), &s); err != nil {
				return err
			}
			return poll(cmd.Context(), c, &s, timeout, "stopped", func(*job.Status) bool { return false })
		},
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		// The value of --savepoint may stand apart, and then looks like an argument.
		if len(args) == 2 && cmd.Flags().Changed("savepoint") && target == defaultPlace {
			return nil
		}
		return exactArgs(1, "the name of a job")(cmd, args)
	}
	c.Flags().StringVar(&target, "savepoint", "", "take a savepoint as the last checkpoint, in this folder or URL if one is given")
	c.Flags().Lookup("savepoint").NoOptDefVal = defaultPlace
	c.Flags().DurationVar(&timeout, "timeout", 60*time.Second, "how long to wait for the end")
	return c
}

// defaultPlace is the value of --savepoint without one.
const defaultPlace = "default place"

func stopTarget(value string, args []string) string {
	switch {
	case value != defaultPlace:
		return value
	case len(args) == 2:
		return args[1]
	default:
		return ""
	}
}
