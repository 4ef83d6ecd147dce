package lakehouse_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// TestRekey gives the key of a table another type, as a killed process leaves it
// behind: the rows go where the new type puts them, once, and where only a text
// became longer they stay.
func TestRekey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		was, now columnar.DataType
		anew     bool
		buckets  string
	}{
		{"wider integer", columnar.Of(columnar.Int), columnar.Of(columnar.BigInt), true, "5"},
		{"wider integer, in one bucket", columnar.Of(columnar.Int), columnar.Of(columnar.BigInt), true, "1"},
		{"longer text", columnar.DataType{Kind: columnar.VarChar, Length: 4}, columnar.DataType{Kind: columnar.VarChar, Length: 40}, false, "5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fs, path := crashfs.New(), "/wh/db.db/t"
			schema := &spec.TableSchema{
				Fields: []columnar.Field{{Name: "k", Type: tt.was.NotNull()}}, PrimaryKeys: []string{"k"}, PartitionKeys: []string{}, Options: map[string]string{"bucket": tt.buckets},
			}
			tab := newTable(t, fs, path, schema)
			j := newJob(t, tab, "a")
			for from := range 3 {
				var keys arrow.Array
				if tt.was.IsText() {
					b := array.NewStringBuilder(memory.DefaultAllocator)
					b.AppendValues([]string{string(rune('a' + from)), "z"}, nil)
					keys = b.NewArray()
				} else {
					b := array.NewInt32Builder(memory.DefaultAllocator)
					b.AppendValues([]int32{int32(-from * 7), int32(from), -1}, nil)
					keys = b.NewArray()
				}
				j.write(columnar.NewBatch(tab.Schema.Columns(), make([]columnar.RowKind, keys.Len()), []arrow.Array{keys}, keys.Len()))
				j.commit()
			}
			if !tt.was.IsText() { // a delete whose file lies within another one, by keys of this type alone
				b := array.NewInt32Builder(memory.DefaultAllocator)
				b.AppendValues([]int32{0}, nil)
				j.write(columnar.NewBatch(tab.Schema.Columns(), []columnar.RowKind{columnar.Delete}, []arrow.Array{b.NewArray()}, 1))
				j.commit()
			}
			keysOf := func() []string {
				_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"k"}})
				return rows
			}
			before := keysOf()
			next := *schema
			next.ID, next.Fields = 1, []columnar.Field{{Name: "k", Type: tt.now.NotNull()}}
			b, err := spec.MarshalSchema(&next)
			if err != nil {
				t.Fatal(err)
			}
			if err := fs.CreateExclusive(t.Context(), fs.Join(path, spec.SchemaDir, spec.SchemaName(1)), b); err != nil {
				t.Fatal(err)
			}
			for round, anew := range []bool{tt.anew, false} {
				if tab, err = lakehouse.Open(t.Context(), fs, path); err != nil {
					t.Fatal(err)
				}
				id, err := tab.Rekey(t.Context(), lakehouse.WriteConfig{Attempt: "b", User: "b", Budget: lakehouse.NewMemoryBudget(0), Pool: lakehouse.NewWorkPool(1), Scratch: t.TempDir()})
				if err != nil || (id > 0) != anew {
					t.Fatalf("round %d: snapshot %d, %v", round, id, err)
				}
				if diff := cmp.Diff(before, keysOf()); diff != "" {
					t.Errorf("round %d (-before +after):\n%s", round, diff)
				}
			}
			// A row that is written again has to meet the one that is there.
			j = newJob(t, tab, "c")
			var keys arrow.Array
			if tt.was.IsText() {
				s := array.NewStringBuilder(memory.DefaultAllocator)
				s.Append("z")
				keys = s.NewArray()
			} else {
				s := array.NewInt64Builder(memory.DefaultAllocator)
				s.Append(-1)
				keys = s.NewArray()
			}
			j.write(columnar.NewBatch(tab.Schema.Columns(), slices.Repeat([]columnar.RowKind{columnar.Delete}, 1), []arrow.Array{keys}, 1))
			j.commit()
			if after := keysOf(); len(after) != len(before)-1 {
				t.Errorf("%d rows were %v, one was deleted: %v", len(before), before, after)
			}
		})
	}
}
