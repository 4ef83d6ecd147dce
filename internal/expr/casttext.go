package expr

import (
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// castToText writes values as text, then brings it to the length of the target.
func (c *compiler) castToText(from, to columnar.DataType, mode castMode) loop {
	fit := func(_ *scratch, s string) string { return s }
	if mode != castAssign && to.Length != columnar.MaxLength {
		pad := to.Kind == columnar.Char
		fit = func(out *scratch, s string) string { return fitText(out, s, to.Length, pad) }
	}
	switch from.Kind {
	case columnar.Array, columnar.Map, columnar.Multiset, columnar.Row:
		return c.nestedTextLoop(from, fit)
	case columnar.Boolean:
		return formatLoop(fit, func(b []byte, v bool) []byte {
			if v {
				return append(b, "TRUE"...)
			}
			return append(b, "FALSE"...)
		})
	case columnar.TinyInt:
		return formatLoop(fit, func(b []byte, v int8) []byte { return strconv.AppendInt(b, int64(v), 10) })
	case columnar.SmallInt:
		return formatLoop(fit, func(b []byte, v int16) []byte { return strconv.AppendInt(b, int64(v), 10) })
	case columnar.Int:
		return formatLoop(fit, func(b []byte, v int32) []byte { return strconv.AppendInt(b, int64(v), 10) })
	case columnar.BigInt:
		return formatLoop(fit, func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) })
	case columnar.Float:
		return formatLoop(fit, func(b []byte, v float32) []byte { return AppendDouble(b, float64(v), 32) })
	case columnar.Double:
		return formatLoop(fit, func(b []byte, v float64) []byte { return AppendDouble(b, v, 64) })
	case columnar.Decimal:
		return formatLoop(fit, func(b []byte, v decimal128.Num) []byte { return AppendDecimal(b, v, from.Scale) })
	case columnar.Date:
		return formatLoop(fit, func(b []byte, v int32) []byte { return appendDate(b, int64(v)) })
	case columnar.Time:
		return formatLoop(fit, func(b []byte, v int32) []byte { return appendTime(b, v, from.Precision) })
	case columnar.Timestamp:
		return formatLoop(fit, func(b []byte, v int64) []byte { return appendTimestamp(b, v, from.Precision) })
	case columnar.TimestampLTZ:
		z, per := &zone{loc: c.env.Zone}, unitsPerSecond(from.Precision)
		return formatLoop(fit, func(b []byte, v int64) []byte {
			return appendTimestamp(b, v+z.offsetAt(floorDiv(v, per))*per, from.Precision)
		})
	default:
		if from.IsBytes() {
			return textLoop(func(out *scratch, s string) (string, bool) { return fit(out, decoded(out, s)), true })
		}
		return textLoop(func(out *scratch, s string) (string, bool) { return fit(out, s), true })
	}
}

// formatLoop writes values into the arena.
func formatLoop[A fixed](fit func(*scratch, string) string, write func([]byte, A) []byte) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in[0])
		a := values[A](in[0])[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				d[i] = ""
				continue
			}
			start := len(out.arena)
			out.arena = write(out.arena, a[i])
			d[i] = fit(out, out.since(start))
		}
		return nil
	}
}

// fitText cuts s to length characters or, with pad, fills it with blanks.
func fitText(out *scratch, s string, length int, pad bool) string {
	if len(s) > length {
		if s = prefixRunes(s, length); !pad {
			return s
		}
	}
	if !pad {
		return s
	}
	missing := length - utf8.RuneCountInString(s)
	if missing <= 0 {
		return s
	}
	start := len(out.arena)
	out.arena = append(out.arena, s...)
	for range missing {
		out.arena = append(out.arena, ' ')
	}
	return out.since(start)
}

