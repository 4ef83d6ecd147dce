package cases

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/cdc/mysqlrow"
	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestCases runs every folder of testdata, one after the other: they share
// servers and the name of their database.
func TestCases(t *testing.T) {
	dirs, err := filepath.Glob("testdata/C*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { load(t, dir).run(t) })
	}
}

// run takes the steps of the case.
func (c *testCase) run(t *testing.T) {
	t.Helper()
	s := judge.MySQL(t, c.ServerFlags...)
	var job *harness.Job
	var child *harness.Child
	for _, step := range c.Steps {
		verb, rest, _ := strings.Cut(step, " ")
		if child != nil && c.AcceptError != "" && child.Ended() {
			c.checkRefusal(t, child.Wait())
			return
		}
		switch {
		case verb == "sql":
			name, _, _ := strings.Cut(rest, " ")
			judge.Exec(t, s, c.parts[name]...)
		case step == "job start":
			if job == nil {
				job = harness.NewJob(t, c.script(t, s), fmt.Sprintf("MYSQL_PORT=%d", s.Port))
			}
			child = job.Start()
		case step == "job wait-snapshot":
			harness.Eventually(t, "the job ran", func() bool { return child.Ended() || job.Leat("job", "show", "case").Code == 0 })
			if r := job.Leat("job", "wait", "case", "--until", "snapshot"); r.Code != 0 && c.AcceptError == "" {
				t.Fatalf("the job ended by itself:\n%s", child.Stderr())
			}
		case step == "job wait-caught-up":
			job.Wait("case", "caught-up")
		case step == "job stop":
			child.Stop()
		case step == "job kill-9":
			child.Kill()
		case step == "compare":
			c.compare(t, job)
		default:
			t.Fatalf("unknown step %q", step)
		}
	}
	if !child.Ended() {
		child.Stop()
	}
}

// checkRefusal requires that the job says what to set.
func (c *testCase) checkRefusal(t *testing.T, r harness.Result) {
	t.Helper()
	if r.Code == 0 || !strings.Contains(r.Stderr, "do: ") || !strings.Contains(r.Stderr, "binlog_row_value_options") {
		t.Errorf("exit code %d and no remedy:\n%s", r.Code, r.Stderr)
	}
}

const zoneOption = "server-time-zone"

// compare requires the expected rows in the lake.
func (c *testCase) compare(t *testing.T, job *harness.Job) {
	t.Helper()
	zone := time.UTC
	if offset := c.Options[zoneOption]; offset != "" {
		at, err := time.Parse("-07:00", offset)
		if err != nil {
			t.Fatal(err)
		}
		zone = at.Location()
	}
	var want, got []string
	for _, row := range c.expected(t) {
		want = append(want, c.line(t, row, wantForm))
	}
	lake := job.Lake(c.target())
	for _, row := range judge.Java(t).Rows(t, lake.Warehouse, lake.Table) {
		got = append(got, c.line(t, row, func(form string, v any) (string, error) { return lakeForm(form, v, zone) }))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.Title, diff)
	}
}

// line writes the columns of a row that are compared.
func (c *testCase) line(t *testing.T, row map[string]any, form func(form string, v any) (string, error)) string {
	t.Helper()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Columns)) {
		v, there := row[name]
		if !there {
			t.Errorf("no column %s in %v", name, row)
		}
		text, err := form(c.Columns[name], v)
		if err != nil {
			t.Error(err)
		}
		parts = append(parts, name+"="+text)
	}
	return strings.Join(parts, " ")
}

