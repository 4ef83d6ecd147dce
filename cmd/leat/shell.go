package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"leat/internal/connect/builtin"
	"leat/internal/console"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// shellFlags are the flags of `leat shell`.
type shellFlags struct {
	statements []string
	files      []string
	output     string
	vars       []string
}

func (a *app) shellCommand() *cobra.Command {
	var f shellFlags
	c := &cobra.Command{
		Use:   "shell [-e STATEMENT | -f FILE]",
		Short: "Run queries, DDL and procedures one by one",
		Long: `Run statements one by one: SELECT over lake tables (also at an older snapshot, tag or
branch, and over system tables such as t$snapshots), SHOW, DESCRIBE, EXPLAIN, CREATE,
ALTER, DROP, CALL sys.…, and INSERT of VALUES or from lake tables, each as one commit.
An INSERT that reads from a source is a job. It runs in a process of its own and goes on when
the shell is left: SHOW JOBS lists it, STOP JOB ends it, the same INSERT lets it go on from its
last checkpoint. With SET 'table.dml-sync' = 'true' the INSERT waits for the end of its job.

On a terminal statements are read with a line editor: Tab completes, the arrows and
Ctrl-R go through what was entered before (kept in STATE-DIR/history without the values
of passwords), Ctrl-C stops what runs, \? lists the commands. With -e or -f, or from a
pipe, the first error ends it.`,
		Example: `  leat shell --warehouse /data/lake
  leat shell --warehouse /data/lake -e "SHOW TABLES FROM shop"
  leat shell --warehouse /data/lake --output ndjson -e "SELECT * FROM shop.orders /*+ OPTIONS('scan.snapshot-id'='3') */ LIMIT 10"
  leat shell --warehouse /data/lake -e "CALL sys.expire_snapshots('shop.orders')"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.shell(cmd, f) },
	}
	c.Flags().StringArrayVarP(&f.statements, "execute", "e", nil, "statements to run; may be given again")
	c.Flags().StringArrayVarP(&f.files, "file", "f", nil, "file with statements to run, - for standard input; may be given again")
	c.Flags().StringVarP(&f.output, "output", "o", "table", "form of results: "+strings.Join(query.Formats, ", "))
	c.Flags().StringArrayVar(&f.vars, "var", nil, "NAME=VALUE for ${NAME} in string literals")
	c.Flags().StringArray("set", nil, "KEY=VALUE, as SET 'KEY' = 'VALUE' first")
	c.Flags().String("warehouse", "", "open this warehouse as catalog lake and make it current")
	return c
}

func (a *app) shell(cmd *cobra.Command, f shellFlags) error {
	in, terminal := cmd.InOrStdin().(*os.File)
	terminal = terminal && term.IsTerminal(int(in.Fd()))
	interactive := len(f.statements)+len(f.files) == 0 && terminal
	if len(f.statements)+len(f.files) == 0 && !terminal {
		f.files = []string{"-"}
	}
	out, err := query.NewPrinter(cmd.OutOrStdout(), f.output)
	if err != nil {
		return err
	}
	lookup, err := variables(f.vars)
	if err != nil {
		return err
	}
	settings, err := a.settings.session(cmd)
	if err != nil {
		return err
	}
	session, err := planner.NewSession(cmd.Context(), planner.Env{
		Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: settings, Warehouse: a.settings.v.GetString("warehouse"),
		Stored: a.stored(false, ""),
	})
	if err != nil {
		return err
	}
	sh := &shell{app: a, cmd: cmd, session: session, jobs: a.client(), out: out, notices: cmd.ErrOrStderr()}
	if interactive {
		return a.interact(cmd, sh, in, lookup)
	}
	for i, text := range f.statements {
		name := "-e"
		if len(f.statements) > 1 {
			name = fmt.Sprintf("-e %d", i+1)
		}
		a.texts[name] = text
		if err := sh.run(cmd.Context(), name, text, lookup); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		text, name, err := readScript(cmd.InOrStdin(), file)
		if err != nil {
			return err
		}
		a.texts[name] = text
		if err := sh.run(cmd.Context(), name, text, lookup); err != nil {
			return err
		}
	}
	return nil
}

// interact reads statements from the terminal. Ctrl-C belongs to the statement that
// runs, so that only SIGTERM ends the whole.
func (a *app) interact(cmd *cobra.Command, sh *shell, in *os.File, lookup func(string) (string, bool)) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), syscall.SIGTERM)
	defer stop()
	c := &console.Console{
		Run: func(ctx context.Context, file, text string) error {
			a.texts[file] = text
			return sh.run(ctx, file, text, lookup)
		},
		Names: sh.session, Out: sh.out, Screen: cmd.OutOrStdout(), Messages: cmd.ErrOrStderr(), Source: a.source,
		HistoryFile: filepath.Join(a.settings.stateDir(), "history"),
		Window:      window(cmd.OutOrStdout()),
	}
	err := c.Interact(ctx, in, os.Getenv("TERM") != "dumb")
	sh.tellJobs(context.WithoutCancel(ctx))
	return err
}

// window tells the size of the terminal that w is; zeroes for what is none.
func window(w io.Writer) func() (columns, lines int) {
	f, ok := w.(*os.File)
	return func() (columns, lines int) {
		if !ok || os.Getenv("TERM") == "dumb" {
			return 0, 0
		}
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, lines
	}
}

// shell plans and carries out statements one by one.
type shell struct {
	app     *app
	cmd     *cobra.Command
	session *planner.Session
	jobs    *job.Client
	out     *query.Printer
	notices io.Writer
	// shaping are the statements so far that a job of the shell needs, too; started
	// are the names of those that run by themselves.
	shaping []string
	started []string
}

func (sh *shell) run(ctx context.Context, name, text string, lookup func(string) (string, bool)) error {
	script, err := sqlfront.Parse(name, text, lookup)
	if err != nil {
		return err
	}
	for _, st := range script.Statements {
		if err := sh.statement(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

func (sh *shell) statement(ctx context.Context, st sqlfront.Statement) error {
	result, err := sh.session.Next(ctx, st)
	if err != nil {
		return err
	}
	for _, n := range result.Notices {
		printNotice(sh.notices, n)
	}
	if result.Shaped {
		sh.shaping = append(sh.shaping, st.Text())
	}
	if result.Plan != nil {
		return sh.runInsert(ctx, st, result)
	}
	for _, text := range result.Explained {
		if err := sh.out.Text(text); err != nil {
			return err
		}
	}
	if err := job.GuardRunning(ctx, sh.jobs, result.Steps); err != nil {
		return err
	}
	return job.Statements{Output: sh.out, Jobs: sh.jobs}.Apply(ctx, result.Steps)
}
