package duck_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/internal/query/duck"
)

// drawTypes are the types of the columns of random expressions.
var drawTypes = []columnar.DataType{
	columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt), columnar.Of(columnar.Float), columnar.Of(columnar.Double),
	columnar.DecimalOf(4, 2), columnar.DecimalOf(18, 3), columnar.DecimalOf(38, 20), columnar.DecimalOf(38, 0), columnar.StringType(), columnar.BytesType(), columnar.Of(columnar.Date),
	{Kind: columnar.Time, Nullable: true, Precision: 3},
	columnar.TimestampOf(3), columnar.TimestampOf(6),
	{Kind: columnar.TimestampLTZ, Nullable: true, Precision: 6},
	{Kind: columnar.Array, Nullable: true, Elem: new(columnar.Of(columnar.Int))},
	{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "x", Type: columnar.Of(columnar.Int)}, {ID: 1, Name: "y", Type: columnar.StringType()}}},
	{Kind: columnar.Map, Nullable: true, Key: new(columnar.StringType().NotNull()), Elem: new(columnar.Of(columnar.BigInt))},
	{Kind: columnar.Array, Nullable: true, Elem: new(columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "x", Type: columnar.StringType()}}})},
}

// drawColumn draws n values of t, the awkward ones among them.
func drawColumn(r *rapid.T, t columnar.DataType, n int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(t))
	defer b.Release()
	drawValues(r, b, n)
	return b.NewArray()
}

func drawValues(r *rapid.T, b array.Builder, n int) {
	ints := rapid.SampledFrom([]int64{0, 1, -1, 2, 3, 7, 127, -128})
	for range n {
		if rapid.IntRange(0, 5).Draw(r, "null") == 0 {
			b.AppendNull()
			continue
		}
		v := ints.Draw(r, "value")
		switch b := b.(type) {
		case *array.BooleanBuilder:
			b.Append(v > 0)
		case *array.Int8Builder:
			b.Append(int8(v))
		case *array.Int32Builder:
			b.Append(int32(v * rapid.SampledFrom([]int64{1, math.MaxInt32 / 128}).Draw(r, "scale")))
		case *array.Int64Builder:
			b.Append(v * rapid.SampledFrom([]int64{1, math.MaxInt64 / 128}).Draw(r, "scale"))
		case *array.Float32Builder:
			b.Append(float32(drawFloat(r, v)))
		case *array.Float64Builder:
			b.Append(drawFloat(r, v))
		case *array.Decimal128Builder:
			b.Append(decimal128.FromI64(v))
		case *array.StringBuilder:
			b.Append(rapid.SampledFrom([]string{"", "a", "A", "a ", "b", "ab", "aé", "%", "a_", `a\b`, "世界", "a\nb"}).Draw(r, "text"))
		case *array.BinaryBuilder:
			b.Append([]byte(rapid.SampledFrom([]string{"", "a", "\xff", "\x00", "a\x00"}).Draw(r, "bytes")))
		case *array.Date32Builder:
			b.Append(arrow.Date32(v))
		case *array.Time32Builder:
			b.Append(arrow.Time32(v & 127))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(v))
		case *array.MapBuilder:
			b.Append(true)
			for i := range rapid.IntRange(0, 2).Draw(r, "entries") {
				b.KeyBuilder().(*array.StringBuilder).Append(string(rune('a' + i)))
				drawValues(r, b.ItemBuilder(), 1)
			}
		case *array.ListBuilder:
			b.Append(true)
			drawValues(r, b.ValueBuilder(), rapid.IntRange(0, 3).Draw(r, "elements"))
		case *array.StructBuilder:
			b.Append(true)
			for f := range b.NumField() {
				drawValues(r, b.FieldBuilder(f), 1)
			}
		default:
			r.Fatalf("no values of %s", b.Type())
		}
	}
}

func drawFloat(r *rapid.T, v int64) float64 {
	return rapid.SampledFrom([]float64{float64(v), float64(v) / 2, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}).Draw(r, "float")
}

