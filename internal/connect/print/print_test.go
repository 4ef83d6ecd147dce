package print

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
)

func sample(mem memory.Allocator) *columnar.Batch {
	listOf := columnar.Of(columnar.Int)
	schema := &columnar.Schema{Fields: []columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt)},
		{Name: "s", Type: columnar.StringType()},
		{Name: "d", Type: columnar.DecimalOf(10, 2)},
		{Name: "f", Type: columnar.Of(columnar.Double)},
		{Name: "b", Type: columnar.BytesType()},
		{Name: "t", Type: columnar.TimestampOf(3)},
		{Name: "z", Type: columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3, Nullable: true}},
		{Name: "l", Type: columnar.DataType{Kind: columnar.Array, Elem: &listOf, Nullable: true}},
	}}
	bs := columnar.NewBuilders(mem, schema)
	bs[0].(*array.Int64Builder).AppendValues([]int64{1, 2}, nil)
	bs[1].(*array.StringBuilder).AppendValues([]string{"a", ""}, []bool{true, false})
	bs[2].(*array.Decimal128Builder).AppendValues([]decimal128.Num{decimal128.FromI64(-5), decimal128.FromI64(12345)}, nil)
	bs[3].(*array.Float64Builder).AppendValues([]float64{1, 1e10}, nil)
	bs[4].(*array.BinaryBuilder).AppendValues([][]byte{{1, 255}, {}}, nil)
	bs[5].(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{0, 1704164645678}, nil)
	bs[6].(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{0, 1704164645000}, nil)
	l := bs[7].(*array.ListBuilder)
	l.Append(true)
	l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, nil)
	l.Append(true)
	cols := make([]arrow.Array, len(bs))
	for i, b := range bs {
		cols[i] = b.NewArray()
		b.Release()
	}
	return columnar.NewBatch(schema, []columnar.RowKind{columnar.UpdateBefore, columnar.UpdateAfter}, cols, 2)
}

func TestLines(t *testing.T) {
	t.Parallel()
	first := "-U[1, a, -0.05, 1.0, [1, -1], 1970-01-01T00:00, 1970-01-01T00:00:00Z, [1, 2]]\n"
	second := "+U[2, null, 123.45, 1.0E10, [], 2024-01-02T03:04:05.678, 2024-01-02T03:04:05Z, []]\n"
	for _, c := range []struct {
		name     string
		options  configs.Values
		writers  int
		out, err string
	}{
		{name: "plain", writers: 1, out: first + second},
		{name: "identifier", writers: 1, options: configs.Values{"print-identifier": {Text: "x"}}, out: "x> " + first + "x> " + second},
		{name: "parallel", writers: 2, options: configs.Values{"print-identifier": {Text: "x"}}, out: "x:1> " + first + "x:1> " + second},
		{name: "standard error", writers: 2, options: configs.Values{"standard-error": {Text: "true"}}, err: "1> " + first + "1> " + second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			var out, errOut bytes.Buffer
			s, err := NewTo(&out, &errOut).NewSink(connect.SinkSpec{Table: &connect.Table{Options: c.options}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.NewWriter(t.Context(), 0, c.writers)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(t.Context(), sample(mem)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([2]string{c.out, c.err}, [2]string{out.String(), errOut.String()}); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}
