package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/planner"
)

// syncFlags are the flags of `leat sync mysql`.
type syncFlags struct {
	fresh, replace, catchUp bool
	url, database           string
	include, exclude        []string
	mysqlConf, tableConf    []string
	// includingTables and excludingTables are the flags of Paimon's actions.
	includingTables, excludingTables string
	from, onBadRow, deadLetters      string
	rollback, reset                  bool
}

func (a *app) syncCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "sync",
		Short:   "Carry whole tables into the lake without a script",
		Example: "  leat sync mysql --url mysql://leat@db:3306/ --include 'shop.orders' --warehouse ./lake",
	}
	c.AddCommand(a.syncMySQLCommand())
	group(c)
	return c
}

func (a *app) syncMySQLCommand() *cobra.Command {
	var f syncFlags
	c := &cobra.Command{
		Use:   "mysql",
		Short: "Keep copies of MySQL tables in a warehouse: same columns, same primary key",
		Long: `Keep copies of MySQL tables in a warehouse: same database, table, columns and
primary key, made where they are missing. All tables are one job with one binlog
connection. It runs until stopped and resumes by itself from its last checkpoint when
the same command is run again. The copies follow their source: new columns are added, with
their defaults for rows that were there before, wider types widen, a dropped column stays
with NULL from then on, TRUNCATE and swaps of tables are carried out. A table that cannot go
on, as one whose primary key changes, is set aside while the others go on: see leat job
restart, and docs/sync.md. Where --include names all tables of a database, those that are
made, or renamed into it, while the job runs or is down are taken up with all their rows;
what such a pattern names and cannot be carried stays out and is said, as tables without
a primary key. A table that is named itself and cannot be carried is refused.

The password is that of --url, in which ${NAME} is an environment variable, or else
LEAT_MYSQL_PASSWORD. --mysql-conf takes the options of a mysql-cdc table and
--table-conf those of a Paimon table. The flags of Paimon's actions are read, too:
--mysql_conf, --table_conf, --database, --including_tables, --excluding_tables.`,
		Example: `  leat sync mysql --url mysql://leat@db:3306/ --include shop.orders,shop.users --warehouse ./lake
  leat sync mysql --url 'mysql://leat:${PW}@db/' --include 'shop.*' --exclude shop.log --warehouse ./lake --catch-up
  leat sync mysql --url mysql://leat@db/shop --include orders --warehouse ./lake --table-conf bucket=8`,
		Args: exactArgs(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sync(cmd, &f) },
	}
	fl := c.Flags()
	// Paimon's actions write a_b for a-b.
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fl.StringVar(&f.url, "url", "", "mysql://user:password@host:port/[database]")
	fl.StringArrayVar(&f.include, "include", nil, "tables as database.table, or database.* for all; several by commas or by repeating the flag")
	fl.StringArrayVar(&f.exclude, "exclude", nil, "tables to leave out, written like --include")
	fl.StringVar(&f.database, "database", "", "database of the copies (default that of the source)")
	fl.StringArrayVar(&f.mysqlConf, "mysql-conf", nil, "KEY=VALUE, an option of a mysql-cdc table")
	fl.StringArrayVar(&f.tableConf, "table-conf", nil, "KEY=VALUE, an option of the tables of the lake")
	fl.StringVar(&f.includingTables, "including-tables", "", "tables of the database of --mysql-conf database-name, as a|b or .*")
	fl.StringVar(&f.excludingTables, "excluding-tables", "", "tables of that database to leave out, as a|b")
	fl.StringVar(&f.onBadRow, "on-bad-row", "stop", "what a row does that cannot be read: stop the job, set-aside its table, or go as a dead-letter into a table")
	fl.StringVar(&f.deadLetters, "dead-letter-table", "", "with --on-bad-row dead-letter: the table, as database.table (default leat_dead_letters in the database of the first copy)")
	fl.BoolVar(&f.catchUp, "catch-up", false, "end once everything committed in the source at the start is in the lake")
	fl.BoolVar(&f.fresh, "fresh", false, "begin anew instead of resuming; refused over tables that hold rows")
	fl.BoolVar(&f.replace, "replace", false, "with --fresh: overwrite tables that hold rows")
	fl.StringVar(&f.from, "from", "", "start from this savepoint; refused if the tables hold later commits of the job")
	fl.BoolVar(&f.rollback, "rollback-tables", false, "with --from: take tables that hold later commits back to the savepoint")
	fl.BoolVar(&f.reset, "reset-consumers", false, "with --rollback-tables: also where consumers have read later snapshots")
	fl.StringArray("set", nil, "KEY=VALUE, as SET 'KEY' = 'VALUE' in a script")
	fl.String("name", "", "name of the job (default sync_ and the tables of --include)")
	fl.String("warehouse", "", "folder or URL of the warehouse")
	return c
}

