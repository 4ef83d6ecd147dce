package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// run is a case that runs.
type run struct {
	*testCase
	t *testing.T
	// server is the one the job reads; servers are the named ones of a case with two.
	server  *mysqld.Server
	servers map[string]*mysqld.Server
	job     *harness.Job
	child   *harness.Child
	// second is another job of the same script.
	second      *harness.Job
	secondChild *harness.Child
	// user and password are the account of a generated script.
	user, password string
	// without is the key of a row that is not compared.
	without string
}

// run takes the steps of the case.
func (c *testCase) run(t *testing.T) {
	t.Helper()
	r := &run{testCase: c, t: t, user: "root"}
	switch {
	case len(c.Servers) > 0:
		r.servers = map[string]*mysqld.Server{}
		for name, s := range c.Servers {
			r.servers[name] = judge.OwnMySQL(t, s.Flags...)
		}
		r.server = r.servers["a"]
	case c.Needs == "mariadb":
		r.server = judge.MariaDB(t, c.ServerFlags...)
	default:
		r.server = judge.MySQL(t, c.ServerFlags...)
	}
	for _, step := range c.Steps {
		if c.AcceptError != "" && r.child != nil && r.child.Ended() {
			r.checkError()
			return
		}
		r.step(step)
	}
	if !r.child.Ended() {
		r.child.Stop()
	}
}

// wait waits for the job; one that ends by itself is right only where a refusal is.
func (r *run) wait(until string) {
	r.t.Helper()
	harness.Eventually(r.t, "the job ran", func() bool { return r.child.Ended() || r.job.Leat("job", "show", "case").Code == 0 })
	if w := r.job.Leat("job", "wait", "case", "--until", until); w.Code != 0 && r.AcceptError == "" {
		r.t.Fatalf("the job ended by itself:\n%s", r.child.Stderr())
	}
}

// checkError requires that the job ended with an error that names what it has to,
// and the remedy.
func (r *run) checkError() {
	r.t.Helper()
	end := r.child.Wait()
	if end.Code == 0 || !strings.Contains(end.Stderr, "do: ") || len(r.MustMention) == 0 {
		r.t.Errorf("exit code %d, want an error with a remedy:\n%s", end.Code, end.Stderr)
	}
	for _, pattern := range r.MustMention {
		re, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			r.t.Fatal(err)
		}
		if !re.MatchString(end.Stderr) {
			r.t.Errorf("the error does not mention %s:\n%s", pattern, end.Stderr)
		}
	}
}

const zoneOption = "server-time-zone"

// zone is where a TIMESTAMP without a zone is meant.
func (c *testCase) zone(t *testing.T) *time.Location {
	t.Helper()
	offset := c.Options[zoneOption]
	if offset == "" {
		return time.UTC
	}
	at, err := time.Parse("-07:00", offset)
	if err != nil {
		t.Fatal(err)
	}
	return at.Location()
}

// compare requires the expected rows in the lake.
func (r *run) compare() {
	r.t.Helper()
	for _, table := range r.Absent {
		db, name, _ := strings.Cut(table, ".")
		if _, err := os.Stat(filepath.Join(r.job.Warehouse(), db+".db", name)); err == nil {
			r.t.Errorf("the lake has the table %s", table)
		}
	}
	zone := r.zone(r.t)
	for _, table := range r.targets() {
		var want, got []string
		columns := r.formsOf(table)
		for _, row := range r.expected(r.t, table) {
			want = append(want, line(r.t, columns, row, "@op", wantForm))
		}
		for _, row := range r.rows(table) {
			if id, isNumber := row["id"].(json.Number); isNumber && r.without == id.String() {
				continue
			}
			got = append(got, line(r.t, columns, row, "_kind", func(form string, v any) (string, error) { return lakeForm(form, v, zone) }))
		}
		if !r.Compare.changelog {
			slices.Sort(want)
			slices.Sort(got)
		}
		slices.SortStableFunc(want, byKey)
		slices.SortStableFunc(got, byKey)
		if diff := cmp.Diff(want, got); diff != "" && !r.warned() {
			r.t.Errorf("%s, %s (-want +got):\n%s", r.Title, table, diff)
		}
	}
}

// warned reports whether the job said what makes other rows right.
func (r *run) warned() bool {
	for _, pattern := range r.AcceptWarning {
		if !regexp.MustCompile("(?i)" + pattern).MatchString(r.child.Stderr()) {
			return false
		}
	}
	return len(r.AcceptWarning) > 0
}

