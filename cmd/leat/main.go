// Command leat carries MySQL changes into Apache Paimon tables, exactly once,
// declared in SQL. See README.md, and internal/job for what runs a script.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"leat/configs"
	"leat/internal/demo"
	"leat/internal/diag"
	"leat/internal/job"
)

// Exit codes, the same for every command.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
	exitDiffers = 4
)

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs the command line and gives the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := newApp()
	root := app.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		diag.Render(os.Stderr, err, app.source)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, demo.ErrDiffers):
		return exitDiffers
	case diag.DomainOf(err) == diag.Guard:
		return exitRefused
	case errors.Is(err, job.ErrNotStarted), diag.DomainOf(err) == diag.User:
		return exitUsage
	default:
		return exitFailed
	}
}

// app is what the commands share.
type app struct {
	settings *settings
	// texts are the scripts read, for the marked line of errors.
	texts map[string]string
}

func newApp() *app { return &app{settings: newSettings(), texts: map[string]string{}} }

func (a *app) source(file string) (string, bool) {
	t, ok := a.texts[file]
	return t, ok
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "leat",
		Short: "Carry MySQL changes into Apache Paimon tables, exactly once, declared in SQL",
		Long: `leat runs Flink SQL scripts that carry MySQL tables into Apache Paimon tables:
the snapshot, then the binlog, exactly once, in one process without a JVM.

Exit codes: 0 done; 1 the job failed while running; 2 script, options, set-up or
reach wrong, nothing was started; 3 refused to protect data; 4 differences found.`,
		Example:       "  leat demo\n  leat run orders.sql\n  leat run orders.sql --catch-up",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.settings.load(cmd)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(err.Error(), flagHint(cmd, err))
	})
	a.settings.register(root.PersistentFlags())
	root.AddCommand(a.runCommand(), a.shellCommand(), a.syncCommand(), a.jobCommand(), a.optionsCommand(), a.demoCommand(), versionCommand())
	group(root)
	return root
}

// flagHint says which flag may be meant.
func flagHint(cmd *cobra.Command, err error) string {
	hint := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return hint
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := configs.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("did you mean --%s? %s", near, hint)
	}
	return hint
}

// group makes c, which only has sub-commands, show its help, and refuse others.
func group(c *cobra.Command) {
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		hint := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
		if near := configs.Nearest(args[0], names); near != "" {
			hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near)
		}
		return usageError(fmt.Sprintf("%s has no command '%s'", cmd.CommandPath(), args[0]), hint)
	}
}

func usageError(msg, hint string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: msg, Hint: hint}
}

// exactArgs is cobra.ExactArgs with an error for people.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError(fmt.Sprintf("%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args)), fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
		}
		return nil
	}
}
