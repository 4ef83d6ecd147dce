package datagen

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
)

// field makes the values of one column.
type field struct {
	// salt tells the columns of a table apart.
	salt uint64
	// fill appends n values from row r.row on.
	fill func(b array.Builder, r numbers, n int)
}

// numbers gives the random numbers of a column, row by row.
type numbers struct {
	seed uint64
	base int64
	row  int64
}

// at gives number i of row k (SplitMix64 of a counter).
func (r numbers) at(k, i int) uint64 {
	z := r.seed + (uint64(r.row)+uint64(k))*0x9e3779b97f4a7c15 + uint64(i)*0xd1342543de82ef95
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit gives number i of row k in [0, 1).
func (r numbers) unit(k, i int) float64 { return float64(r.at(k, i)>>11) / (1 << 53) }

// between gives number i of row k from low to high, both included.
func (r numbers) between(k, i int, low, high int64) int64 {
	span := uint64(high) - uint64(low) + 1
	if span == 0 {
		return int64(r.at(k, i))
	}
	return int64(uint64(low) + r.at(k, i)%span)
}

// settings reads the attributes of one column and collects their errors.
type settings struct {
	t      *connect.Table
	column columnar.Field
	values map[string]configs.Value
	errs   diag.List
	used   map[string]bool
}

func (s *settings) key(attribute string) string { return "fields." + s.column.Name + "." + attribute }

// text gives the value of an attribute, and whether it is set.
func (s *settings) text(attribute string) (string, bool) {
	s.used[attribute] = true
	v, ok := s.values[attribute]
	return v.Text, ok
}

func get[T any](s *settings, attribute string, def T, parse func(string) (T, error), hint string) T {
	text, ok := s.text(attribute)
	if !ok {
		return def
	}
	v, err := parse(text)
	if err != nil {
		s.errs = append(s.errs, optionError(s.t, s.key(attribute), err.Error(), hint))
		return def
	}
	return v
}

func (s *settings) fail(attribute, msg, hint string) {
	s.errs = append(s.errs, optionError(s.t, s.key(attribute), msg, hint))
}

// compileField gives the generator of column i and the number of rows it lasts, -1 for ever.
func compileField(t *connect.Table, i int, f columnar.Field, values map[string]configs.Value) (field, int64, diag.List) {
	s := &settings{t: t, column: f, values: values, used: map[string]bool{}}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", i, f.Name)
	made := field{salt: h.Sum64()}
	count := int64(-1)
	switch kind, set := s.text("kind"); {
	case !set || kind == "random":
		made.fill = s.random()
	case kind == "sequence":
		made.fill, count = s.sequence()
	default:
		s.fail("kind", fmt.Sprintf("'%s' is not a kind", kind), "write 'random' or 'sequence'")
	}
	for a := range values {
		if !s.used[a] {
			s.errs = append(s.errs, &diag.Error{
				Domain: diag.User, Code: diag.CodeUnknownOption, Pos: values[a].KeyPos, Table: t.Name, Option: s.key(a),
				Msg:  fmt.Sprintf("a column of type %s that is made this way does not take it", f.Type.AsNullable()),
				Hint: "use kind, null-rate, min, max, length, var-len or max-past; start and end for a sequence",
			})
		}
	}
	return made, count, s.errs
}

type fill = func(b array.Builder, r numbers, n int)

// random gives the generator of random values, with NULL at the null-rate.
func (s *settings) random() fill {
	rate := get(s, "null-rate", 0, configs.ParseDouble, "write a number from 0 to 1")
	if rate < 0 || rate > 1 || rate > 0 && !s.column.Type.Nullable {
		s.fail("null-rate", fmt.Sprintf("%v cannot be", rate), "write a number from 0 to 1, and 0 for a NOT NULL column")
	}
	value := s.randomValue()
	if value == nil {
		s.errs = append(s.errs, &diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Table: s.t.Name,
			Msg:  fmt.Sprintf("datagen makes no values of type %s for column %s", s.column.Type.AsNullable(), s.column.Name),
			Hint: "use a type that is not nested",
		})
		return nil
	}
	return func(b array.Builder, r numbers, n int) {
		for k := range n {
			if rate > 0 && r.unit(k, nullDraw) < rate {
				b.AppendNull()
				continue
			}
			value(b, r, k)
		}
	}
}

