package nested

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"leat/internal/columnar"
)

// flatTypes are the types of the type system that do not nest, of all sizes
// that are stored in another way.
func flatTypes() []columnar.DataType {
	out := []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt),
		columnar.Of(columnar.Float), columnar.Of(columnar.Double),
		columnar.DecimalOf(1, 0), columnar.DecimalOf(9, 2), columnar.DecimalOf(18, 18), columnar.DecimalOf(19, 5), columnar.DecimalOf(38, 0), columnar.DecimalOf(38, 38),
		{Kind: columnar.Char, Nullable: true, Length: 3},
		{Kind: columnar.VarChar, Nullable: true, Length: 5},
		columnar.StringType(),
		{Kind: columnar.Binary, Nullable: true, Length: 4},
		{Kind: columnar.VarBinary, Nullable: true, Length: 5},
		columnar.BytesType(), columnar.Of(columnar.Date),
		{Kind: columnar.Time, Nullable: true},
		{Kind: columnar.Time, Nullable: true, Precision: 3},
	}
	for _, p := range []int{0, 1, 3, 4, 6, 7, 9} {
		out = append(out, columnar.TimestampOf(p))
		if p%3 == 0 {
			out = append(out, columnar.DataType{Kind: columnar.TimestampLTZ, Nullable: true, Precision: p})
		}
	}
	return out
}

func numbers(texts ...string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = json.Number(s)
	}
	return out
}

func texts(values ...string) []any {
	out := make([]any, len(values))
	for i, s := range values {
		out[i] = s
	}
	return out
}

// edges gives the values at the ends of a flat type, all different. -0.0 is a
// text, as the number would lose its sign on the way to Java.
func edges(t columnar.DataType) []any {
	integers := func(bits uint) []any {
		high := int64(1)<<(bits-1) - 1
		return numbers(fmt.Sprint(-high-1), fmt.Sprint(high), "0", "-1", "1")
	}
	switch t.Kind {
	case columnar.Boolean:
		return []any{true, false}
	case columnar.TinyInt:
		return integers(8)
	case columnar.SmallInt:
		return integers(16)
	case columnar.Int:
		return integers(32)
	case columnar.BigInt:
		return integers(64)
	case columnar.Float:
		return append(numbers("0", "3.4028235e38", "-3.4028235e38", "1.4e-45", "1.1754944e-38", "0.1", "16777216"), texts("-0.0", "NaN", "Infinity", "-Infinity")...)
	case columnar.Double:
		return append(numbers("0", "1.7976931348623157e308", "-1.7976931348623157e308", "4.9e-324", "2.2250738585072014e-308", "0.1", "9007199254740993"), texts("-0.0", "NaN", "Infinity", "-Infinity")...)
	case columnar.Decimal:
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		most.Sub(most, big.NewInt(1))
		var out []any
		for _, n := range []*big.Int{most, new(big.Int).Neg(most), big.NewInt(0), big.NewInt(1), big.NewInt(-1)} {
			out = append(out, decimalText(n, t.Scale))
		}
		return out
	case columnar.Char, columnar.VarChar:
		out := texts("", "a", "ab\x00"[:min(3, t.Length)], strings.Repeat("é", min(t.Length, 20)), strings.Repeat("😀", min(t.Length, 20)), "\ud7ff", "\U0010ffff")
		if t.Length == columnar.MaxLength {
			out = append(out, texts(" ", strings.Repeat("x", 1000), strings.Repeat("\U0010ffff", 40), `q"\'%/=`+"\n")...)
		}
		return out
	case columnar.Binary:
		return texts("00000000", "ffffffff", "80000000", "7fffffff")
	case columnar.VarBinary:
		return texts("", "00", "ff", "0000", strings.Repeat("80", min(t.Length, 300)))
	case columnar.Date:
		return texts("0001-01-01", "1582-10-04", "1582-10-15", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31")
	case columnar.Time:
		return clocks(t, "00:00:00", "00:00:00.001", "12:34:56.789", "23:59:59.999")
	case columnar.Timestamp, columnar.TimestampLTZ:
		all := []string{"1969-12-31T23:59:59.999999999", "1969-12-31T23:59:58.000000001", "1970-01-01T00:00:00", "1970-01-01T00:00:00.123456789", "1900-01-01T00:00:00.5", "2038-01-19T03:14:08"}
		if t.Precision > 6 {
			all = append(all, "1677-09-22T00:00:00.000000001", "2262-04-11T23:47:16.854775807")
		} else {
			all = append(all, "0001-01-01T00:00:00", "1582-10-10T01:02:03.456789", "9999-12-31T23:59:59.999999999")
		}
		return clocks(t, all...)
	default:
		panic(t.String())
	}
}

// edgesIn gives the ends of a type that files of a format keep. ORC has no
// fractions of the last second before 1970; of what Java writes, none of the
// days before the Gregorian calendar either.
func edgesIn(format string, t columnar.DataType, java bool) []any {
	isTime := t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ
	if format != "orc" || !isTime {
		return edges(t)
	}
	return slices.DeleteFunc(edges(t), func(v any) bool {
		s := v.(string)
		return strings.HasPrefix(s, "1969-12-31T23:59:59.") || java && s < "1583"
	})
}

// clocks gives times with the digits of t, all different.
func clocks(t columnar.DataType, values ...string) []any {
	layout := clockLayout
	if t.Kind != columnar.Time {
		layout = dateLayout + "T" + clockLayout
	}
	var out []any
	seen := map[string]bool{}
	for _, v := range values {
		at, err := time.Parse(layout, v)
		if err != nil {
			panic(err)
		}
		if s := at.Format(timeLayout(t)); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// draw makes a random value of any type: an end of the type, or one between.
// nulls is the share of nulls.
func draw(rnd *rand.Rand, format string, t columnar.DataType, nulls float64) any {
	if t.Nullable && rnd.Float64() < nulls {
		return nil
	}
	entries := rnd.IntN(4)
	switch t.Kind {
	case columnar.Array:
		out := []any{}
		for range entries {
			out = append(out, draw(rnd, format, *t.Elem, nulls))
		}
		return out
	case columnar.Map, columnar.Multiset:
		key, value := entryTypes(t)
		out := []any{}
		seen := map[string]bool{}
		for range entries {
			k := draw(rnd, format, key.NotNull(), 0)
			if t.Kind == columnar.Multiset {
				value = columnar.Of(columnar.Int).NotNull()
			}
			if id := text(normal(k, key)); !seen[id] {
				seen[id] = true
				out = append(out, []any{k, draw(rnd, format, value, nulls)})
			}
		}
		return out
	case columnar.Row:
		out := map[string]any{}
		for _, f := range t.Fields {
			out[f.Name] = draw(rnd, format, f.Type, nulls)
		}
		return out
	case columnar.Int, columnar.BigInt:
		if rnd.IntN(2) == 0 {
			return json.Number(fmt.Sprint(int32(rnd.Uint32()) >> rnd.IntN(31)))
		}
	case columnar.VarChar:
		if rnd.IntN(2) == 0 {
			s := fmt.Sprint("v", rnd.IntN(50))
			return s[:min(t.Length, len(s))]
		}
	case columnar.Timestamp, columnar.TimestampLTZ:
		if rnd.IntN(2) == 0 {
			at := time.Unix(rnd.Int64N(8e9)-4e9, rnd.Int64N(1e9)).UTC()
			return at.Format(timeLayout(t))
		}
	default:
	}
	all := edgesIn(format, t, true)
	return all[rnd.IntN(len(all))]
}
