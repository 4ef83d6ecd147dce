package expr

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// The kernels are compared with plain twins, row by row, over columns that may
// hold NULL and may be a slice of a longer array.

// drawnColumn is a random column: its array, and per row a value or nil.
type drawnColumn[T any] struct {
	t      columnar.DataType
	values []*T
	array  arrow.Array
}

func drawColumn[T any](t *rapid.T, mem memory.Allocator, dt columnar.DataType, n int, gen *rapid.Generator[T], put func(array.Builder, T)) *drawnColumn[T] {
	skip := rapid.IntRange(0, 9).Draw(t, "offset")
	nulls := rapid.Bool().Draw(t, "nulls")
	b := array.NewBuilder(mem, columnar.ArrowType(dt))
	defer b.Release()
	c := &drawnColumn[T]{t: dt}
	for i := range n + skip {
		if nulls && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			b.AppendNull()
			if i >= skip {
				c.values = append(c.values, nil)
			}
			continue
		}
		v := gen.Draw(t, "value")
		put(b, v)
		if i >= skip {
			c.values = append(c.values, &v)
		}
	}
	whole := b.NewArray()
	defer whole.Release()
	c.array = array.NewSlice(whole, int64(skip), int64(n+skip))
	return c
}

// check evaluates e over cols, twice, and compares row i with want(i): the text
// that flinkText gives.
func check(t *rapid.T, e Expr, err error, n int, cols []arrow.Array, want func(i int) string) {
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	p, err := Compile([]Expr{e}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := p.Eval(mem, cols, n)
		if err != nil {
			t.Fatalf("%s: %v", String(e), err)
		}
		if out[0].Len() != n || !arrow.TypeEqual(out[0].DataType(), columnar.ArrowType(e.Type())) {
			t.Fatalf("%s: got %d rows of %s", String(e), out[0].Len(), out[0].DataType())
		}
		for i := range n {
			if got, w := flinkText(out[0], e.Type(), i), want(i); got != w {
				t.Fatalf("%s, row %d: got %s, want %s", String(e), i, got, w)
			}
		}
		out[0].Release()
	}
	for _, c := range cols {
		c.Release()
	}
	if left := mem.CurrentAlloc(); left != 0 {
		t.Fatalf("%d bytes are not released", left)
	}
}

func rowCount(t *rapid.T) int { return rapid.IntRange(0, 20).Draw(t, "rows") }

func putInt(k columnar.Kind) func(array.Builder, int64) {
	return func(b array.Builder, v int64) {
		switch x := b.(type) {
		case *array.Int8Builder:
			x.Append(int8(v))
		case *array.Int16Builder:
			x.Append(int16(v))
		case *array.Int32Builder:
			x.Append(int32(v))
		case *array.Int64Builder:
			x.Append(v)
		default:
			panic(fmt.Sprintf("no integer of kind %d", k))
		}
	}
}

var intBits = map[columnar.Kind]int{columnar.TinyInt: 8, columnar.SmallInt: 16, columnar.Int: 32, columnar.BigInt: 64}

func drawInts(t *rapid.T, k columnar.Kind, n int) *drawnColumn[int64] {
	low, high := int64(-1)<<(intBits[k]-1), int64(1)<<(intBits[k]-1)-1
	gen := rapid.OneOf(rapid.Int64Range(low, high), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{low, high}))
	return drawColumn(t, memory.DefaultAllocator, columnar.Of(k), n, gen, putInt(k))
}

func wrapTo(v *big.Int, bits int) string {
	m := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	r := new(big.Int).Mod(v, m)
	if r.Bit(bits-1) == 1 {
		r.Sub(r, m)
	}
	return r.String()
}

