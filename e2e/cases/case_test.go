package cases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// caseFile is case.yaml.
type caseFile struct {
	ID          string            `yaml:"id"`
	Title       string            `yaml:"title"`
	ServerFlags []string          `yaml:"server_flags"`
	Sync        string            `yaml:"sync"`
	Targets     []string          `yaml:"targets"`
	Options     map[string]string `yaml:"source_options"`
	Steps       []string          `yaml:"steps"`
	// Columns are the forms of the columns that are compared.
	Columns     map[string]string `yaml:"columns"`
	AcceptError string            `yaml:"accept_error"`
}

// testCase is a folder of testdata.
type testCase struct {
	caseFile
	dir   string
	parts map[string][]string // statements by part, "setup" first
	job   string              // job.sql, "" without
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

// target is the table of the lake that is compared, as db.table.
func (c *testCase) target() string {
	if len(c.Targets) > 0 {
		return c.Targets[0]
	}
	return c.Sync
}

// partsOf splits source.sql into its parts and those into statements.
func partsOf(sql string) map[string][]string {
	parts, name := map[string][]string{}, "setup"
	var b strings.Builder
	end := func() {
		parts[name] = append(parts[name], statements(b.String())...)
		b.Reset()
	}
	for line := range strings.Lines(sql) {
		if mark, found := strings.CutPrefix(line, "-- @"); found {
			end()
			name = strings.TrimSpace(mark)
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

// expected gives the lines of expected.ndjson.
func (c *testCase) expected(t *testing.T) []map[string]any {
	t.Helper()
	var rows []map[string]any
	lines := bufio.NewScanner(strings.NewReader(read(t, c.dir, "expected.ndjson")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		row, err := decode(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.(map[string]any))
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
