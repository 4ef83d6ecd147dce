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
	"leat/internal/connect/builtin"
	"leat/internal/job"
	"leat/planner"
)

// syncFlags are the flags of `leat sync mysql`.
type syncFlags struct {
	fresh, replace, catchUp bool
	url, from               string
	include, exclude        []string
	mysqlConf               []string
	rollback, reset         bool
	// lists and texts are the arguments of Paimon's actions, by their names.
	lists map[string]*[]string
	texts map[string]*string
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
--table-conf those of a Paimon table. The flags of Paimon's actions mysql_sync_table
and mysql_sync_database are read by their names, with dashes or underscores.`,
		Example: `  leat sync mysql --url mysql://leat@db:3306/ --include shop.orders,shop.users --warehouse ./lake
  leat sync mysql --url 'mysql://leat:${PW}@db/' --include 'shop.*' --exclude shop.log --warehouse ./lake --catch-up
  leat sync mysql --url mysql://leat@db/shop --include orders --warehouse ./lake --table-conf bucket=8`,
		Args: exactArgs(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sync(cmd, &f) },
	}
	c.SetUsageFunc(syncUsage)
	fl := c.Flags()
	// Paimon's actions write a_b for a-b.
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fl.StringVar(&f.url, "url", "", "mysql://user:password@host:port/[database]")
	fl.StringArrayVar(&f.include, "include", nil, "tables as database.table, or database.* for all; several by commas or by repeating the flag")
	fl.StringArrayVar(&f.exclude, "exclude", nil, "tables to leave out, written like --include")
	fl.StringArrayVar(&f.mysqlConf, "mysql-conf", nil, "KEY=VALUE, an option of a mysql-cdc table")
	f.lists, f.texts = map[string]*[]string{}, map[string]*string{}
	for _, a := range planner.SyncArguments() {
		if a.List {
			f.lists[a.Name] = fl.StringArray(a.Name, nil, a.Help)
		} else {
			f.texts[a.Name] = fl.String(a.Name, "", a.Help)
		}
	}
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
	spec, ofCatalog, err := f.spec(os.LookupEnv)
	if err != nil {
		return err
	}
	session, err := a.settings.session(cmd)
	if err != nil {
		return err
	}
	warehouse := a.settings.v.GetString("warehouse")
	if warehouse == "" {
		warehouse = ofCatalog
	}
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
		return stoppedEarly(cmd, fmt.Errorf("%w: %w", job.ErrNotStarted, err))
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

// spec makes of the flags what the planner asks for, and the warehouse that they
// name. Options that --mysql-conf gives win over --url.
func (f *syncFlags) spec(env func(string) (string, bool)) (spec planner.SyncSpec, warehouse string, err error) {
	spec = planner.SyncSpec{Connector: "mysql-cdc", Options: configs.Values{}}
	database := ""
	if f.url != "" {
		u, err := parseMySQLURL(f.url, env)
		if err != nil {
			return spec, "", err
		}
		u.options(spec.Options)
		database = u.database
	}
	conf, err := planner.ReadPairs("mysql_conf", f.mysqlConf)
	if err != nil {
		return spec, "", err
	}
	maps.Copy(spec.Options, conf)
	if _, ok := spec.Options["hostname"]; !ok {
		return spec, "", usageError("the server is missing", "add --url mysql://user@host:3306/")
	}
	if _, ok := spec.Options["username"]; !ok {
		return spec, "", usageError("the account of the server is missing", "write it in --url: mysql://user@host:3306/")
	}
	if _, ok := spec.Options["password"]; !ok {
		word, _ := env("LEAT_MYSQL_PASSWORD")
		spec.Options["password"] = configs.Value{Text: word}
	}
	if v, ok := spec.Options["database-name"]; ok {
		database = v.Text
	}
	if spec.Include, err = patterns("--include", f.include, database); err != nil {
		return spec, "", err
	}
	if spec.Exclude, err = patterns("--exclude", f.exclude, database); err != nil {
		return spec, "", err
	}
	warehouse, err = f.args().Apply(&spec, database)
	return spec, warehouse, err
}

// args gives the flags that name arguments of the actions.
func (f *syncFlags) args() planner.SyncArgs {
	out := planner.SyncArgs{}
	for name, v := range f.lists {
		if len(*v) > 0 {
			out[name] = *v
		}
	}
	for name, v := range f.texts {
		if *v != "" {
			out[name] = []string{*v}
		}
	}
	return out
}