func TestIntegerArithmeticEqualsBigNumbers(t *testing.T) {
	t.Parallel()
	kinds := []columnar.Kind{columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt}
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		ka, kb := rapid.SampledFrom(kinds).Draw(t, "left"), rapid.SampledFrom(kinds).Draw(t, "right")
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(t, "op")
		a, b := drawInts(t, ka, n), drawInts(t, kb, n)
		right := Column(1, b.t)
		divisor := op == "/" || op == "%"
		if divisor {
			right = mustCall("NULLIF", right, LitInt(0))
			if kb < columnar.Int { // CASE keeps the narrow type
				right = mustCall("CASE", mustCall("=", Column(1, b.t), LitInt(0)), LitNull(b.t), Column(1, b.t))
			}
		}
		e, err := Call(op, Column(0, a.t), right)
		check(t, e, err, n, []arrow.Array{a.array, b.array}, func(i int) string {
			if a.values[i] == nil || b.values[i] == nil || divisor && *b.values[i] == 0 {
				return "null"
			}
			x, y, r := big.NewInt(*a.values[i]), big.NewInt(*b.values[i]), new(big.Int)
			switch op {
			case "+":
				r.Add(x, y)
			case "-":
				r.Sub(x, y)
			case "*":
				r.Mul(x, y)
			case "/":
				r.Quo(x, y)
			default:
				r.Rem(x, y)
			}
			return wrapTo(r, intBits[max(ka, kb)])
		})
	})
}

func drawDecimals(t *rapid.T, p, s, n int) *drawnColumn[string] {
	gen := rapid.Custom(func(t *rapid.T) string {
		digits := rapid.IntRange(1, p).Draw(t, "digits")
		var b strings.Builder
		if rapid.Bool().Draw(t, "negative") {
			b.WriteByte('-')
		}
		for range digits {
			b.WriteByte(rapid.SampledFrom([]byte("0123456789599")).Draw(t, "digit"))
		}
		return b.String()
	})
	return drawColumn(t, memory.DefaultAllocator, columnar.DecimalOf(p, s), n, gen, func(b array.Builder, text string) {
		v, ok := new(big.Int).SetString(text, 10)
		if !ok {
			panic(text)
		}
		b.(*array.Decimal128Builder).Append(decimal128.FromBigInt(v))
	})
}

func ratOf(unscaled string, scale int) *big.Rat {
	n, ok := new(big.Int).SetString(unscaled, 10)
	if !ok {
		panic(unscaled)
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
}

// roundRat gives v at a scale, half away from zero.
func roundRat(v *big.Rat, scale int) *big.Rat {
	ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil))
	if scale < 0 {
		ten.Inv(ten)
	}
	x := new(big.Rat).Mul(v, ten)
	x.Abs(x)
	x.Add(x, big.NewRat(1, 2))
	q := new(big.Int).Quo(x.Num(), x.Denom())
	if v.Sign() < 0 {
		q.Neg(q)
	}
	return new(big.Rat).Quo(new(big.Rat).SetInt(q), ten)
}

// decimalText gives v as a decimal(p,s), or null if it does not fit.
func decimalText(v *big.Rat, p, s int) string {
	r := roundRat(v, s)
	limit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p-s)), nil))
	if new(big.Rat).Abs(r).Cmp(limit) >= 0 {
		return "null"
	}
	return strings.TrimPrefix(r.FloatString(s), "-") // sign: see signText
}

func signText(v *big.Rat, p, s int) string {
	text := decimalText(v, p, s)
	if text != "null" && roundRat(v, s).Sign() < 0 {
		return "-" + text
	}
	return text
}

// significant rounds v to 38 digits, as Flink does with quotients.
func significant(v *big.Rat) *big.Rat {
	if v.Sign() == 0 {
		return v
	}
	abs := new(big.Rat).Abs(v)
	digits := len(new(big.Int).Quo(abs.Num(), abs.Denom()).String())
	if abs.Cmp(big.NewRat(1, 1)) < 0 {
		digits = 0
		for ten := big.NewRat(1, 10); abs.Cmp(ten) < 0; ten.Mul(ten, big.NewRat(1, 10)) {
			digits--
		}
	}
	return roundRat(v, 38-digits)
}

func TestDecimalArithmeticEqualsRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		p1, p2 := rapid.IntRange(1, 38).Draw(t, "p1"), rapid.IntRange(1, 38).Draw(t, "p2")
		s1, s2 := rapid.IntRange(0, p1).Draw(t, "s1"), rapid.IntRange(0, p2).Draw(t, "s2")
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(t, "op")
		a, b := drawDecimals(t, p1, s1, n), drawDecimals(t, p2, s2, n)
		right := Column(1, b.t)
		if op == "/" || op == "%" {
			right = mustCall("NULLIF", right, LitInt(0))
		}
		e, err := Call(op, Column(0, a.t), right)
		check(t, e, err, n, []arrow.Array{a.array, b.array}, func(i int) string {
			if a.values[i] == nil || b.values[i] == nil {
				return "null"
			}
			x, y, r := ratOf(*a.values[i], s1), ratOf(*b.values[i], s2), new(big.Rat)
			switch op {
			case "+":
				r.Add(x, y)
			case "-":
				r.Sub(x, y)
			case "*":
				r.Mul(x, y)
			default:
				if y.Sign() == 0 {
					return "null"
				}
				r.Quo(x, y)
				if op == "/" {
					r = significant(r)
					break
				}
				q := new(big.Int).Quo(r.Num(), r.Denom())
				r.Sub(x, new(big.Rat).Mul(y, new(big.Rat).SetInt(q)))
			}
			return signText(r, e.Type().Precision, e.Type().Scale)
		})
	})
}

func TestDecimalCastsEqualRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		p1, p2 := rapid.IntRange(1, 38).Draw(t, "p1"), rapid.IntRange(1, 38).Draw(t, "p2")
		s1, s2 := rapid.IntRange(0, p1).Draw(t, "s1"), rapid.IntRange(0, p2).Draw(t, "s2")
		a := drawDecimals(t, p1, s1, n)
		e, err := Cast(Column(0, a.t), columnar.DecimalOf(p2, s2), false)
		viaText := rapid.Bool().Draw(t, "via text")
		if viaText {
			if e, err = Cast(Column(0, a.t), columnar.StringType(), false); err == nil {
				e, err = Cast(e, columnar.DecimalOf(p2, s2), true)
			}
		}
		check(t, e, err, n, []arrow.Array{a.array}, func(i int) string {
			if a.values[i] == nil {
				return "null"
			}
			return signText(ratOf(*a.values[i], s1), p2, s2)
		})
	})
}

func TestDecimalComparisonEqualsRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		p1, p2 := rapid.IntRange(1, 38).Draw(t, "p1"), rapid.IntRange(1, 38).Draw(t, "p2")
		s1, s2 := rapid.IntRange(0, p1).Draw(t, "s1"), rapid.IntRange(0, p2).Draw(t, "s2")
		a, b := drawDecimals(t, p1, s1, n), drawDecimals(t, p2, s2, n)
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}).Draw(t, "op")
		e, err := Call(op, Column(0, a.t), Column(1, b.t))
		check(t, e, err, n, []arrow.Array{a.array, b.array}, func(i int) string {
			x, y := a.values[i], b.values[i]
			if x == nil || y == nil {
				return compareNulls(op, x == nil, y == nil)
			}
			return fmt.Sprint(holds(op, ratOf(*x, s1).Cmp(ratOf(*y, s2))))
		})
	})
}

func compareNulls(op string, a, b bool) string {
	switch op {
	case "IS DISTINCT FROM":
		return fmt.Sprint(a != b)
	case "IS NOT DISTINCT FROM":
		return fmt.Sprint(a == b)
	default:
		return "null"
	}
}

func holds(op string, c int) bool {
	switch op {
	case "=", "IS NOT DISTINCT FROM":
		return c == 0
	case "<>", "IS DISTINCT FROM":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}

func drawBools(t *rapid.T, n int) *drawnColumn[bool] {
	return drawColumn(t, memory.DefaultAllocator, columnar.Of(columnar.Boolean), n, rapid.Bool(), func(b array.Builder, v bool) {
		b.(*array.BooleanBuilder).Append(v)
	})
}

// TestLogicHasThreeValues builds random trees of AND, OR, NOT and IS … over three columns.
func TestLogicHasThreeValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		cols := []*drawnColumn[bool]{drawBools(t, n), drawBools(t, n), drawBools(t, n)}
		e, plain := drawLogic(t, cols, 4)
		check(t, e, nil, n, []arrow.Array{cols[0].array, cols[1].array, cols[2].array}, func(i int) string {
			if v := plain(i); v != nil {
				return fmt.Sprint(*v)
			}
			return "null"
		})
	})
}

