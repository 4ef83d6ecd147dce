package orc

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// golden is what Java Paimon reads from a file that it wrote.
type golden struct {
	Schema json.RawMessage
	Rows   []map[string]any
}

func loadGolden(t *testing.T, name string) (file []byte, fields []columnar.Field, rows []string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "golden", name+".orc"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "golden", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&g); err != nil {
		t.Fatal(err)
	}
	s, err := spec.ParseSchema(g.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Rows {
		rows = append(rows, rowText(s.Fields, func(_ int, f columnar.Field) string { return expected(t, r[f.Name], f.Type) }))
	}
	slices.Sort(rows)
	return file, s.Fields, rows
}

func rowText(fields []columnar.Field, value func(i int, f columnar.Field) string) string {
	var b strings.Builder
	for i, f := range fields {
		b.WriteString(f.Name + "=" + value(i, f) + "\n")
	}
	return b.String()
}

func rowTexts(cols []arrow.Array, fields []columnar.Field) (rows []string) {
	for row := range cols[0].Len() {
		rows = append(rows, rowText(fields, func(i int, f columnar.Field) string { return render(cols[i], row, f.Type) }))
	}
	slices.Sort(rows) // A golden file has them as a set.
	return rows
}

var goldenNames = []string{"all_types_1", "all_types_2", "all_types_3", "multiset", "fifty"}

// TestGoldenFiles reads files of Java Paimon, and reads them again after
// writing them anew.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, fields, want := loadGolden(t, name)
			cols := readFile(t, file, fields, ReadOptions{})
			if d := cmp.Diff(want, rowTexts(cols, fields)); d != "" {
				t.Errorf("rows (-java +got):\n%s", d)
			}
			again, _ := writeFile(t, fields, Options{}, cols)
			if d := cmp.Diff(want, rowTexts(readFile(t, again, fields, ReadOptions{BatchRows: 3}), fields)); d != "" {
				t.Errorf("rows written anew (-java +got):\n%s", d)
			}
		})
	}
}

// TestGoldenTypes compares the types and attributes that we write with Java's.
func TestGoldenTypes(t *testing.T) {
	t.Parallel()
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, fields, _ := loadGolden(t, name)
			r, err := OpenReader(newFile(file), name, nil, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			all, err := r.Fields()
			if err != nil {
				t.Fatal(err)
			}
			// A file of a table with a primary key has three columns before those of the table.
			want := r.footer.types
			extra := len(all) - len(fields)
			got, err := typesOf(append(all[:extra:extra], fields...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(typeInfo{}, attribute{}), cmp.Comparer(sameType)); d != "" {
				t.Errorf("types (-java +ours):\n%s", d)
			}
		})
	}
}

// sameType leaves out what says nothing for a kind: Java fills in defaults.
func sameType(a, b typeInfo) bool {
	clear := func(t typeInfo) typeInfo {
		if t.kind != kindDecimal {
			t.precision, t.scale = 0, 0
		}
		if t.kind != kindChar && t.kind != kindVarchar {
			t.maxLength = 0
		}
		return t
	}
	return cmp.Equal(clear(a), clear(b), cmp.AllowUnexported(typeInfo{}, attribute{}))
}
