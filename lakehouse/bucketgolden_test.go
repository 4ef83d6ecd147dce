package lakehouse_test

import (
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// copyTree copies a table that a test writes to.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// twoColumns gives inserts of the keys from to to-1 into an (INT, STRING) table.
func twoColumns(s *spec.TableSchema, from, to int32, v string) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	for id := from; id < to; id++ {
		b[0].(*array.Int32Builder).Append(id)
		b[1].(*array.StringBuilder).Append(v)
	}
	cols := []arrow.Array{b[0].NewArray(), b[1].NewArray()}
	return columnar.NewBatch(s.Columns(), nil, cols, int(to-from))
}
