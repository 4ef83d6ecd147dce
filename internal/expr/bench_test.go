package expr

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

const benchRows = 8192

// ordersBatch is a batch of the guide's orders table: order_id, user_id,
// order_amount, order_status, create_time, note. Every fifth user is NULL.
func ordersBatch() ([]Expr, []arrow.Array) {
	fields := []columnar.Field{
		{Name: "order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
		{Name: "user_id", Type: columnar.Of(columnar.BigInt)},
		{Name: "order_amount", Type: columnar.DecimalOf(18, 2)},
		{Name: "order_status", Type: columnar.Of(columnar.TinyInt)},
		{Name: "create_time", Type: columnar.TimestampOf(3)},
		{Name: "note", Type: columnar.StringType()},
	}
	bs := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	for i := range benchRows {
		bs[0].(*array.Int64Builder).Append(int64(i))
		if i%5 == 0 {
			bs[1].AppendNull()
		} else {
			bs[1].(*array.Int64Builder).Append(int64(i % 1000))
		}
		bs[2].(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i)*37 + 199))
		bs[3].(*array.Int8Builder).Append(int8(i % 6))
		bs[4].(*array.TimestampBuilder).Append(arrow.Timestamp(1704164645678 + int64(i)*2500))
		bs[5].(*array.StringBuilder).Append(fmt.Sprintf("order %d of many", i))
	}
	var exprs []Expr
	var cols []arrow.Array
	for i, f := range fields {
		exprs = append(exprs, NamedColumn(i, f.Name, f.Type))
		cols = append(cols, bs[i].NewArray())
	}
	return exprs, cols
}

func mustCast(e Expr, to columnar.DataType) Expr {
	c, err := Cast(e, to, false)
	if err != nil {
		panic(err)
	}
	return c
}

func kernelCases(c []Expr) []struct {
	name string
	e    Expr
} {
	return []struct {
		name string
		e    Expr
	}{
		{"column", c[5]},
		{"constant", LitString("a constant")},
		{"bigint plus", mustCall("+", c[0], LitInt(1))},
		{"bigint divide", mustCall("/", c[0], LitInt(7))},
		{"decimal plus", mustCall("+", c[2], c[2])},
		{"decimal times", mustCall("*", c[2], LitInt(3))},
		{"decimal divide", mustCall("/", c[2], LitInt(3))},
		{"decimal rescale", mustCast(c[2], columnar.DecimalOf(20, 4))},
		{"compare and or", mustCall("OR", mustCall("AND", mustCall(">", c[0], LitInt(100)), mustCall("<", c[2], LitInt(50))), mustCall("=", c[3], LitInt(3)))},
		{"case", mustCall("CASE", mustCall("=", c[3], LitInt(1)), LitString("paid"), mustCall("=", c[3], LitInt(2)), LitString("sent"), LitString("open"))},
		{"coalesce", mustCall("COALESCE", c[1], LitInt(0))},
		{"concat", mustCall("||", c[5], LitString("!"))},
		{"upper", mustCall("UPPER", c[5])},
		{"like", mustCall("LIKE", c[5], LitString("order 1%"))},
		{"substring", mustCall("SUBSTRING", c[5], LitInt(7))},
		{"bigint to string", mustCast(c[0], columnar.StringType())},
		{"string to timestamp", mustCall("TO_TIMESTAMP", mustCast(c[4], columnar.StringType()))},
		{"date_format day", mustCall("DATE_FORMAT", c[4], LitString("yyyy-MM-dd"))},
		{"date_format time", mustCall("DATE_FORMAT", c[4], LitString("yyyy-MM-dd HH:mm:ss"))},
		{"cast to date", mustCast(c[4], columnar.Of(columnar.Date))},
		{"year", mustCall("YEAR", c[4])},
		{"md5", mustCall("MD5", c[5])},
	}
}

func BenchmarkEval(b *testing.B) {
	exprs, cols := ordersBatch()
	for _, k := range kernelCases(exprs) {
		b.Run(k.name, func(b *testing.B) {
			p, err := Compile([]Expr{k.e}, Env{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				out, err := p.Eval(memory.DefaultAllocator, cols, benchRows)
				if err != nil {
					b.Fatal(err)
				}
				out[0].Release()
			}
			b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// TestAllocsPerBatch holds every kernel to the few allocations of its output array.
func TestAllocsPerBatch(t *testing.T) {
	exprs, cols := ordersBatch()
	for _, k := range kernelCases(exprs) {
		p, err := Compile([]Expr{k.e}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(20, func() {
			out, err := p.Eval(memory.DefaultAllocator, cols, benchRows)
			if err != nil {
				t.Fatal(err)
			}
			out[0].Release()
		})
		if n > 20 {
			t.Errorf("%s: %.0f allocations a batch of %d rows", k.name, n, benchRows)
		}
	}
	filter, err := Compile([]Expr{mustCall(">", exprs[2], LitInt(50))}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	sel := make([]bool, benchRows)
	if n := testing.AllocsPerRun(20, func() {
		if err := filter.EvalFilter(cols, benchRows, sel); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("a filter allocates %.0f times a batch", n)
	}
}
