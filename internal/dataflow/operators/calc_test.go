package operators

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/expr"
)

var _ dataflow.Operator = (*Calc)(nil)

// row is the model of a row: an amount and a key, which may be NULL.
type row struct {
	kind columnar.RowKind
	a    *int32
	k    *string
}

func (r row) String() string {
	a, k := "null", "null"
	if r.a != nil {
		a = fmt.Sprint(*r.a)
	}
	if r.k != nil {
		k = *r.k
	}
	return fmt.Sprintf("%s[%s, %s]", r.kind, a, k)
}

var inputSchema = &columnar.Schema{Fields: []columnar.Field{
	{Name: "a", Type: columnar.Of(columnar.Int)},
	{Name: "k", Type: columnar.StringType()},
}}

func batchOf(mem memory.Allocator, rows []row, withKinds bool) *columnar.Batch {
	bs := columnar.NewBuilders(mem, inputSchema)
	var kinds []columnar.RowKind
	for _, r := range rows {
		if withKinds {
			kinds = append(kinds, r.kind)
		}
		if r.a == nil {
			bs[0].AppendNull()
		} else {
			bs[0].(*array.Int32Builder).Append(*r.a)
		}
		if r.k == nil {
			bs[1].AppendNull()
		} else {
			bs[1].(*array.StringBuilder).Append(*r.k)
		}
	}
	cols := make([]arrow.Array, len(bs))
	for i, b := range bs {
		cols[i] = b.NewArray()
		b.Release()
	}
	return columnar.NewBatch(inputSchema, kinds, cols, len(rows))
}

func rowsOf(b *columnar.Batch) []row {
	a, k := b.Cols[0].(*array.Int32), b.Cols[1].(*array.String)
	out := make([]row, b.Rows())
	for i := range out {
		out[i].kind = b.Kind(i)
		if a.IsValid(i) {
			v := a.Value(i)
			out[i].a = &v
		}
		if k.IsValid(i) {
			v := strings.Clone(k.Value(i))
			out[i].k = &v
		}
	}
	return out
}

func column(i int) expr.Expr {
	return expr.NamedColumn(i, inputSchema.Fields[i].Name, inputSchema.Fields[i].Type)
}

func call(t interface{ Fatal(args ...any) }, name string, args ...expr.Expr) expr.Expr {
	e, err := expr.Call(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run sends rows through c and gives what comes out.
func run(t interface{ Fatal(args ...any) }, mem memory.Allocator, c *Calc, rows []row, withKinds bool) ([]row, error) {
	var out []row
	err := c.Process(context.Background(), batchOf(mem, rows, withKinds), func(b *columnar.Batch) error {
		if b.Rows() == 0 {
			t.Fatal("an empty batch was handed on")
		}
		out = append(out, rowsOf(b)...)
		b.Release()
		return nil
	})
	return out, err
}

// keepRows is the plain twin of the filter: pair by pair.
func keepRows(rows []row, ok func(row) bool) []row {
	var out []row
	for i := 0; i < len(rows); i++ {
		r := rows[i]
		if r.kind == columnar.UpdateBefore && i+1 < len(rows) && rows[i+1].kind == columnar.UpdateAfter {
			after := rows[i+1]
			i++
			switch {
			case ok(r) && ok(after):
				out = append(out, r, after)
			case ok(r):
				out = append(out, row{columnar.Delete, r.a, r.k})
			case ok(after):
				out = append(out, row{columnar.Insert, after.a, after.k})
			}
			continue
		}
		switch {
		case ok(r):
			out = append(out, r)
		case r.kind == columnar.UpdateAfter:
			out = append(out, row{columnar.Delete, r.a, r.k})
		}
	}
	return out
}

func twin(rows []row, filter, notNull, split bool) []row {
	out := rows
	if filter {
		out = keepRows(out, func(r row) bool { return r.a == nil || *r.a > 0 })
	}
	for i := range out {
		r := out[i]
		if r.a != nil {
			v := *r.a + 1
			out[i].a = &v
		}
	}
	if notNull {
		out = keepRows(out, func(r row) bool { return r.a != nil || r.kind.Retracts() })
	}
	if split {
		for i := 0; i+1 < len(out); i++ {
			x, y := out[i].k, out[i+1].k
			same := x == nil && y == nil || x != nil && y != nil && *x == *y
			if out[i].kind == columnar.UpdateBefore && out[i+1].kind == columnar.UpdateAfter && !same {
				out[i].kind, out[i+1].kind = columnar.Delete, columnar.Insert
			}
		}
	}
	return out
}

func drawRows(t *rapid.T) []row {
	draw := func(k columnar.RowKind) row {
		r := row{kind: k}
		if rapid.IntRange(0, 4).Draw(t, "a null") > 0 {
			v := rapid.Int32Range(-2, 3).Draw(t, "a")
			r.a = &v
		}
		if rapid.IntRange(0, 4).Draw(t, "k null") > 0 {
			v := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "k")
			r.k = &v
		}
		return r
	}
	var rows []row
	for range rapid.IntRange(0, 12).Draw(t, "rows") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			rows = append(rows, draw(columnar.Insert))
		case 1:
			rows = append(rows, draw(columnar.Delete))
		case 2:
			rows = append(rows, draw(columnar.UpdateBefore), draw(columnar.UpdateAfter))
		default:
			if n := len(rows); n > 0 && rows[n-1].kind == columnar.UpdateBefore {
				continue
			}
			rows = append(rows, draw(columnar.UpdateAfter))
		}
	}
	return rows
}

func TestCalcEqualsRowByRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		filter, notNull, split := rapid.Bool().Draw(t, "filter"), rapid.Bool().Draw(t, "not null"), rapid.Bool().Draw(t, "split")
		spec := CalcSpec{
			Schema: inputSchema, Mem: mem, DropNulls: true,
			Project: []expr.Expr{call(t, "+", column(0), expr.LitInt(1)), column(1)},
		}
		if filter {
			spec.Filter = call(t, "IS NOT FALSE", call(t, ">", column(0), expr.LitInt(0)))
		}
		if notNull {
			spec.NotNull = []int{0}
		}
		if split {
			spec.Key = []int{1}
		}
		c, err := NewCalc(spec)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // twice: scratch memory is used again
			rows := drawRows(t)
			withKinds := rapid.Bool().Draw(t, "kinds")
			if !withKinds {
				for i := range rows {
					rows[i].kind = columnar.Insert
				}
			}
			got, err := run(t, mem, c, rows, withKinds)
			if err != nil {
				t.Fatal(err)
			}
			want := twin(rows, filter, notNull, split)
			for i := range want {
				// An old value that is not known becomes some value where NULL is not allowed.
				if notNull && i < len(got) && want[i].kind.Retracts() && want[i].a == nil && got[i].a != nil {
					want[i].a = got[i].a
				} else if notNull && i < len(got) && got[i].a == nil {
					t.Fatalf("rows %v: row %d is NULL: %v", rows, i, got)
				}
			}
			if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
				t.Fatalf("rows %v:\n%s", rows, diff)
			}
		}
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("%d bytes are not released", n)
		}
	})
}

func TestNotNullEnforcerNamesTheColumn(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	c, err := NewCalc(CalcSpec{Schema: inputSchema, NotNull: []int{0}, Table: "lake.db.orders", Mem: mem})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(t, mem, c, []row{{kind: columnar.Insert}}, true)
	var d *diag.Error
	if !errors.As(err, &d) || d.Code != diag.CodeNullability || !strings.Contains(d.Error(), "table lake.db.orders: column a is NOT NULL") || d.Hint == "" {
		t.Fatalf("got %v", err)
	}
	// The old image of an update may be decoded in part.
	one := int32(1)
	out, err := run(t, mem, c, []row{{kind: columnar.UpdateBefore}, {kind: columnar.UpdateAfter, a: &one}}, true)
	if err != nil || len(out) != 2 {
		t.Fatalf("got %v, %v", out, err)
	}
}

func TestRowsThatTheFilterDropsAreNotComputed(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	spec := CalcSpec{
		Schema: inputSchema, Mem: mem, Table: "sink",
		Filter:  call(t, "<>", column(0), expr.LitInt(0)),
		Project: []expr.Expr{call(t, "/", expr.LitInt(6), column(0)), column(1)},
	}
	c, err := NewCalc(spec)
	if err != nil {
		t.Fatal(err)
	}
	zero, two := int32(0), int32(2)
	out, err := run(t, mem, c, []row{{a: &zero}, {a: &two}}, false)
	if err != nil || fmt.Sprint(out) != "[+I[3, null]]" {
		t.Fatalf("got %v, %v", out, err)
	}
	spec.Filter = nil
	if c, err = NewCalc(spec); err != nil {
		t.Fatal(err)
	}
	_, err = run(t, mem, c, []row{{a: &zero}}, false)
	if want := "error LEAT-2113: table sink: 6 / a: division by zero"; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func BenchmarkCalcFilterAndPartition(b *testing.B) {
	const n = 8192
	schema := &columnar.Schema{Fields: []columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt)},
		{Name: "create_time", Type: columnar.TimestampOf(3)},
		{Name: "status", Type: columnar.Of(columnar.TinyInt)},
	}}
	bs := columnar.NewBuilders(memory.DefaultAllocator, schema)
	for i := range n {
		bs[0].(*array.Int64Builder).Append(int64(i))
		bs[1].(*array.TimestampBuilder).Append(arrow.Timestamp(1704164645678 + int64(i)*1000))
		bs[2].(*array.Int8Builder).Append(int8(i % 4))
	}
	cols := []arrow.Array{bs[0].NewArray(), bs[1].NewArray(), bs[2].NewArray()}
	var in []expr.Expr
	for i, f := range schema.Fields {
		in = append(in, expr.NamedColumn(i, f.Name, f.Type))
	}
	status, err := expr.Cast(in[2], columnar.Of(columnar.Int), false)
	if err != nil {
		b.Fatal(err)
	}
	c, err := NewCalc(CalcSpec{
		Schema:  schema,
		Filter:  call(b, "<>", status, expr.LitInt(3)),
		Project: []expr.Expr{in[0], in[2], call(b, "DATE_FORMAT", in[1], expr.LitString("yyyy-MM-dd"))},
		Key:     []int{2, 0},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range cols {
			a.Retain()
		}
		batch := columnar.NewBatch(schema, nil, append([]arrow.Array(nil), cols...), n)
		if err := c.Process(b.Context(), batch, func(r *columnar.Batch) error { r.Release(); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
