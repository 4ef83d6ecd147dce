package format

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// describe gives what a reader can tell of a column.
func describe(n schema.Node) string {
	if g, ok := n.(*schema.GroupNode); ok {
		text := fmt.Sprintf("%s id=%d %s group %s %s {", g.Name(), g.FieldID(), g.RepetitionType(), g.LogicalType(), g.ConvertedType())
		for i := range g.NumFields() {
			text += "\n" + describe(g.Field(i))
		}
		return text + "\n}"
	}
	p := n.(*schema.PrimitiveNode)
	length := 0
	if p.PhysicalType() == parquet.Types.FixedLenByteArray {
		length = p.TypeLength()
	}
	return fmt.Sprintf("%s id=%d %s %s(%d) %s %s", p.Name(), p.FieldID(), p.RepetitionType(), p.PhysicalType(), length, p.LogicalType(), p.ConvertedType())
}

// TestSchemaEqualsJava compares the schema of our files with that of a file of
// the Java writer, column by column.
func TestSchemaEqualsJava(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"pk_parquet_all_types", "multiset_variant"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			checkSchema(t, filepath.Join("..", "testdata", "golden", table, "wh", "db.db", "t"))
		})
	}
}

func checkSchema(t *testing.T, table string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(table, "schema", "schema-0"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.ParseSchema(raw)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(table, "bucket-*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no data files: %v", err)
	}
	r, err := file.OpenParquetFile(files[0], false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	java := r.MetaData().Schema.Root()
	fields := []columnar.Field{
		{ID: 1073741823, Name: "_KEY_id", Type: columnar.Of(columnar.Int).NotNull()},
		{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 2147483645, Name: "_VALUE_KIND", Type: columnar.Of(columnar.TinyInt).NotNull()},
	}
	fields[0].Type = s.Fields[s.Index("id")].Type
	fields = append(fields, s.Fields...)
	ours, err := parquetSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	if ours.Name() != java.Name() {
		t.Errorf("message %s, want %s", ours.Name(), java.Name())
	}
	for i := range ours.NumFields() {
		at := java.FieldIndexByName(ours.Field(i).Name())
		if at < 0 {
			t.Errorf("Java has no column %s", ours.Field(i).Name())
			continue
		}
		if diff := cmp.Diff(describe(java.Field(at)), describe(ours.Field(i))); diff != "" {
			t.Errorf("column (-Java +ours):\n%s", diff)
		}
	}
}

func TestDecimalWidth(t *testing.T) {
	t.Parallel()
	for precision, want := range map[int]int{1: 1, 2: 1, 3: 2, 9: 4, 10: 5, 18: 8, 19: 9, 21: 9, 22: 10, 34: 15, 35: 15, 36: 16, 38: 16} {
		if got := decimalWidth(precision); got != want {
			t.Errorf("DECIMAL(%d) takes %d bytes, want %d", precision, got, want)
		}
	}
}

func TestRowsWithoutFieldsAreRefusedByName(t *testing.T) {
	t.Parallel()
	_, err := NewWriter(nil, []columnar.Field{{Name: "tags", Type: columnar.Of(columnar.Row)}}, Options{})
	if err == nil || err.Error() != "column tags: type ROW<> cannot be stored in Parquet files" {
		t.Errorf("error %v", err)
	}
	if CheckCompression("brotli") == nil || CheckCompression("ZSTD") != nil {
		t.Error("compression names are not checked")
	}
}
