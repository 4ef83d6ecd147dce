package dataflow

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// byFirst routes by the first column, a BIGINT.
type byFirst struct{}

func (byFirst) Route(b *columnar.Batch, n int, out []int32) error {
	for i, v := range b.Cols[0].(*array.Int64).Int64Values() {
		out[i] = int32(v % int64(n))
	}
	return nil
}

// everyType is a row of each kind of column, with a null in every third row.
func everyType(mem memory.Allocator, rows int) *columnar.Batch {
	types := []columnar.DataType{
		columnar.Of(columnar.BigInt), columnar.Of(columnar.Boolean), columnar.Of(columnar.Int), columnar.Of(columnar.Double),
		columnar.DecimalOf(20, 2), columnar.StringType(), columnar.BytesType(), columnar.Of(columnar.Date), columnar.TimestampOf(6),
		{Kind: columnar.TimestampLTZ, Precision: 9, Nullable: true},
		{Kind: columnar.Time, Nullable: true},
		{Kind: columnar.Array, Nullable: true, Elem: new(columnar.StringType())},
	}
	schema := &columnar.Schema{}
	for i, t := range types {
		schema.Fields = append(schema.Fields, columnar.Field{Name: fmt.Sprint("c", i), Type: t})
	}
	var cols []arrow.Array
	for i, b := range columnar.NewBuilders(mem, schema) {
		for r := range rows {
			switch {
			case i == 0:
				b.(*array.Int64Builder).Append(int64(r))
			case r%3 == 0:
				b.AppendNull()
			case types[i].Kind == columnar.Array:
				l := b.(*array.ListBuilder)
				l.Append(true)
				l.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint("e", r))
			default:
				if err := b.AppendValueFromString(textOf(types[i].Kind, r)); err != nil {
					panic(err)
				}
			}
		}
		cols = append(cols, b.NewArray())
		b.Release()
	}
	return columnar.NewBatch(schema, nil, cols, rows)
}

// textOf gives a value that differs from row to row, as Arrow's builders read it.
func textOf(k columnar.Kind, row int) string {
	switch day := fmt.Sprintf("2026-01-%02d", row%28+1); k {
	case columnar.Boolean:
		return strconv.FormatBool(row%2 == 0)
	case columnar.VarBinary:
		return base64.StdEncoding.EncodeToString([]byte{byte(row), 0, 255})
	case columnar.Date:
		return day
	case columnar.Timestamp:
		return day + " 10:11:12.123456"
	case columnar.TimestampLTZ:
		return day + " 10:11:12.123456789Z"
	case columnar.Time:
		return fmt.Sprintf("10:11:%02d.123", row%60)
	default:
		return strconv.Itoa(row)
	}
}

func TestExchangeMovesEveryTypeAndLosesNoMemory(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	const n, rows = 3, 100
	x, boxes := exchangeTo(n)
	in := everyType(mem, rows)
	in.Retain()
	if err := x.send(compute.WithAllocator(t.Context(), mem), in); err != nil {
		t.Fatal(err)
	}
	for k, box := range boxes {
		m, _, err := box.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for c, col := range m.batch.Cols {
			for i := range m.batch.Rows() {
				if got, want := col.ValueStr(i), in.Cols[c].ValueStr(i*n+k); got != want {
					t.Fatalf("subtask %d, column %d, row %d: %s, want %s", k, c, i, got, want)
				}
			}
		}
		m.batch.Release()
	}
	in.Release()
}

func exchangeTo(n int) (*exchange, []*inbox) {
	var outs []outlet
	var boxes []*inbox
	for range n {
		boxes = append(boxes, newInbox(1, 1<<30))
		outs = append(outs, outlet{to: boxes[len(boxes)-1]})
	}
	return newExchange(byFirst{}, outs), boxes
}

func BenchmarkExchange(b *testing.B) {
	const n, rows = 4, 8192
	x, boxes := exchangeTo(n)
	in := everyType(memory.DefaultAllocator, rows)
	defer in.Release()
	ctx := context.Background()
	b.ReportAllocs()
	b.SetBytes(in.Bytes())
	for b.Loop() {
		in.Retain()
		if err := x.send(ctx, in); err != nil {
			b.Fatal(err)
		}
		for _, box := range boxes {
			m, _, err := box.next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			m.batch.Release()
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