func drawLogic(t *rapid.T, cols []*drawnColumn[bool], depth int) (Expr, func(i int) *bool) {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		c := rapid.IntRange(0, len(cols)-1).Draw(t, "column")
		return Column(c, cols[c].t), func(i int) *bool { return cols[c].values[i] }
	}
	a, pa := drawLogic(t, cols, depth-1)
	yes, no := true, false
	switch op := rapid.SampledFrom([]string{"AND", "OR", "NOT", "IS TRUE", "IS NOT FALSE", "IS NULL", "CASE", "COALESCE"}).Draw(t, "op"); op {
	case "NOT":
		return mustCall(op, a), func(i int) *bool {
			v := pa(i)
			switch {
			case v == nil:
				return nil
			case *v:
				return &no
			}
			return &yes
		}
	case "IS TRUE", "IS NOT FALSE", "IS NULL":
		return mustCall(op, a), func(i int) *bool {
			v := pa(i)
			r := op == "IS NULL" && v == nil || op == "IS TRUE" && v != nil && *v || op == "IS NOT FALSE" && (v == nil || *v)
			return &r
		}
	case "COALESCE":
		b, pb := drawLogic(t, cols, depth-1)
		return mustCall(op, a, b), func(i int) *bool {
			if v := pa(i); v != nil {
				return v
			}
			return pb(i)
		}
	case "CASE":
		b, pb := drawLogic(t, cols, depth-1)
		c, pc := drawLogic(t, cols, depth-1)
		return mustCall(op, a, b, c), func(i int) *bool {
			if v := pa(i); v != nil && *v {
				return pb(i)
			}
			return pc(i)
		}
	default:
		b, pb := drawLogic(t, cols, depth-1)
		decides := op == "OR"
		return mustCall(op, a, b), func(i int) *bool {
			x, y := pa(i), pb(i)
			switch {
			case x != nil && *x == decides || y != nil && *y == decides:
				return &decides
			case x == nil || y == nil:
				return nil
			}
			r := !decides
			return &r
		}
	}
}

func TestInEqualsOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		x, y := drawInts(t, columnar.TinyInt, n), drawInts(t, columnar.TinyInt, n)
		op := rapid.SampledFrom([]string{"IN", "NOT IN"}).Draw(t, "op")
		e, err := Call(op, Column(0, x.t), Column(1, y.t), LitInt(2), LitInt(-1))
		check(t, e, err, n, []arrow.Array{x.array, y.array}, func(i int) string {
			v, w := x.values[i], y.values[i]
			if v == nil {
				return "null"
			}
			if *v == 2 || *v == -1 || w != nil && *v == *w {
				return fmt.Sprint(op == "IN")
			}
			if w == nil {
				return "null"
			}
			return fmt.Sprint(op != "IN")
		})
	})
}

func drawText(t *rapid.T, n int) *drawnColumn[string] {
	gen := rapid.StringOfN(rapid.SampledFrom([]rune("abAB%_é漢 ")), 0, 8, -1)
	return drawColumn(t, memory.DefaultAllocator, columnar.StringType(), n, gen, func(b array.Builder, v string) {
		b.(*array.StringBuilder).Append(v)
	})
}

// likeTwin matches by trying everything.
func likeTwin(s, p []rune) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case p[0] == '%':
		return likeTwin(s, p[1:]) || len(s) > 0 && likeTwin(s[1:], p)
	default:
		return len(s) > 0 && (p[0] == '_' || p[0] == s[0]) && likeTwin(s[1:], p[1:])
	}
}

func substringTwin(s []rune, start, length int) string {
	if start < 0 {
		start += len(s) + 1
	} else if start == 0 {
		start = 1
	}
	var out []rune
	for i, r := range s {
		if i+1 >= start && i+1 < start+length {
			out = append(out, r)
		}
	}
	return string(out)
}