// nullDraw is the number of a row that decides about NULL.
const nullDraw = 1 << 20

func (s *settings) randomValue() func(b array.Builder, r numbers, k int) {
	t := s.column.Type
	switch t.Kind {
	case columnar.Boolean:
		return func(b array.Builder, r numbers, k int) { b.(*array.BooleanBuilder).Append(r.at(k, 0)&1 == 1) }
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt:
		low, high := s.integerRange(bounds(t.Kind))
		put := integerPutter(t.Kind)
		return func(b array.Builder, r numbers, k int) { put(b, r.between(k, 0, low, high)) }
	case columnar.Float:
		low, high := s.floatRange(math.MaxFloat32)
		return func(b array.Builder, r numbers, k int) {
			b.(*array.Float32Builder).Append(float32(low + (high-low)*r.unit(k, 0)))
		}
	case columnar.Double:
		low, high := s.floatRange(math.MaxFloat64 / 2)
		return func(b array.Builder, r numbers, k int) {
			b.(*array.Float64Builder).Append(low + (high-low)*r.unit(k, 0))
		}
	case columnar.Decimal:
		return s.randomDecimal()
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return s.randomText()
	case columnar.Date, columnar.Time, columnar.Timestamp, columnar.TimestampLTZ:
		return s.randomMoment()
	default:
		return nil
	}
}

func bounds(k columnar.Kind) (low, high int64) {
	bits := map[columnar.Kind]int{columnar.TinyInt: 8, columnar.SmallInt: 16, columnar.Int: 32, columnar.BigInt: 64}[k]
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

func (s *settings) integerRange(low, high int64) (a, b int64) {
	const hint = "write whole numbers that the column holds, min not above max"
	a = get(s, "min", low, configs.ParseInt, hint)
	b = get(s, "max", high, configs.ParseInt, hint)
	if a > b || a < low || b > high {
		s.fail("max", fmt.Sprintf("%d to %d is not a range of %s", a, b, s.column.Type.AsNullable()), hint)
	}
	return a, b
}

func (s *settings) floatRange(limit float64) (low, high float64) {
	const hint = "write numbers that the column holds, min not above max"
	low = get(s, "min", -limit, configs.ParseDouble, hint)
	high = get(s, "max", limit, configs.ParseDouble, hint)
	if low > high {
		s.fail("max", fmt.Sprintf("%v is below min", high), hint)
	}
	return low, high
}

func integerPutter(k columnar.Kind) func(array.Builder, int64) {
	switch k {
	case columnar.TinyInt:
		return func(b array.Builder, v int64) { b.(*array.Int8Builder).Append(int8(v)) }
	case columnar.SmallInt:
		return func(b array.Builder, v int64) { b.(*array.Int16Builder).Append(int16(v)) }
	case columnar.Int:
		return func(b array.Builder, v int64) { b.(*array.Int32Builder).Append(int32(v)) }
	default:
		return func(b array.Builder, v int64) { b.(*array.Int64Builder).Append(v) }
	}
}

// randomDecimal gives decimals of at most 18 digits, unless min and max are given.
func (s *settings) randomDecimal() func(b array.Builder, r numbers, k int) {
	t := s.column.Type
	limit := int64(math.Pow10(min(t.Precision, 18))) - 1
	scale := math.Pow10(t.Scale)
	const hint = "write numbers that the column holds, min not above max"
	low := get(s, "min", float64(-limit)/scale, configs.ParseDouble, hint)
	high := get(s, "max", float64(limit)/scale, configs.ParseDouble, hint)
	a, b := int64(max(low*scale, float64(-limit))), int64(min(high*scale, float64(limit)))
	if a > b {
		s.fail("max", fmt.Sprintf("%v is below min", high), hint)
	}
	return func(bld array.Builder, r numbers, k int) {
		bld.(*array.Decimal128Builder).Append(decimal128.FromI64(r.between(k, 0, a, b)))
	}
}

// randomText gives hexadecimal digits (text) or bytes.
func (s *settings) randomText() func(b array.Builder, r numbers, k int) {
	t := s.column.Type
	fixed := t.Kind == columnar.Char || t.Kind == columnar.Binary
	length := min(100, t.Length)
	if fixed {
		length = t.Length
	}
	const hint = "write a length that the column holds; CHAR and BINARY have their own"
	n := int(get(s, "length", int64(length), configs.ParseInt, hint))
	if n < 0 || n > t.Length || fixed && n != t.Length {
		s.fail("length", fmt.Sprintf("%s does not hold %d", t.AsNullable(), n), hint)
		n = length
	}
	varies := get(s, "var-len", false, configs.ParseBool, "write 'true' or 'false'")
	if varies && (fixed || n < 1) {
		s.fail("var-len", "the length is fixed", "leave it out, or use STRING, VARCHAR, BYTES or VARBINARY")
		varies = false
	}
	text := t.IsText()
	buf := make([]byte, n)
	return func(b array.Builder, r numbers, k int) {
		out := buf
		if varies {
			out = buf[:r.between(k, lengthDraw, 1, int64(n))]
		}
		for i := range out {
			x := r.at(k, i>>3) >> (8 * (i & 7))
			if text {
				out[i] = "0123456789abcdef"[x&15]
			} else {
				out[i] = byte(x)
			}
		}
		switch v := b.(type) {
		case *array.StringBuilder:
			v.BinaryBuilder.Append(out)
		case *array.BinaryBuilder:
			v.Append(out)
		}
	}
}

// lengthDraw is the number of a row that decides about the length.
const lengthDraw = nullDraw + 1

// randomMoment gives the moment the job began, less up to max-past for timestamps.
func (s *settings) randomMoment() func(b array.Builder, r numbers, k int) {
	t := s.column.Type
	switch t.Kind {
	case columnar.Date:
		return func(b array.Builder, r numbers, _ int) {
			b.(*array.Date32Builder).Append(arrow.Date32FromTime(time.UnixMilli(r.base).UTC()))
		}
	case columnar.Time:
		return func(b array.Builder, r numbers, _ int) {
			b.(*array.Time32Builder).Append(arrow.Time32(r.base % (24 * 3600 * 1000)))
		}
	default:
		past := get(s, "max-past", 0, configs.ParseDuration, "write a duration such as '1 d'").Milliseconds()
		if past < 0 {
			s.fail("max-past", "a duration in the past is not below 0", "write a duration such as '1 d'")
			past = 0
		}
		factor := int64(time.Millisecond / columnar.TimestampUnit(t.Precision).Multiplier())
		return func(b array.Builder, r numbers, k int) {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp((r.base - r.between(k, 0, 0, past)) * factor))
		}
	}
}