// drawExpr draws an expression of the functions that DuckSQL writes over columns; nil
// if the types that were drawn do not go together.
func drawExpr(r *rapid.T, depth int) expr.Expr {
	column := func() expr.Expr {
		i := rapid.IntRange(0, len(drawTypes)-1).Draw(r, "column")
		return expr.Column(i, drawTypes[i])
	}
	if depth == 0 {
		return column()
	}
	arg := func() expr.Expr { return drawExpr(r, depth-1) }
	// like draws an expression that is likely of the type of e.
	like := func(e expr.Expr) expr.Expr {
		for i, t := range drawTypes {
			if t.EqualIgnoreNull(e.Type()) && rapid.Bool().Draw(r, "same column") {
				return expr.Column(i, t)
			}
		}
		return drawLiteral(r, e.Type())
	}
	call := func(name string, args ...expr.Expr) expr.Expr {
		for _, a := range args {
			if a == nil {
				return nil
			}
		}
		x, err := expr.Call(name, args...)
		if err != nil {
			return nil
		}
		return x
	}
	condition := func() expr.Expr {
		x := column()
		return call(rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}).Draw(r, "comparison"), x, like(x))
	}
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 0, 1:
		return condition()
	case 2:
		return call(rapid.SampledFrom([]string{"AND", "OR"}).Draw(r, "logic"), arg(), arg())
	case 3:
		return call(rapid.SampledFrom([]string{"NOT", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN", "IS NULL", "IS NOT NULL"}).Draw(r, "test"), arg())
	case 4:
		x := column()
		return call(rapid.SampledFrom([]string{"IN", "NOT IN", "BETWEEN"}).Draw(r, "set"), x, like(x), like(x))
	case 5:
		x := column()
		return call("CASE", condition(), x, condition(), like(x), like(x))
	case 6:
		x := column()
		return call(rapid.SampledFrom([]string{"COALESCE", "IFNULL"}).Draw(r, "default"), x, like(x))
	case 7:
		at := 10 // the texts
		return call(rapid.SampledFrom([]string{"LIKE", "NOT LIKE"}).Draw(r, "like"), expr.Column(at, drawTypes[at]), expr.LitString(rapid.SampledFrom([]string{"", "%", "a%", "%b", "_", "a_", "__", `a\b`, `a\_`, "A%"}).Draw(r, "pattern")))
	case 8:
		return drawPart(r)
	default:
		x := column()
		c, err := expr.Cast(x, rapid.SampledFrom(drawTypes).Draw(r, "to"), true)
		if err != nil {
			return nil
		}
		return c
	}
}

// drawPart takes something out of a nested column.
func drawPart(r *rapid.T) expr.Expr {
	at := len(drawTypes) - 4 + rapid.IntRange(0, 3).Draw(r, "nested")
	x := expr.Column(at, drawTypes[at])
	index := expr.LitInt(rapid.Int32Range(1, 4).Draw(r, "position"))
	if x.Type().Kind == columnar.Row {
		return expr.FieldOf(x, rapid.IntRange(0, 1).Draw(r, "field"))
	}
	if x.Type().Kind == columnar.Map {
		index = expr.LitString(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "key"))
	}
	if x.Type().Kind == columnar.Array && rapid.Bool().Draw(r, "position of a column") {
		index = expr.Column(2, drawTypes[2])
	}
	e, err := expr.Element(x, index)
	if err != nil {
		r.Fatal(err)
	}
	if e.Type().Kind == columnar.Row {
		return expr.FieldOf(e, 0)
	}
	return e
}

