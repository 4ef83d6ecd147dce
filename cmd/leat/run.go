package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"leat/configs"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// runFlags are the flags of `leat run`.
type runFlags struct {
	fresh, replace, catchUp bool
	vars                    []string
	from                    string
	rollback, reset         bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCRIPT",
		Short: "Run a script of SET, CREATE and INSERT statements",
		Long: `Run a script of SET, CREATE and INSERT statements: all its INSERTs are one job.
ALTER, DROP, CALL and SELECT statements are carried out in order before it starts.
The job runs until stopped and resumes by itself from its last checkpoint when it is
run again; --from starts it from a savepoint. A script whose name ends in .yaml is a
pipeline of Flink CDC from mysql to paimon: see docs/sync.md. SCRIPT - reads standard input. ${NAME} in string literals is --var NAME=…
or the environment variable.`,
		Example: "  leat run orders.sql\n  leat run orders.sql --catch-up --set execution.checkpointing.interval=1s\n  leat run orders.sql --fresh --replace\n  leat run orders.sql --from savepoints/savepoint-1f0c3a-9b2f61d20c4e --rollback-tables",
		Args:    exactArgs(1, "one script"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd, args[0], f)
		},
	}
	c.Flags().BoolVar(&f.catchUp, "catch-up", false, "end once everything committed in the source at the start is in the lake")
	c.Flags().BoolVar(&f.fresh, "fresh", false, "begin anew instead of resuming; refused over tables that hold rows")
	c.Flags().BoolVar(&f.replace, "replace", false, "with --fresh: overwrite tables that hold rows")
	c.Flags().StringVar(&f.from, "from", "", "start from this savepoint; refused if the tables hold later commits of the job")
	c.Flags().BoolVar(&f.rollback, "rollback-tables", false, "with --from: take tables that hold later commits back to the savepoint")
	c.Flags().BoolVar(&f.reset, "reset-consumers", false, "with --rollback-tables: also where consumers have read later snapshots")
	c.Flags().StringArrayVar(&f.vars, "var", nil, "NAME=VALUE for ${NAME} in the script")
	c.Flags().StringArray("set", nil, "KEY=VALUE, as SET 'KEY' = 'VALUE' before the script")
	c.Flags().String("name", "", "name of the job, as SET 'pipeline.name'")
	c.Flags().String("warehouse", "", "open this warehouse as catalog lake and make it current")
	return c
}

func (a *app) run(cmd *cobra.Command, file string, f runFlags) error {
	log, err := a.settings.logger()
	if err != nil {
		return err
	}
	result, err := a.plan(cmd, file, f)
	if err != nil {
		return stoppedEarly(cmd, err)
	}
	errOut := cmd.ErrOrStderr()
	for _, n := range result.Notices {
		printNotice(errOut, n)
	}
	for _, text := range result.Explained {
		if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
			return fmt.Errorf("printing the plan: %w", err)
		}
	}
	out, err := query.NewPrinter(cmd.OutOrStdout(), "table")
	if err != nil {
		return err
	}
	if err := job.GuardRunning(cmd.Context(), a.client(), result.Steps); err != nil {
		return err
	}
	if result.Plan == nil && (f.from != "" || f.rollback || f.reset) {
		return usageError("the script has no INSERT, so there is no job to start from a savepoint", "leave --from, --rollback-tables and --reset-consumers out")
	}
	if result.Plan == nil {
		return job.Statements{Output: quiet{out}, Jobs: a.client()}.Apply(cmd.Context(), result.Steps)
	}
	p := newProgress(errOut)
	j := job.New(job.Spec{
		Result: result, Replan: result.Replan, Script: file, StateDir: a.settings.stateDir(), Fresh: f.fresh, Replace: f.replace, CatchUp: f.catchUp,
		From: f.from, RollbackTables: f.rollback, ResetConsumers: f.reset,
		Log: log, Listener: p.listener(), Output: quiet{out},
		Notice: func(text string) { p.print("notice: " + text) },
	})
	return runJob(cmd.Context(), j, p)
}

