package catalog

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse/spec"
)

// TestDefinitions runs testdata/define.txt: a definition in, its schema file or its faults out.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/define.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		s := parseDefinition(t, d.Input)
		if err := Validate(s); err != nil {
			var l diag.List
			l.Add(err)
			var b strings.Builder
			for _, e := range l {
				if e.Hint == "" || e.Domain != diag.User {
					t.Errorf("%v has no remedy", e)
				}
				fmt.Fprintf(&b, "%s\n  do: %s\n", strings.TrimPrefix(e.Error(), "error "), e.Hint)
			}
			return b.String()
		}
		b, err := spec.MarshalSchema(Define(s, 1))
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n"
	})
}

// parseDefinition reads lines "column NAME TYPE", "key a, b", "partition a" and "KEY = VALUE".
func parseDefinition(t *testing.T, text string) *spec.TableSchema {
	t.Helper()
	s := &spec.TableSchema{Options: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "column":
			name, typ, _ := strings.Cut(rest, " ")
			dt, err := spec.ParseDataType([]byte(typ))
			if err != nil {
				if dt, err = spec.ParseAtomicType(typ); err != nil {
					t.Fatal(err)
				}
			}
			s.Fields = append(s.Fields, columnar.Field{Name: strings.Trim(name, "'"), Type: dt})
		case word == "key":
			s.PrimaryKeys = splitNames(rest)
		case word == "partition" && !strings.HasPrefix(rest, "= "):
			s.PartitionKeys = splitNames(rest)
		default:
			k, v, ok := strings.Cut(line, " = ")
			if !ok {
				t.Fatalf("cannot read %q", line)
			}
			s.Options[k] = v
		}
	}
	return s
}

// The ids of nested fields are those that Paimon Java gives.
func TestFieldIDsAsInJava(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/all_types_schema.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := spec.ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	bare := *want
	bare.Fields = slices.Clone(want.Fields)
	for i := range bare.Fields {
		bare.Fields[i].ID = 0
		bare.Fields[i].Type = withIDs(bare.Fields[i].Type, func() int { return 0 })
	}
	if d := cmp.Diff(want, Define(&bare, want.TimeMillis)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func simpleTable() *spec.TableSchema {
	return &spec.TableSchema{
		Fields:      []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int)}, {Name: "v", Type: columnar.StringType()}},
		PrimaryKeys: []string{"id"},
	}
}

func code(err error) diag.Code {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestDatabasesAndTables(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, "/wh")
	orders := Identifier{Catalog: "lake", Database: "ods", Table: "orders"}
	if err := c.CreateTable(ctx, orders, simpleTable(), false); code(err) != diag.CodeUnknownObject {
		t.Errorf("without a database: %v", err)
	}
	if err := c.CreateDatabase(ctx, "ods", false); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(ctx, "ods", true); err != nil {
		t.Error(err)
	}
	if err := c.CreateDatabase(ctx, "ods", false); code(err) != diag.CodeExists {
		t.Errorf("second time: %v", err)
	}
	if _, _, err := c.Table(ctx, orders); code(err) != diag.CodeUnknownObject {
		t.Errorf("before its creation: %v", err)
	}
	if err := c.CreateTable(ctx, orders, simpleTable(), false); err != nil {
		t.Fatal(err)
	}
	s, path, err := c.Table(ctx, orders)
	if err != nil || path != "/wh/ods.db/orders" {
		t.Fatal(path, err)
	}
	if s.Fields[0].Type.Nullable || s.Fields[1].ID != 1 || s.HighestFieldID != 1 || s.TimeMillis == 0 {
		t.Errorf("%+v", s)
	}
	if err := c.CreateTable(ctx, orders, simpleTable(), true); err != nil {
		t.Error(err)
	}
	if err := c.CreateTable(ctx, orders, simpleTable(), false); code(err) != diag.CodeExists {
		t.Errorf("second time: %v", err)
	}
	// The latest schema counts; other directories are no tables.
	newer := *s
	newer.ID, newer.Comment = 11, "newer"
	b, err := spec.MarshalSchema(&newer)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		fs.CreateExclusive(ctx, path+"/schema/schema-11", b), fs.CreateExclusive(ctx, path+"/schema/schema-9", []byte("no")),
		fs.MkdirAll(ctx, "/wh/ods.db/empty"), fs.MkdirAll(ctx, "/wh/other"),
	); err != nil {
		t.Fatal(err)
	}
	if s, _, err = c.Table(ctx, orders); err != nil || s.Comment != "newer" {
		t.Error(s, err)
	}
	tables, err := c.Tables(ctx, "ods")
	if err != nil || !slices.Equal(tables, []string{"orders"}) {
		t.Error(tables, err)
	}
	dbs, err := c.Databases(ctx)
	if err != nil || !slices.Equal(dbs, []string{"ods"}) {
		t.Error(dbs, err)
	}
	_, _, err = c.Table(ctx, Identifier{Database: "ods", Table: "order"})
	if err == nil || !strings.Contains(hint(err), "did you mean orders") {
		t.Errorf("misspelt: %v, %s", err, hint(err))
	}
	if err := c.DropDatabase(ctx, "ods", false, false); code(err) != diag.CodeExists {
		t.Errorf("database with a table: %v", err)
	}
	if err := c.DropTable(ctx, orders, false); err != nil {
		t.Error(err)
	}
	if err := c.DropTable(ctx, orders, false); code(err) != diag.CodeUnknownObject {
		t.Errorf("second drop: %v", err)
	}
	if err := errors.Join(c.DropTable(ctx, orders, true), c.DropDatabase(ctx, "ods", false, false), c.DropDatabase(ctx, "ods", true, false)); err != nil {
		t.Error(err)
	}
	if err := c.DropDatabase(ctx, "ods", false, false); code(err) != diag.CodeUnknownObject {
		t.Errorf("second drop: %v", err)
	}
}