func (a *app) sync(cmd *cobra.Command, f *syncFlags) error {
	log, err := a.settings.logger()
	if err != nil {
		return err
	}
	spec, err := f.spec(os.LookupEnv)
	if err != nil {
		return err
	}
	session, err := a.settings.session(cmd)
	if err != nil {
		return err
	}
	warehouse := a.settings.v.GetString("warehouse")
	if warehouse == "" {
		return usageError("--warehouse is missing", "add --warehouse DIR")
	}
	from := f.from
	stored := func(ctx context.Context, name, warehouse string) (map[string]json.RawMessage, error) {
		return job.StoredSources(ctx, a.settings.stateDir(), from, session, name, warehouse)
	}
	if !f.fresh {
		spec.Stored = stored
	}
	plan := func(ctx context.Context, aside map[string]string, resume []string) (*planner.Result, error) {
		spec.Aside, spec.Resume = aside, resume
		r, err := planner.SyncTables(ctx, spec, planner.Env{
			Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: session, Warehouse: warehouse,
		})
		// A restart goes on from the newest checkpoint, however the job began.
		spec.Stored, from = stored, ""
		return r, err
	}
	result, err := plan(cmd.Context(), nil, nil)
	if err != nil {
		// Nothing was started, also where the server is to blame.
		return fmt.Errorf("%w: %w", job.ErrNotStarted, err)
	}
	errOut := cmd.ErrOrStderr()
	for _, n := range result.Notices {
		printNotice(errOut, n)
	}
	p := newProgress(errOut)
	j := job.New(job.Spec{
		Result: result, Replan: plan, Script: "sync mysql", StateDir: a.settings.stateDir(), Fresh: f.fresh, Replace: f.replace, CatchUp: f.catchUp,
		From: f.from, RollbackTables: f.rollback, ResetConsumers: f.reset,
		Log: log, Listener: p.listener(), Notice: func(text string) { p.print("notice: " + text) },
	})
	return runJob(cmd.Context(), j, p)
}

// spec makes of the flags what the planner asks for. Options that --mysql-conf
// gives win over --url.
func (f *syncFlags) spec(env func(string) (string, bool)) (planner.SyncSpec, error) {
	spec := planner.SyncSpec{Connector: "mysql-cdc", Options: configs.Values{}, Database: f.database}
	database := ""
	if f.url != "" {
		u, err := parseMySQLURL(f.url, env)
		if err != nil {
			return spec, err
		}
		u.options(spec.Options)
		database = u.database
	}
	conf, err := pairs("--mysql-conf", f.mysqlConf)
	if err != nil {
		return spec, err
	}
	maps.Copy(spec.Options, conf)
	if _, ok := spec.Options["hostname"]; !ok {
		return spec, usageError("the server is missing", "add --url mysql://user@host:3306/")
	}
	if _, ok := spec.Options["username"]; !ok {
		return spec, usageError("the account of the server is missing", "write it in --url: mysql://user@host:3306/")
	}
	if _, ok := spec.Options["password"]; !ok {
		word, _ := env("LEAT_MYSQL_PASSWORD")
		spec.Options["password"] = configs.Value{Text: word}
	}
	if v, ok := spec.Options["database-name"]; ok {
		database = v.Text
	}
	single := spec.Options["table-name"].Text
	delete(spec.Options, "database-name")
	delete(spec.Options, "table-name")
	if spec.Include, spec.Exclude, err = f.tables(database, single); err != nil {
		return spec, err
	}
	switch f.onBadRow {
	case "stop":
	case "set-aside":
		spec.BadRowsAside = true
	case "dead-letter":
		spec.BadRowsKept, spec.DeadLetterTable = true, f.deadLetters
	default:
		return spec, usageError(fmt.Sprintf("--on-bad-row '%s' is not known", f.onBadRow), "write stop, set-aside or dead-letter")
	}
	if f.deadLetters != "" && !spec.BadRowsKept {
		return spec, usageError("--dead-letter-table was given without --on-bad-row dead-letter", "add --on-bad-row dead-letter, or leave it out")
	}
	spec.TableOptions, err = pairs("--table-conf", f.tableConf)
	return spec, err
}

// tables gives the patterns of all flags that name tables. database is that of
// names without one; single is the option table-name.
func (f *syncFlags) tables(database, single string) (include, exclude []connect.TablePattern, err error) {
	if include, err = patterns("--include", f.include, database); err != nil {
		return nil, nil, err
	}
	if exclude, err = patterns("--exclude", f.exclude, database); err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		flag, text string
		to         *[]connect.TablePattern
	}{
		{"--mysql-conf table-name", single, &include},
		{"--including-tables", f.includingTables, &include},
		{"--excluding-tables", f.excludingTables, &exclude},
	} {
		if x.text == "" {
			continue
		}
		more, err := alternatives(x.flag, x.text, database)
		if err != nil {
			return nil, nil, err
		}
		*x.to = append(*x.to, more...)
	}
	if len(include) == 0 {
		return nil, nil, usageError("no table is named", "add --include database.table, or --include 'database.*'")
	}
	return include, exclude, nil
}

// pairs reads KEY=VALUE flags. Values are never printed: they may be passwords.
func pairs(flag string, list []string) (configs.Values, error) {
	v := configs.Values{}
	var errs diag.List
	for _, p := range list {
		k, text, ok := strings.Cut(p, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			errs.Add(usageError(flag+" has no 'key='", "write "+flag+" key=value"))
			continue
		}
		v[k] = configs.Value{Text: strings.TrimSpace(text)}
	}
	return v, errs.Err()
}