// stoppedEarly is nil instead of what a signal made of the planning of a job: there
// was nothing to stop yet.
func stoppedEarly(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() == nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "stopped before the job began")
	return nil
}

// quiet prints rows and is silent about statements without.
type quiet struct{ *query.Printer }

// Done prints nothing: a script's DDL is not worth a line each.
func (quiet) Done(string) error { return nil }

// runJob runs j; the first signal asks it to end after a last checkpoint.
func runJob(signals context.Context, j *job.Job, p *progress) error {
	go func() {
		select {
		case <-signals.Done():
			p.print("stopping after a last checkpoint")
			j.Stop()
		case <-j.Done():
		}
	}()
	stop := p.follow(j)
	err := j.Run(context.WithoutCancel(signals))
	stop()
	return err
}

// plan reads and plans a script; nothing outside is changed.
func (a *app) plan(cmd *cobra.Command, file string, f runFlags) (*planner.Result, error) {
	text, name, err := readScript(cmd.InOrStdin(), file)
	if err != nil {
		return nil, err
	}
	a.texts[name] = text
	lookup, err := variables(f.vars)
	if err != nil {
		return nil, err
	}
	session, err := a.settings.session(cmd)
	if err != nil {
		return nil, err
	}
	env := planner.Env{
		Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: session, Warehouse: a.settings.v.GetString("warehouse"),
		Stored: a.stored(f.fresh, f.from),
	}
	if ext := strings.ToLower(filepath.Ext(file)); ext == ".yaml" || ext == ".yml" {
		r, err := planner.BuildPipeline(cmd.Context(), name, text, lookup, env)
		if err != nil && diag.DomainOf(err) != diag.User {
			err = fmt.Errorf("%w: %w", job.ErrNotStarted, err)
		}
		return r, err
	}
	script, err := sqlfront.Parse(name, text, lookup)
	if err != nil {
		return nil, err
	}
	r, err := planner.Build(cmd.Context(), script, env)
	if err != nil && diag.DomainOf(err) == diag.External {
		err = fmt.Errorf("%w: %w", job.ErrNotStarted, err) // a source that a CALL looks at
	}
	return r, err
}

// stored tells a job of copies in a script what its last checkpoint, or the
// savepoint at from, holds of its source.
func (a *app) stored(fresh bool, from string) func(configs.Values, bool) func(context.Context, string, string) (map[string]json.RawMessage, error) {
	return func(settings configs.Values, again bool) func(context.Context, string, string) (map[string]json.RawMessage, error) {
		if fresh && !again {
			return nil
		}
		at := from
		if again {
			at = ""
		}
		return func(ctx context.Context, name, warehouse string) (map[string]json.RawMessage, error) {
			return job.StoredSources(ctx, a.settings.stateDir(), at, settings, name, warehouse)
		}
	}
}

func readScript(stdin io.Reader, file string) (text, name string, err error) {
	if file == "-" {
		b, err := io.ReadAll(stdin)
		if err != nil {
			return "", "", fmt.Errorf("reading standard input: %w", err)
		}
		return string(b), "stdin", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", "", usageError(fmt.Sprintf("the script cannot be read: %v", err), "check the path")
	}
	return string(b), file, nil
}

// variables gives the look-up of ${NAME}: --var first, then the environment.
func variables(pairs []string) (func(string) (string, bool), error) {
	given := map[string]string{}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usageError(fmt.Sprintf("--var '%s' has no '='", p), "write --var NAME=VALUE")
		}
		given[k] = v
	}
	return func(name string) (string, bool) {
		if v, ok := given[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}, nil
}

func printNotice(w io.Writer, n configs.Notice) {
	where := ""
	if s := n.Pos.String(); s != "" {
		where = s + ": "
	}
	fmt.Fprintf(w, "%snotice: %s\n", where, n.Msg)
}