func TestTextFunctionsEqualRuneByRune(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		a, b := drawText(t, n), drawText(t, n)
		start, length := rapid.IntRange(-10, 10).Draw(t, "start"), rapid.IntRange(0, 10).Draw(t, "length")
		ca, cb, cs, cl := Column(0, a.t), Column(1, b.t), LitInt(int32(start)), LitInt(int32(length))
		functions := []struct {
			e    Expr
			twin func(x, y string) string
		}{
			{mustCall("LIKE", ca, cb), func(x, y string) string { return fmt.Sprint(likeTwin([]rune(x), []rune(y))) }},
			{mustCall("SUBSTRING", ca, cs, cl), func(x, _ string) string { return substringTwin([]rune(x), start, length) }},
			{mustCall("||", ca, cb), func(x, y string) string { return x + y }},
			{mustCall("REPLACE", ca, cb, LitString("<>")), func(x, y string) string {
				if y == "" {
					return x
				}
				return strings.ReplaceAll(x, y, "<>")
			}},
			{mustCall("UPPER", ca), func(x, _ string) string { return strings.ToUpper(x) }},
			{mustCall("LOWER", ca), func(x, _ string) string { return strings.ToLower(x) }},
			{mustCall("REVERSE", ca), func(x, _ string) string {
				r := []rune(x)
				for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
					r[i], r[j] = r[j], r[i]
				}
				return string(r)
			}},
			{mustCall("CHAR_LENGTH", ca), func(x, _ string) string { return fmt.Sprint(utf8.RuneCountInString(x)) }},
			{mustCall("POSITION", cb, ca), func(x, y string) string {
				i := strings.Index(x, y)
				return fmt.Sprint(utf8.RuneCountInString(x[:max(i, 0)]) + min(i, 0) + 1)
			}},
			{mustCall("TRIM", ca), func(x, _ string) string { return strings.Trim(x, " ") }},
			{mustCall("LPAD", ca, cl, LitString("xy")), func(x, _ string) string {
				r := []rune(x)
				if len(r) >= length {
					return string(r[:length])
				}
				return strings.Repeat("xy", length)[:length-len(r)] + x
			}},
			{mustCall(">", ca, cb), func(x, y string) string { return fmt.Sprint(x > y) }},
			{mustCall("GREATEST", ca, cb), func(x, y string) string { return max(x, y) }},
		}
		f := rapid.SampledFrom(functions).Draw(t, "function")
		two := len(References(f.e)) == 2
		check(t, f.e, nil, n, []arrow.Array{a.array, b.array}, func(i int) string {
			x, y := a.values[i], b.values[i]
			if x == nil || two && y == nil {
				return "null"
			}
			if y == nil {
				return f.twin(*x, "")
			}
			return f.twin(*x, *y)
		})
	})
}

func drawTimes(t *rapid.T, precision, n int) *drawnColumn[int64] {
	per := unitsPerSecond(precision)
	low, high := int64(-62135596800), int64(253402300799) // 0001-01-01 to 9999-12-31
	if precision > 6 {
		low, high = -9223372036, 9223372035
	}
	gen := rapid.Custom(func(t *rapid.T) int64 {
		sec := rapid.OneOf(rapid.Int64Range(low, high), rapid.Int64Range(-100000, 100000), rapid.Int64Range(1.7e9, 1.7e9+200000)).Draw(t, "seconds")
		return sec*per + rapid.Int64Range(0, per-1).Draw(t, "fraction")
	})
	return drawColumn(t, memory.DefaultAllocator, columnar.TimestampOf(precision), n, gen, func(b array.Builder, v int64) {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
	})
}

func goTime(v int64, precision int) time.Time {
	per := unitsPerSecond(precision)
	sec := floorDiv(v, per)
	return time.Unix(sec, (v-sec*per)*int64(1e9)/per).UTC()
}

func TestDateFormatEqualsGo(t *testing.T) {
	t.Parallel()
	patterns := []struct{ java, layout string }{
		{"yyyy-MM-dd", "2006-01-02"},
		{"yyyyMMdd", "20060102"},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2006-01-02 15:04:05.000"},
		{"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2006-01-02T15:04:05.000000000"},
		{"EEE, d MMM yyyy h:mm a", "Mon, 2 Jan 2006 3:04 PM"},
		{"EEEE MMMM DDD", "Monday January 002"},
	}
	rapid.Check(t, func(t *rapid.T) {
		n, precision := rowCount(t), rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "precision")
		p := rapid.SampledFrom(patterns).Draw(t, "pattern")
		a := drawTimes(t, precision, n)
		pattern := LitString(p.java)
		cols := []arrow.Array{a.array}
		if rapid.Bool().Draw(t, "pattern in a column") {
			pattern = mustCall("CONCAT", pattern, LitString(""))
		}
		e, err := Call("DATE_FORMAT", Column(0, a.t), pattern)
		check(t, e, err, n, cols, func(i int) string {
			if a.values[i] == nil {
				return "null"
			}
			return goTime(*a.values[i], precision).Format(p.layout)
		})
	})
}

func TestDateFieldsEqualGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, precision := rowCount(t), rapid.SampledFrom([]int{3, 6, 9}).Draw(t, "precision")
		a := drawTimes(t, precision, n)
		fields := []struct {
			name string
			twin func(time.Time) int
		}{
			{"YEAR", time.Time.Year},
			{"MONTH", func(x time.Time) int { return int(x.Month()) }},
			{"DAYOFMONTH", time.Time.Day},
			{"DAYOFYEAR", time.Time.YearDay},
			{"DAYOFWEEK", func(x time.Time) int { return int(x.Weekday()) + 1 }},
			{"WEEK", func(x time.Time) int { _, w := x.ISOWeek(); return w }},
			{"HOUR", time.Time.Hour},
			{"SECOND", time.Time.Second},
			{"EXTRACT_MILLISECOND", func(x time.Time) int { return x.Nanosecond() / 1e6 }},
			{"EXTRACT_EPOCH", func(x time.Time) int { return int(x.Unix()) }},
		}
		f := rapid.SampledFrom(fields).Draw(t, "field")
		e, err := Call(f.name, Column(0, a.t))
		check(t, e, err, n, []arrow.Array{a.array}, func(i int) string {
			if a.values[i] == nil {
				return "null"
			}
			return fmt.Sprint(f.twin(goTime(*a.values[i], precision)))
		})
	})
}

func TestTimestampComparisonAcrossPrecisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		p1, p2 := rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "p1"), rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "p2")
		a, b := drawTimes(t, p1, n), drawTimes(t, p2, n)
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "op")
		e, err := Call(op, Column(0, a.t), Column(1, b.t))
		check(t, e, err, n, []arrow.Array{a.array, b.array}, func(i int) string {
			if a.values[i] == nil || b.values[i] == nil {
				return "null"
			}
			return fmt.Sprint(holds(op, goTime(*a.values[i], p1).Compare(goTime(*b.values[i], p2))))
		})
	})
}

func TestTimestampTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, precision := rowCount(t), rapid.IntRange(0, 9).Draw(t, "precision")
		a := drawTimes(t, precision, n)
		text, err := Cast(Column(0, a.t), columnar.StringType(), false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Cast(text, columnar.TimestampOf(precision), false)
		check(t, e, err, n, []arrow.Array{a.array}, func(i int) string {
			if a.values[i] == nil {
				return "null"
			}
			at := goTime(*a.values[i], precision)
			return isoTime(at.Truncate(time.Duration(math.Pow10(9-precision))), "2006-01-02T15:04")
		})
	})
}

func TestZonesEqualGo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := &zone{loc: loc}
		rapid.Check(t, func(t *rapid.T) {
			at := rapid.OneOf(rapid.Int64Range(-2e9, 4e9), rapid.Int64Range(1711843200-90000, 1711843200+90000), rapid.Int64Range(1730592000-90000, 1730592000+90000)).Draw(t, "instant")
			_, want := time.Unix(at, 0).In(loc).Zone()
			if got := z.offsetAt(at); got != int64(want) {
				t.Fatalf("%s at %d: offset %d, want %d", name, at, got, want)
			}
			local := at + int64(want)
			back := z.instant(local)
			if back == at {
				return
			}
			// Twice in a year a wall clock stands for two instants; the earlier one is taken.
			if _, off := time.Unix(back, 0).In(loc).Zone(); back > at || back+int64(off) != local {
				t.Fatalf("%s: clock %d is instant %d, not %d", name, local, back, at)
			}
		})
	}
}

func TestWallClockInAGap(t *testing.T) {
	t.Parallel()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	z := &zone{loc: loc}
	gap := time.Date(2024, 3, 31, 2, 30, 0, 0, time.UTC).Unix()
	if got, want := z.instant(gap), time.Date(2024, 3, 31, 1, 30, 0, 0, time.UTC).Unix(); got != want {
		t.Fatalf("got %d, want %d", got, want)
	}
}

func TestFloatsBecomeTextAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "double")
		text := string(AppendDouble(nil, f, 64))
		if back, state := parseDouble(text, 64); state != parsed || back != f {
			t.Fatalf("%v is written %s and read %v", f, text, back)
		}
		if whole, exp, _ := strings.Cut(text, "E"); !strings.Contains(whole, ".") || exp == "" && math.Abs(f) >= 1e7 {
			t.Fatalf("%v is written %s", f, text)
		}
	})
}
