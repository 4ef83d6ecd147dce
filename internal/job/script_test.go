package job_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/connect/blackhole"
	"leat/internal/connect/builtin"
	"leat/internal/connect/datagen"
	"leat/internal/connect/print"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// runScript plans a script as a whole and carries out its statements, as `leat run`
// does with one that starts no job; FOLDER is the warehouse.
func runScript(t *testing.T, warehouse, text string) (string, error) {
	t.Helper()
	var b bytes.Buffer
	registry := connect.NewRegistry(datagen.New(), blackhole.New(), print.NewTo(&b, &b))
	script, err := sqlfront.Parse("s.sql", strings.ReplaceAll(text, "FOLDER", warehouse), nil)
	if err != nil {
		t.Fatal(err)
	}
	env := planner.Env{Registry: registry, Lake: builtin.Lake(), OpenLake: job.OpenLake, Warehouse: warehouse, Settings: configs.Values{"table.local-time-zone": {Text: "UTC"}}}
	r, err := planner.Build(t.Context(), script, env)
	if err != nil {
		return "", err
	}
	if r.Plan != nil {
		t.Fatal("the script starts a job")
	}
	out, err := query.NewPrinter(&b, "ndjson")
	if err != nil {
		t.Fatal(err)
	}
	err = job.Apply(t.Context(), r.Steps, out)
	return b.String(), err
}

// TestScriptsOfStatements writes, changes and reads in the order of the script.
func TestScriptsOfStatements(t *testing.T) {
	t.Parallel()
	const table = `CREATE DATABASE d; CREATE TABLE d.t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED); INSERT INTO d.t VALUES (1, 'a'), (2, 'b');`
	for _, tc := range []struct{ name, text, want, err string }{
		{"changes", table + `UPDATE d.t SET v = 'x' WHERE id = 1; DELETE FROM d.t WHERE id = 2; INSERT INTO d.t SELECT id + 5, v FROM d.t; SELECT * FROM d.t ORDER BY id;`, `{"id":1,"v":"x"}
{"id":6,"v":"x"}
`, ""},
		{"as", table + `CREATE TABLE d.n AS SELECT COUNT(*) AS n FROM d.t; SELECT * FROM d.n;`, `{"n":2}
`, ""},
		{"other catalog", table + `CREATE CATALOG c WITH ('type' = 'paimon', 'warehouse' = 'FOLDER/c'); CREATE DATABASE c.e; CREATE TABLE c.e.t (id INT, v STRING); INSERT INTO c.e.t SELECT * FROM d.t WHERE id = 2; SELECT * FROM c.e.t;`, `{"id":2,"v":"b"}
`, ""},
		{"print", table + `CREATE TEMPORARY TABLE p (id INT, v STRING) WITH ('connector' = 'print'); INSERT INTO p SELECT * FROM d.t WHERE id = 2; INSERT INTO p VALUES (9, 'z');
CREATE TEMPORARY TABLE b (id INT) WITH ('connector' = 'blackhole'); INSERT INTO b SELECT id FROM d.t;`, "+I[2, b]\n+I[9, z]\n", ""},
		{"datagen", `CREATE TEMPORARY TABLE g (id INT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '3', 'fields.id.end' = '9000'); SELECT COUNT(*) AS n, SUM(id) AS s FROM g; SELECT id FROM g WHERE id > 4 LIMIT 2; SELECT COUNT(*) AS n FROM g;`, `{"n":8998,"s":40504497}
{"id":5}
{"id":6}
{"n":8998}
`, ""},
		{"endless", `CREATE TEMPORARY TABLE g (id INT) WITH ('connector' = 'datagen', 'fields.id.min' = '1', 'fields.id.max' = '1'); SELECT id FROM g LIMIT 2;`, `{"id":1}
{"id":1}
`, ""},
		{"all of endless", `CREATE TEMPORARY TABLE g (id INT) WITH ('connector' = 'datagen'); SELECT MAX(id) FROM g; SELECT COUNT(*) FROM g; SELECT id FROM g;`, "", "table lake.default.g has no end"},
		{"beside a job", table + `CREATE TEMPORARY TABLE g (id INT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1'); INSERT INTO d.t SELECT * FROM g;`, "", "does not run in the script of a job"},
		{"UPDATE beside a job", `CREATE DATABASE d; CREATE TABLE d.t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED); UPDATE d.t SET v = 'x';
CREATE TEMPORARY TABLE g (id INT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1'); INSERT INTO d.t SELECT * FROM g;`, "", "UPDATE does not run in the script of a job"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := runScript(t, t.TempDir(), tc.text)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStoppedEndlessSelect ends in good order, with what came until then.
func TestStoppedEndlessSelect(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b bytes.Buffer
	registry := connect.NewRegistry(datagen.New())
	s, err := planner.NewSession(ctx, planner.Env{Registry: registry, Lake: builtin.Lake(), OpenLake: job.OpenLake})
	if err != nil {
		t.Fatal(err)
	}
	script, err := sqlfront.Parse("-e", `CREATE TEMPORARY TABLE g (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000'); SELECT id FROM g`, nil)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := query.NewPrinter(&b, "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range script.Statements {
		r, err := s.Next(ctx, st)
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Apply(ctx, r.Steps, stopAfter{Printer: printer, stop: cancel}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); !strings.HasPrefix(got, "[\n  {\"id\":") || !strings.HasSuffix(got, "}\n]\n") {
		t.Errorf("the result is no whole array: %.200s", got)
	}
}

// stopAfter stops the query when it shows its first rows.
type stopAfter struct {
	*query.Printer
	stop func()
}

func (s stopAfter) Flush() error {
	s.stop()
	return s.Printer.Flush()
}
