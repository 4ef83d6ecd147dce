package cases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// caseFile is case.yaml.
type caseFile struct {
	Title       string   `yaml:"title"`
	Needs       string   `yaml:"needs"`
	ServerFlags []string `yaml:"server_flags"`
	// Servers are two servers by name, where a case has two.
	Servers map[string]struct {
		Flags []string `yaml:"flags"`
	} `yaml:"servers"`
	Sync oneOrMore `yaml:"sync"`
	// Database is copied whole; its tables are those of Columns.
	Database string            `yaml:"sync_database"`
	Targets  []string          `yaml:"targets"`
	Options  map[string]string `yaml:"source_options"`
	Steps    []string          `yaml:"steps"`
	Columns  forms             `yaml:"columns"`
	Compare  comparison        `yaml:"compare"`
	// Absent are tables that the lake must not have in the end.
	Absent []string `yaml:"absent"`
	// AcceptError says that a refusal is as good as the rows, ExpectedError that
	// the job has to be refused; MustMention are what the message has to match.
	AcceptError string `yaml:"accept_error"`
	// AcceptWarning are what standard error has to match where rows may differ then.
	AcceptWarning []string `yaml:"accept_warning"`
	ExpectedError string   `yaml:"expected_error"`
	MustMention   []string `yaml:"must_mention"`
}

// oneOrMore is a table or a list of them.
type oneOrMore []string

// UnmarshalYAML reads both; a table is db.table, or database and table where its name has a dot.
func (o *oneOrMore) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*o = oneOrMore{n.Value}
		return nil
	}
	for _, item := range n.Content {
		if item.Kind == yaml.ScalarNode {
			*o = append(*o, item.Value)
			continue
		}
		var t struct{ Database, Table string }
		if err := item.Decode(&t); err != nil {
			return err
		}
		*o = append(*o, t.Database+"."+t.Table)
	}
	return nil
}

// forms are the forms of the columns that are compared, by table; "" stands for
// the only table.
type forms map[string]map[string]string

// UnmarshalYAML reads forms by column, or by table and column.
func (f *forms) UnmarshalYAML(n *yaml.Node) error {
	var flat map[string]string
	if err := n.Decode(&flat); err == nil {
		*f = forms{"": flat}
		return nil
	}
	return n.Decode((*map[string]map[string]string)(f))
}

// comparison is "changelog", or a query that is run on the target.
type comparison struct {
	changelog bool
	query     string
}

// UnmarshalYAML reads both.
func (c *comparison) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.changelog = n.Value == "changelog"
		return nil
	}
	var q struct {
		Query string `yaml:"query"`
	}
	err := n.Decode(&q)
	c.query = q.Query
	return err
}

// testCase is a folder of testdata.
type testCase struct {
	caseFile
	dir   string
	parts map[string][]statement // by part, "setup" first
	job   string                 // job.sql, "" without
}

func load(t *testing.T, dir string) *testCase {
	t.Helper()
	c := &testCase{dir: dir}
	b := read(t, dir, "case.yaml")
	if err := yaml.Unmarshal([]byte(b), &c.caseFile); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	c.parts = partsOf(read(t, dir, "source.sql"))
	if _, err := os.Stat(filepath.Join(dir, "job.sql")); err == nil {
		c.job = read(t, dir, "job.sql")
	}
	return c
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// targets are the tables of the lake that are compared, as db.table.
func (c *testCase) targets() []string {
	switch {
	case len(c.Targets) > 0:
		return c.Targets
	case c.Database != "":
		return slices.Sorted(maps.Keys(c.Columns))
	}
	return c.Sync
}

// formsOf gives the forms of the columns of a table.
func (c *testCase) formsOf(table string) map[string]string {
	if f, there := c.Columns[table]; there {
		return f
	}
	return c.Columns[""]
}

// statement is one of source.sql; server is "" but in a case of two servers.
type statement struct{ server, sql string }

// partsOf splits source.sql into its parts and those into statements. A line
// "-- @on a" says on which server the following ones run.
func partsOf(sql string) map[string][]statement {
	parts, name, server := map[string][]statement{}, "setup", ""
	var b strings.Builder
	end := func() {
		for _, text := range statements(b.String()) {
			parts[name] = append(parts[name], statement{server, text})
		}
		b.Reset()
	}
	for line := range strings.Lines(sql) {
		if mark, found := strings.CutPrefix(line, "-- @"); found {
			end()
			mark = strings.TrimSpace(mark)
			if on, isServer := strings.CutPrefix(mark, "on "); isServer {
				server = on
			} else {
				name = mark
			}
			continue
		}
		b.WriteString(line)
	}
	end()
	return parts
}

// statements splits SQL at the semicolons that stand outside of quotes.
func statements(sql string) []string {
	var out []string
	var quote byte
	from := 0
	for i := 0; i < len(sql); i++ {
		switch ch := sql[i]; {
		case quote != 0:
			if ch == '\\' && quote != '`' {
				i++
			} else if ch == quote {
				quote = 0
			}
		case ch == '\'' || ch == '"' || ch == '`':
			quote = ch
		case ch == ';':
			out = append(out, strings.TrimSpace(sql[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(sql[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// expected gives the lines of expected.ndjson that are of a table.
func (c *testCase) expected(t *testing.T, table string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	lines := bufio.NewScanner(strings.NewReader(read(t, c.dir, "expected.ndjson")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		row, err := decode(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r, isRow := row.(map[string]any)
		if !isRow {
			t.Fatalf("%s is no row", lines.Text())
		}
		of, there := r["@table"]
		if parts, isList := of.([]any); isList { // where a name has a dot
			of = fmt.Sprintf("%v.%v", parts...)
		}
		if !there || of == table {
			rows = append(rows, r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// decode reads JSON and keeps the digits of numbers.
func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading %q: %w", b, err)
	}
	return v, nil
}