// prefixRunes gives the first n characters of s.
func prefixRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// castFromText reads values from text. What cannot be read fails, or is NULL with TRY_CAST.
func (c *compiler) castFromText(e *castExpr) loop {
	to := e.t
	switch to.Kind {
	case columnar.Boolean:
		return parseLoop(e, parseBoolean)
	case columnar.TinyInt:
		return parseLoop(e, parseInt[int8])
	case columnar.SmallInt:
		return parseLoop(e, parseInt[int16])
	case columnar.Int:
		return parseLoop(e, parseInt[int32])
	case columnar.BigInt:
		return parseLoop(e, parseInt[int64])
	case columnar.Float:
		return parseLoop(e, func(s string) (float32, bool) {
			v, state := parseDouble(s, 32)
			return float32(v), state == parsed
		})
	case columnar.Double:
		return parseLoop(e, func(s string) (float64, bool) {
			v, state := parseDouble(s, 64)
			return v, state == parsed
		})
	case columnar.Decimal:
		return parseLoop(e, func(s string) (decimal128.Num, bool) {
			v, state := parseDecimal(s, to.Precision, to.Scale)
			return v, state == parsed
		})
	case columnar.Date:
		return parseLoop(e, parseDate)
	case columnar.Time:
		return parseLoop(e, func(s string) (int32, bool) {
			ms, ok := parseTime(s)
			return truncateMillis(ms, to.Precision), ok
		})
	case columnar.Timestamp:
		return parseLoop(e, func(s string) (int64, bool) {
			sec, nanos, ok := parseTimestamp(s)
			if !ok {
				return 0, false
			}
			return timestampUnits(sec, nanos, to.Precision)
		})
	case columnar.TimestampLTZ:
		z := &zone{loc: c.env.Zone}
		return parseLoop(e, func(s string) (int64, bool) {
			sec, nanos, ok := parseTimestamp(s)
			if !ok {
				return 0, false
			}
			return timestampUnits(z.instant(sec), nanos, to.Precision)
		})
	default:
		return bytesLoop(to)
	}
}

func parseInt[T integer](s string) (T, bool) {
	v, state := parseInteger(s)
	return T(v), state == parsed && int64(T(v)) == v
}

func parseLoop[R fixed](e *castExpr, read func(string) (R, bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[R](out, n)
		out.mergeValid(n, in[0])
		a := in[0].strs[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			v, ok := read(a[i])
			d[i] = v
			if ok {
				continue
			}
			if e.mode != castTry && f.isActive(i) {
				return valueError(e, "use TRY_CAST, which gives NULL, or filter the row out", "'%s' is not a valid %s", shorten(a[i]), typeName(e.t))
			}
			out.setNull(i, n)
		}
		return nil
	}
}

// shorten keeps a value short enough for an error text.
func shorten(s string) string {
	const limit = 60
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return prefixRunes(s, limit) + "…"
}

// castTemporal casts between DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
func (c *compiler) castTemporal(e *castExpr) loop {
	from, to := e.arg.Type(), e.t
	z := &zone{loc: c.env.Zone}
	per := unitsPerSecond(from.Precision)
	// local gives the wall clock of a value of from as units of its precision.
	local := func(v int64) int64 { return v }
	if from.Kind == columnar.TimestampLTZ {
		local = func(v int64) int64 { return v + z.offsetAt(floorDiv(v, per))*per }
	}
	switch {
	case from.Kind == columnar.Time:
		return mapLoop(func(ms int32) int32 { return truncateMillis(ms, to.Precision) })
	case from.Kind == columnar.Date:
		return timestampLoop(e, func(days int32) (int64, bool) {
			sec := int64(days) * secondsPerDay
			if to.Kind == columnar.TimestampLTZ {
				sec = z.instant(sec)
			}
			return timestampUnits(sec, 0, to.Precision)
		})
	case to.Kind == columnar.Date:
		return mapLoop(func(v int64) int32 { return int32(floorDiv(local(v), per*secondsPerDay)) })
	case to.Kind == columnar.Time:
		return mapLoop(func(v int64) int32 {
			return truncateMillis(int32(floorMod(local(v), per*secondsPerDay)/(per/1000)), to.Precision)
		})
	case from.Kind == to.Kind:
		return timestampLoop(e, func(v int64) (int64, bool) {
			ms, nanos := toMillis(v, from.Precision)
			return fromMillis(ms, nanos, to.Precision)
		})
	case to.Kind == columnar.Timestamp:
		return timestampLoop(e, func(v int64) (int64, bool) {
			ms, nanos := toMillis(local(v), from.Precision)
			return fromMillis(ms, nanos, to.Precision)
		})
	default:
		return timestampLoop(e, func(v int64) (int64, bool) {
			sec := floorDiv(v, per)
			ms, nanos := toMillis(v+(z.instant(sec)-sec)*per, from.Precision)
			return fromMillis(ms, nanos, to.Precision)
		})
	}
}

// timestampLoop computes timestamps; one outside the range of its unit fails.
func timestampLoop[A fixed](e *castExpr, op func(A) (int64, bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[int64](out, n)
		out.mergeValid(n, in[0])
		a := values[A](in[0])[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			v, ok := op(a[i])
			d[i] = v
			if ok {
				continue
			}
			if e.mode != castTry && f.isActive(i) {
				return valueError(e, "use a lower precision, at most TIMESTAMP(6)", "the value lies outside the years 1678 to 2261 that %s holds", typeName(e.t))
			}
			out.setNull(i, n)
		}
		return nil
	}
}
