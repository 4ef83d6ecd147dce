package orcfiles

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

func typed(k columnar.Kind, n int) columnar.DataType {
	return columnar.DataType{Kind: k, Nullable: true, Length: n, Precision: n}
}

// flatFields are columns of every flat type that pyarrow keeps as it is, and nested ones.
func flatFields() []columnar.Field {
	str := columnar.StringType()
	list, row, m := columnar.Of(columnar.Array), columnar.Of(columnar.Row), columnar.Of(columnar.Map)
	row.Fields = []columnar.Field{{ID: 51, Name: "a", Type: columnar.Of(columnar.BigInt)}, {ID: 52, Name: "b", Type: str}}
	list.Elem = &row
	key, value := str.NotNull(), columnar.Of(columnar.Double)
	m.Key, m.Elem = &key, &value
	types := []columnar.DataType{
		columnar.Of(columnar.BigInt), columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt),
		columnar.Of(columnar.Int), columnar.Of(columnar.Float), columnar.Of(columnar.Double), columnar.DecimalOf(9, 2),
		columnar.DecimalOf(18, 4), columnar.DecimalOf(38, 10), str, typed(columnar.VarChar, 200), columnar.BytesType(),
		columnar.Of(columnar.Date), columnar.TimestampOf(9), typed(columnar.TimestampLTZ, 9), columnar.TimestampOf(3), list, row, m,
		columnar.Of(columnar.BigInt),
	}
	fields := make([]columnar.Field, len(types))
	for i, dt := range types {
		fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%02d", i), Type: dt}
	}
	return fields
}

// rows makes n rows: column 0 counts, the others are random, some runs, some nulls.
func rows(fields []columnar.Field, n int, seed uint64) []arrow.Array {
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := make([]arrow.Array, len(fields))
	for i, f := range fields {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
		for row := range n {
			if i == 0 {
				b.(*array.Int64Builder).Append(int64(row))
				continue
			}
			fill(b, f.Type, rnd, i%4)
		}
		out[i] = b.NewArray()
	}
	return out
}

// fill appends a value; few says that only a handful differ.
func fill(b array.Builder, t columnar.DataType, rnd *rand.Rand, shape int) {
	if t.Nullable && shape > 0 && rnd.IntN(4*shape) == 0 {
		b.AppendNull()
		return
	}
	v := rnd.Int64() >> (10 + rnd.IntN(50))
	if shape == 2 {
		v = rnd.Int64N(9)
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v&1 == 0)
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		// Small but for a few, which are patched.
		if rnd.IntN(40) > 0 {
			v %= 200
		}
		b.Append(v)
	case *array.Float32Builder:
		b.Append(float32(v) / 7)
	case *array.Float64Builder:
		b.Append(float64(v) / 7)
	case *array.Decimal128Builder:
		if t.Precision > 18 {
			b.Append(decimal128.New(v%(1<<55), rnd.Uint64()))
		} else {
			b.Append(decimal128.FromI64(v % 999_999_999))
		}
	case *array.StringBuilder:
		b.Append(strings.Repeat("é"+strconv.FormatInt(v, 36), rnd.IntN(3)))
	case *array.BinaryBuilder:
		b.Append([]byte(strconv.FormatInt(v, 3)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(uint64(v) % 86_400_000))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 100_000))
	case *array.TimestampBuilder:
		if v = rnd.Int64N(4_000_000_000_000_000_000) - 1_000_000_000_000_000_000; t.Precision <= 3 {
			v /= 1_000_000
		}
		b.Append(arrow.Timestamp(v))
	case *array.ListBuilder:
		b.Append(true)
		for range rnd.IntN(4) {
			fill(b.ValueBuilder(), *t.Elem, rnd, shape)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range rnd.IntN(4) {
			b.KeyBuilder().(*array.StringBuilder).Append(strconv.Itoa(i))
			fill(b.ItemBuilder(), *t.Elem, rnd, shape)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range t.Fields {
			fill(b.FieldBuilder(i), f.Type, rnd, shape)
		}
	default:
		panic(fmt.Sprintf("no values of %s", t))
	}
}
