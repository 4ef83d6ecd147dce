package formattest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// Types draws types and numbers the fields of rows.
type Types struct {
	// ID is the last id given to a field of a row.
	ID int
	// Digits are the most fraction digits of times; 0 means 9.
	Digits int
	// Left are kinds left out.
	Left map[columnar.Kind]bool
	// TextBags draws multisets of texts alone.
	TextBags bool
}

var flatKinds = []columnar.Kind{
	columnar.Boolean, columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Float, columnar.Double,
	columnar.Decimal, columnar.VarChar, columnar.VarBinary, columnar.Date, columnar.Time, columnar.Timestamp, columnar.TimestampLTZ,
}

var nestedKinds = []columnar.Kind{
	columnar.Array, columnar.Array, columnar.Array, columnar.Map, columnar.Map, columnar.Multiset, columnar.Row, columnar.Row, columnar.Row, columnar.Variant,
}

// Draw draws a type; depth is how many nested types may stand in one another.
func (g *Types) Draw(t *rapid.T, depth int) columnar.DataType {
	var kinds []columnar.Kind
	for _, k := range flatKinds {
		if !g.Left[k] {
			kinds = append(kinds, k)
		}
	}
	if depth > 0 {
		for _, k := range nestedKinds {
			if !g.Left[k] {
				kinds = append(kinds, k)
			}
		}
	}
	return g.draw(t, rapid.SampledFrom(kinds).Draw(t, "kind"), depth)
}

func (g *Types) draw(t *rapid.T, kind columnar.Kind, depth int) columnar.DataType {
	digits := g.Digits
	if digits == 0 {
		digits = 9
	}
	dt := columnar.DataType{Kind: kind, Nullable: rapid.Bool().Draw(t, "nullable")}
	switch dt.Kind {
	case columnar.Decimal:
		dt.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
		dt.Scale = rapid.IntRange(0, dt.Precision).Draw(t, "scale")
	case columnar.VarChar, columnar.VarBinary:
		dt.Length = columnar.MaxLength
	case columnar.Time:
		dt.Precision = rapid.IntRange(0, min(digits, 3)).Draw(t, "precision")
	case columnar.Timestamp, columnar.TimestampLTZ:
		dt.Precision = rapid.IntRange(0, digits).Draw(t, "precision")
	case columnar.Array:
		e := g.Draw(t, depth-1)
		dt.Elem = &e
	case columnar.Multiset:
		e := columnar.StringType().NotNull()
		if !g.TextBags {
			e = g.Draw(t, depth-1).NotNull()
		}
		dt.Elem = &e
	case columnar.Map:
		k, e := g.Draw(t, 0).NotNull(), g.Draw(t, depth-1)
		dt.Key, dt.Elem = &k, &e
	case columnar.Row:
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			g.ID++
			dt.Fields = append(dt.Fields, columnar.Field{ID: g.ID, Name: fmt.Sprintf("f%d", i), Type: g.Draw(t, depth-1)})
		}
	default:
	}
	return dt
}

// Values makes random values.
type Values struct {
	Rand *rand.Rand
	// Nulls is the share of nulls where there may be some, Entries the most entries of a list.
	Nulls   float64
	Entries int
	// Few says that values repeat, so that dictionaries stay.
	Few bool
}

// Append appends a value of type t to b.
func (s *Values) Append(b array.Builder, t columnar.DataType) {
	if t.Nullable && s.Rand.Float64() < s.Nulls {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.MapBuilder:
		b.Append(true)
		key, value := t.Elem, columnar.Of(columnar.Int).NotNull()
		if t.Kind == columnar.Map {
			key, value = t.Key, *t.Elem
		}
		for range s.Rand.IntN(s.Entries + 1) {
			s.Append(b.KeyBuilder(), key.NotNull())
			s.Append(b.ItemBuilder(), value)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range s.Rand.IntN(s.Entries + 1) {
			s.Append(b.ValueBuilder(), *t.Elem)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			f := columnar.BytesType().NotNull() // those of a VARIANT
			if t.Kind == columnar.Row {
				f = t.Fields[i].Type
			}
			s.Append(b.FieldBuilder(i), f)
		}
	default:
		s.leaf(b, t)
	}
}

func (s *Values) leaf(b array.Builder, t columnar.DataType) {
	v := s.Rand.Int64() >> s.Rand.IntN(60)
	if s.Few {
		v = s.Rand.Int64N(9) - 4
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
		b.Append(v)
	case *array.Float32Builder:
		b.Append(float32(v) / 3)
	case *array.Float64Builder:
		if v%11 == 0 {
			b.Append(math.NaN())
			return
		}
		b.Append(float64(v) / 7)
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v % int64(math.Pow10(min(18, t.Precision)))))
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("värde-%d", v)[:s.Rand.IntN(2)+6])
	case *array.BinaryBuilder:
		b.Append(fmt.Appendf(nil, "\x00%d", v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(uint64(v) % 86_400_000))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 100_000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	}
}

// Columns makes one array of rows values a field.
func (s *Values) Columns(fields []columnar.Field, rows int) []arrow.Array {
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	out := make([]arrow.Array, len(b))
	for i, f := range fields {
		for range rows {
			s.Append(b[i], f.Type)
		}
		out[i] = b[i].NewArray()
		b[i].Release()
	}
	return out
}

// Same reports whether arrays hold the same values, NaN like any other.
func Same(a, b arrow.Array) bool {
	return array.ApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
}