// script gives the job's script under the name "case".
func (c *testCase) script(t *testing.T, s *mysqld.Server) string {
	t.Helper()
	if c.job != "" {
		return "SET 'pipeline.name' = 'case';\n" + c.job
	}
	db, table, _ := strings.Cut(c.Sync, ".")
	columns, names := declare(t, s, db, table)
	options := []string{
		"connector", "mysql-cdc", "hostname", "127.0.0.1", "port", "${MYSQL_PORT}", "username", "root", "password", "",
		"database-name", db, "table-name", table,
	}
	for _, k := range slices.Sorted(maps.Keys(c.Options)) {
		if k != zoneOption { // leat finds the zone of the server by itself
			options = append(options, k, c.Options[k])
		}
	}
	var b strings.Builder
	b.WriteString(harness.Settings("case", "200ms"))
	b.WriteString("CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');\n")
	fmt.Fprintf(&b, "CREATE TEMPORARY TABLE src (%s) WITH (%s);\n", columns, harness.Options(options...))
	fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS lake.%s;\n", db)
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS lake.%s.%s (%s) WITH ('bucket' = '1');\n", db, table, columns)
	fmt.Fprintf(&b, "INSERT INTO lake.%s.%s SELECT %s FROM src;\n", db, table, names)
	return b.String()
}

// declare gives the columns of a source table as a script declares them, and
// their names as it selects them.
func declare(t *testing.T, s *mysqld.Server, db, table string) (columns, names string) {
	t.Helper()
	var declared, selected []string
	for _, col := range sourceColumns(t, s, db, table) {
		typ, err := mysqlrow.NaturalType(col)
		if err != nil {
			t.Fatal(err)
		}
		if typ.Kind == columnar.Array { // which the data files do not hold yet
			typ = columnar.StringType()
		}
		name := mysqlrow.QuoteName(col.Name)
		declared, selected = append(declared, name+" "+sqlType(typ.String())), append(selected, name)
	}
	key := primaryKey(t, s, db, table)
	if len(key) > 0 {
		declared = append(declared, "PRIMARY KEY ("+strings.Join(key, ", ")+") NOT ENFORCED")
	}
	return strings.Join(declared, ", "), strings.Join(selected, ", ")
}

// sqlType gives a type as a script spells it.
func sqlType(t string) string {
	return strings.Replace(t, " WITH LOCAL TIME ZONE", "_LTZ", 1)
}

func primaryKey(t *testing.T, s *mysqld.Server, db, table string) []string {
	t.Helper()
	rows := judge.SourceRows(t, s, fmt.Sprintf(`SELECT CONCAT('', column_name) name FROM information_schema.statistics
		WHERE table_schema = '%s' AND table_name = '%s' AND index_name = 'PRIMARY' ORDER BY seq_in_index`, db, table))
	var key []string
	for _, r := range rows {
		key = append(key, mysqlrow.QuoteName(r.Text("name")))
	}
	return key
}

// sourceColumns reads the columns of a table.
func sourceColumns(t *testing.T, s *mysqld.Server, db, table string) []mysqlrow.Column {
	t.Helper()
	rows := judge.SourceRows(t, s, fmt.Sprintf(`SELECT CONCAT('', column_name) name, CONCAT('', LOWER(data_type)) type, CONCAT('', column_type) full_type,
		CAST(COALESCE(character_maximum_length, 0) AS SIGNED) length, CAST(COALESCE(numeric_precision, 0) AS SIGNED) p, CAST(COALESCE(numeric_scale, 0) AS SIGNED) s,
		CAST(COALESCE(datetime_precision, 0) AS SIGNED) digits, CONCAT('', COALESCE(character_set_name, '')) charset, is_nullable = 'YES' nullable
		FROM information_schema.columns WHERE table_schema = '%s' AND table_name = '%s' ORDER BY ordinal_position`, db, table))
	var out []mysqlrow.Column
	for _, r := range rows {
		out = append(out, mysqlrow.Column{
			Name: r.Text("name"), DataType: r.Text("type"), ColumnType: r.Text("full_type"), Length: r.Int("length"),
			Precision: int(r.Int("p")), Scale: int(r.Int("s")), FractionDigits: int(r.Int("digits")),
			Charset: r.Text("charset"), Nullable: r.Int("nullable") == 1,
		})
	}
	return out
}
