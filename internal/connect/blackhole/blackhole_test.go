package blackhole

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/connect"
)

func TestWriterReleasesBatches(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewInt32Builder(mem)
	defer b.Release()
	b.AppendValues([]int32{1, 2}, nil)
	schema := &columnar.Schema{Fields: []columnar.Field{{Name: "a", Type: columnar.Of(columnar.Int)}}}
	s, err := New().NewSink(connect.SinkSpec{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.NewWriter(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), columnar.NewBatch(schema, nil, []arrow.Array{b.NewArray()}, 2)); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.Wait(t.Context()); c != nil || err != nil {
		t.Fatalf("got %s, %v", c, err)
	}
}