func drawLiteral(r *rapid.T, t columnar.DataType) expr.Expr {
	a := drawColumn(r, t, 1)
	defer a.Release()
	if a.IsNull(0) {
		return expr.LitNull(t)
	}
	switch v := a.(type) {
	case *array.Boolean:
		return expr.LitBool(v.Value(0))
	case *array.Int32:
		return expr.LitInt(v.Value(0))
	case *array.Int64:
		return expr.LitBigInt(v.Value(0))
	case *array.Float64:
		return expr.LitDouble(v.Value(0))
	case *array.String:
		return expr.LitString(v.Value(0))
	case *array.Binary:
		return expr.LitBytes(v.Value(0))
	case *array.Date32:
		x, err := expr.LitDate(v.Value(0).ToTime().Format("2006-01-02"))
		if err == nil {
			return x
		}
	}
	return expr.LitNull(t)
}

// drawRows is how many rows an expression is compared over.
const drawRows = 20

// TestWrittenExpressionsMeanTheSame compares expressions as DuckDB computes them, and
// as functions of ours inside DuckDB, with the evaluator of jobs.
func TestWrittenExpressionsMeanTheSame(t *testing.T) {
	t.Parallel()
	written := 0
	rapid.Check(t, func(r *rapid.T) {
		rel := &table{schema: schemaOf(drawTypes...), batches: [][]arrow.Array{nil}}
		for _, typ := range drawTypes {
			rel.batches[0] = append(rel.batches[0], drawColumn(r, typ, drawRows))
		}
		q := &duck.Query{Relations: []duck.Relation{rel}, Columns: &columnar.Schema{}, Settings: duck.Settings{Threads: 1}}
		var want []string
		var list []string
		for range 12 {
			e := drawExpr(r, rapid.IntRange(1, 3).Draw(r, "depth"))
			if e == nil {
				continue
			}
			p, err := expr.Compile([]expr.Expr{e}, expr.Env{})
			if err != nil {
				r.Fatalf("%s: %v", expr.String(e), err)
			}
			out, err := p.Eval(memory.DefaultAllocator, rel.batches[0], drawRows)
			if err != nil {
				continue // a value that cannot be computed fails there too
			}
			texts := []string{duckCall(e, q)}
			if text, ok := expr.DuckSQL(e, func(i int) string { return "c" + strconv.Itoa(i) }); ok {
				texts = append(texts, text)
				written++
			}
			for _, text := range texts {
				f := columnar.Field{ID: len(list), Name: expr.String(e) + " as " + text, Type: e.Type()}
				q.Columns.Fields = append(q.Columns.Fields, f)
				list = append(list, text)
				want = append(want, shown(out[0]))
			}
		}
		if len(list) == 0 {
			return
		}
		q.SQL = "SELECT " + strings.Join(list, ", ") + " FROM leat_table_0()"
		got := make([][]arrow.Array, len(list))
		err := q.Run(t.Context(), func(b *columnar.Batch) error {
			for i, c := range b.Cols {
				c.Retain()
				got[i] = append(got[i], c)
			}
			return nil
		})
		if err != nil {
			r.Fatalf("%s: %v", q.SQL, err)
		}
		for i, parts := range got {
			all, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				r.Fatal(err)
			}
			if diff := cmp.Diff(want[i], shown(all)); diff != "" {
				r.Errorf("%s: %s", q.Columns.Fields[i].Name, diff)
			}
		}
	})
	if written == 0 {
		t.Error("no expression was written in DuckDB's SQL")
	}
}

// duckCall adds e to q as a function over all columns and gives its call.
func duckCall(e expr.Expr, q *duck.Query) string {
	args := make([]string, len(drawTypes))
	for i := range args {
		args[i] = "c" + strconv.Itoa(i)
	}
	q.Functions = append(q.Functions, duck.Function{Args: drawTypes, Expr: e})
	return fmt.Sprintf("leat_function_%d(%s)", len(q.Functions)-1, strings.Join(args, ", "))
}

// shown writes the values of a column; negative zero is zero there.
func shown(a arrow.Array) string {
	var b strings.Builder
	for i := range a.Len() {
		if a.IsNull(i) {
			b.WriteString("NULL\n")
			continue
		}
		fmt.Fprintf(&b, "%q\n", a.ValueStr(i))
	}
	return b.String()
}