// sequence counts from start to end.
func (s *settings) sequence() (fill, int64) {
	const hint = "give 'fields.NAME.start' and 'fields.NAME.end', two whole numbers, for a sequence"
	t := s.column.Type
	var bound [2]int64
	for i, a := range []string{"start", "end"} {
		if _, ok := s.text(a); !ok {
			s.fail(a, "a sequence needs it", hint)
			continue
		}
		bound[i] = get(s, a, 0, configs.ParseInt, hint)
	}
	start, end := bound[0], bound[1]
	if end < start {
		s.fail("end", fmt.Sprintf("%d is below start", end), hint)
		return nil, -1
	}
	put := s.sequencePutter(start, end)
	if put == nil {
		s.fail("kind", fmt.Sprintf("%s cannot count", t.AsNullable()), "use a number or a string for a sequence")
		return nil, -1
	}
	return func(b array.Builder, r numbers, n int) {
		for k := range n {
			put(b, start+r.row+int64(k))
		}
	}, end - start + 1
}

func (s *settings) sequencePutter(start, end int64) func(array.Builder, int64) {
	t := s.column.Type
	switch t.Kind {
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt:
		if low, high := bounds(t.Kind); start < low || end > high {
			s.fail("end", fmt.Sprintf("%s does not hold %d to %d", t.AsNullable(), start, end), "use BIGINT")
		}
		return integerPutter(t.Kind)
	case columnar.Float:
		return func(b array.Builder, v int64) { b.(*array.Float32Builder).Append(float32(v)) }
	case columnar.Double:
		return func(b array.Builder, v int64) { b.(*array.Float64Builder).Append(float64(v)) }
	case columnar.Decimal:
		one := decimal128.GetScaleMultiplier(t.Scale)
		return func(b array.Builder, v int64) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(v).Mul(one)) }
	case columnar.Char, columnar.VarChar:
		return func(b array.Builder, v int64) { b.(*array.StringBuilder).Append(strconv.FormatInt(v, 10)) }
	default:
		return nil
	}
}
