package planner_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/connect/mysqlcdc"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/planner"
	"leat/sqlfront"
)

// described is the MySQL connector at a server whose tables are written down as
// CREATE TABLE statements; the option 'bytes' is the size of a table.
type described struct {
	mysqlcdc.Connector
	script *sqlfront.Script
}

func (d described) Discover(_ context.Context, spec connect.DiscoverSpec) (*connect.Discovery, error) {
	out := &connect.Discovery{}
	for _, st := range d.script.Statements {
		v := st.(*sqlfront.CreateTable)
		f := connect.Discovered{Database: v.Name.Parts[0].Text, Name: v.Name.Parts[1].Text, Table: &connect.Table{
			Name: v.Name.String(), Schema: &columnar.Schema{}, Metadata: map[string]string{}, Options: maps.Clone(spec.Options),
		}}
		f.Table.Options["database-name"], f.Table.Options["table-name"] = configs.Value{Text: f.Database}, configs.Value{Text: f.Name}
		if o, ok := v.Options.Get("bytes"); ok {
			n, err := strconv.ParseInt(o.Value, 10, 64)
			if err != nil {
				return nil, err
			}
			f.Bytes = n
		}
		for i, c := range v.Columns {
			f.Table.Schema.Fields = append(f.Table.Schema.Fields, columnar.Field{ID: i, Name: c.Name.Text, Type: c.Type})
		}
		if v.PrimaryKey != nil {
			for _, n := range v.PrimaryKey.Columns {
				f.Table.PrimaryKey = append(f.Table.PrimaryKey, n.Text)
			}
		}
		if !spec.Wants(f.Database, f.Name) {
			continue
		}
		f.Matched = !slices.ContainsFunc(spec.Include, func(p connect.TablePattern) bool { return !p.Open() && p.Matches(f.Database, f.Name) })
		out.Tables = append(out.Tables, f)
	}
	return out, nil
}

// TestSyncs runs testdata/sync/*.txt: the input is the tables of a server.
//
//	sync include=db.table[,…] [database=DB] [name=NAME] [K=V]…    plan copies, K are options of the tables
//	apply …                                                       plan them and make the tables
//
//	pipeline                                                      a pipeline file, up to the line "tables:" without blanks in front
//	call                                                          a script, up to the line "tables:"
//
// Lines --name value in front of the tables are arguments of Paimon's actions.
func TestSyncs(t *testing.T) {
	t.Parallel()
	warehouse := t.TempDir()
	datadriven.Walk(t, "testdata/sync", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			return strings.ReplaceAll(sync(t, d, warehouse), warehouse, "WAREHOUSE")
		})
	})
}

func sync(t *testing.T, d *datadriven.TestData, warehouse string) string {
	t.Helper()
	args, tables, text := planner.SyncArgs{}, d.Input, ""
	if d.Cmd == "call" || d.Cmd == "pipeline" {
		text, tables, _ = strings.Cut(d.Input+"\n", "\ntables:\n")
	}
	for strings.HasPrefix(tables, "--") {
		line, rest, _ := strings.Cut(tables, "\n")
		name, value, _ := strings.Cut(line[2:], " ")
		args[name], tables = append(args[name], value), rest
	}
	script, err := sqlfront.Parse("server", tables, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	spec := planner.SyncSpec{Connector: "mysql-cdc", TableOptions: configs.Values{}, Options: configs.Values{
		"hostname": {Text: "db"}, "username": {Text: "leat"}, "password": {Text: ""},
	}}
	settings := configs.Values{}
	var b strings.Builder
	for _, arg := range d.CmdArgs {
		for _, v := range arg.Vals {
			switch arg.Key {
			case "include":
				db, table, _ := strings.Cut(v, ".")
				spec.Include = append(spec.Include, connect.TablePattern{Database: db, Table: table})
			case "database":
				spec.Database = v
			case "name":
				settings["pipeline.name"] = configs.Value{Text: v}
			default:
				spec.TableOptions[arg.Key] = configs.Value{Text: v}
			}
		}
	}
	if text != "" {
		return call(t, d.Cmd, text, script, warehouse)
	}
	if len(args) > 0 {
		if _, err := args.Apply(&spec, "shop"); err != nil {
			diag.Render(&b, err, func(string) (string, bool) { return "", false })
			return b.String()
		}
	}
	r, err := planner.SyncTables(t.Context(), spec, planner.Env{
		Registry: connect.NewRegistry(described{script: script}), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: settings, Warehouse: warehouse,
	})
	if err == nil && d.Cmd == "apply" {
		err = job.Apply(t.Context(), r.Steps, nil)
	}
	if err != nil {
		diag.Render(&b, err, func(string) (string, bool) { return "", false })
		return b.String()
	}
	print(&b, r)
	return b.String()
}

// call plans a script or a pipeline at the server.
func call(t *testing.T, cmd, text string, server *sqlfront.Script, warehouse string) string {
	t.Helper()
	var b strings.Builder
	vars := func(name string) (string, bool) { return "word", name == "WORD" }
	env := planner.Env{
		Registry: connect.NewRegistry(described{script: server}), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: configs.Values{}, Warehouse: warehouse,
	}
	var r *planner.Result
	var err error
	if cmd == "pipeline" {
		r, err = planner.BuildPipeline(t.Context(), "p.yaml", text, vars, env)
	} else {
		var script *sqlfront.Script
		if script, err = sqlfront.Parse("call.sql", text, vars); err != nil {
			t.Fatal(err)
		}
		r, err = planner.Build(t.Context(), script, env)
	}
	if err != nil {
		diag.Render(&b, err, func(string) (string, bool) { return text, true })
		return b.String()
	}
	print(&b, r)
	return b.String()
}