// byKey sorts lines by their first cell, which is the key of a changelog whose
// order counts among the changes of one key.
func byKey(a, b string) int {
	key := func(s string) string {
		_, cells, _ := strings.Cut(s, "|")
		first, _, _ := strings.Cut(cells, " ")
		return first
	}
	return strings.Compare(key(a), key(b))
}

// rows gives what is compared with the expected rows.
func (r *run) rows(table string) []judge.Row {
	r.t.Helper()
	lake := r.job.Lake(lakeName(table))
	switch {
	case r.Compare.changelog:
		return judge.Java(r.t).Changelog(r.t, lake.Warehouse, lake.Table)
	case r.Compare.query != "":
		return r.query(table, judge.Java(r.t).Rows(r.t, lake.Warehouse, lake.Table))
	default:
		return judge.Java(r.t).Rows(r.t, lake.Warehouse, lake.Table)
	}
}

// query copies the rows of the lake into a server of its own and runs the query there.
func (r *run) query(table string, rows []judge.Row) []judge.Row {
	r.t.Helper()
	s := judge.MySQL(r.t, "--skip-log-bin")
	db, _, _ := strings.Cut(table, ".")
	source, err := r.server.Connect("")
	if err != nil {
		r.t.Fatal(err)
	}
	defer source.Close()
	made, err := source.Execute("SHOW CREATE TABLE " + table)
	if err != nil {
		r.t.Fatal(err)
	}
	create, err := made.GetString(0, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	sql := []string{"DROP DATABASE IF EXISTS " + db, "CREATE DATABASE " + db, "USE " + db, create}
	for some := range slices.Chunk(rows, 1000) {
		names := slices.Sorted(maps.Keys(some[0]))
		var b strings.Builder
		fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", table, strings.Join(names, ","))
		for i, row := range some {
			if i > 0 {
				b.WriteByte(',')
			}
			for k, n := range names {
				b.WriteString(string("(,"[min(k, 1)]))
				if row[n] == nil {
					b.WriteString("NULL")
				} else {
					fmt.Fprintf(&b, "'%v'", row[n])
				}
			}
			b.WriteByte(')')
		}
		sql = append(sql, b.String())
	}
	judge.Exec(r.t, s, sql...)
	return judge.SourceRows(r.t, s, strings.TrimSuffix(strings.TrimSpace(read(r.t, r.dir, r.Compare.query)), ";"))
}

// line writes the columns of a row that are compared, in front the kind of a change.
func line(t *testing.T, columns map[string]string, row map[string]any, kind string, form func(form string, v any) (string, error)) string {
	t.Helper()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		v, there := row[name]
		if !there {
			t.Errorf("no column %s in %v", name, row)
		}
		text, err := form(columns[name], v)
		if err != nil {
			t.Error(err)
		}
		parts = append(parts, name+"="+text)
	}
	op, _ := row[kind].(string)
	return op + "|" + strings.Join(parts, " ")
}

// script gives the job's script under the name "case".
func (r *run) script() string {
	r.t.Helper()
	if r.testCase.job != "" {
		return "SET 'pipeline.name' = 'case';\n" + r.testCase.job
	}
	var b strings.Builder
	b.WriteString(harness.Settings("case", "200ms"))
	b.WriteString("CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');\n")
	var inserts strings.Builder
	for i, source := range r.Sync {
		db, table, _ := strings.Cut(source, ".")
		columns, names := declare(r.t, r.server, db, table)
		options := []string{
			"connector", "mysql-cdc", "hostname", "127.0.0.1", "port", "${MYSQL_PORT}", "username", r.user, "password", r.password,
			"database-name", regexp.QuoteMeta(db), "table-name", regexp.QuoteMeta(table),
		}
		for _, k := range slices.Sorted(maps.Keys(r.Options)) {
			if k != zoneOption { // leat finds the zone of the server by itself
				options = append(options, k, r.Options[k])
			}
		}
		fmt.Fprintf(&b, "CREATE TEMPORARY TABLE src%d (%s) WITH (%s);\n", i, columns, harness.Options(options...))
		db, table = mysqlrow.QuoteName(db), mysqlrow.QuoteName(lakeName(table))
		fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS lake.%s;\n", db)
		fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS lake.%s.%s (%s) WITH ('bucket' = '1');\n", db, table, columns)
		fmt.Fprintf(&inserts, "INSERT INTO lake.%s.%s SELECT %s FROM src%d;\n", db, table, names, i)
	}
	return b.String() + inserts.String()
}

// lakeName is the name of a source table in the lake, where $ marks system tables.
func lakeName(table string) string { return strings.ReplaceAll(table, "$", "_") }

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