func hint(err error) string {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

func TestDamagedSchemaIsCorrupt(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	if err := fs.CreateExclusive(t.Context(), "/wh/d.db/t/schema/schema-0", []byte("{")); err != nil {
		t.Fatal(err)
	}
	_, _, err := New(fs, "/wh").Table(t.Context(), Identifier{Database: "d", Table: "t"})
	if diag.DomainOf(err) != diag.Corrupt {
		t.Errorf("got %v", err)
	}
}

func TestNamesThatAreNoDirectories(t *testing.T) {
	t.Parallel()
	c := New(crashfs.New(), "/wh")
	for _, name := range []string{"", " ", ".", "..", "a/b", `a\b`, ".x", "a\x00"} {
		if err := c.CreateDatabase(t.Context(), name, true); code(err) != diag.CodeTableShape {
			t.Errorf("database %q: %v", name, err)
		}
		if err := c.CreateTable(t.Context(), Identifier{Database: "d", Table: name}, simpleTable(), true); code(err) != diag.CodeTableShape {
			t.Errorf("table %q: %v", name, err)
		}
		if has, err := c.HasTable(t.Context(), Identifier{Database: "d", Table: name}); has || err != nil {
			t.Errorf("table %q: %v, %v", name, has, err)
		}
	}
	if _, _, err := c.Table(t.Context(), Identifier{Database: "d", Table: "t$snapshots"}); code(err) != diag.CodeTableShape {
		t.Errorf("system table: %v", err)
	}
}

func TestOneCreatorWins(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := New(crashfs.New(), "/wh")
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch err := c.CreateTable(ctx, Identifier{Database: "d", Table: "t"}, simpleTable(), false); {
			case err == nil:
				won.Add(1)
			case code(err) != diag.CodeExists:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d creators won", won.Load())
	}
}

func TestLostAnswerOfCreateTable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for action, want := range map[string]bool{"lie": true, "fail": false, "cut": false} {
		var fs fileio.FS = faultfs.New(crashfs.New(), "createexclusive#1 "+action)
		c := New(fs, "/wh")
		if err := c.CreateDatabase(ctx, "d", false); err != nil {
			t.Fatal(err)
		}
		if err := c.CreateTable(ctx, Identifier{Database: "d", Table: "t"}, simpleTable(), false); (err == nil) != want {
			t.Errorf("%s: %v", action, err)
		}
		if has, err := c.HasTable(ctx, Identifier{Database: "d", Table: "t"}); err != nil || has != want {
			t.Errorf("%s: table there: %v, %v", action, has, err)
		}
	}
}
