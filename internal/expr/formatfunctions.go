package expr

import (
	"math"
	"strings"

	"leat/internal/columnar"
)

// timeFunctions turn moments into text and back.
var timeFunctions = []*function{
	{name: "DATE_FORMAT", minArgs: 2, maxArgs: 2, bind: bindDateFormat, build: buildDateFormat},
	{name: "TO_DATE", minArgs: 1, maxArgs: 2, bind: takes(always(columnar.Of(columnar.Date)), textParam), build: buildToDate},
	{name: "TO_TIMESTAMP", minArgs: 1, maxArgs: 2, bind: takes(always(columnar.TimestampOf(3)), textParam), build: buildToTimestamp},
	{name: "TO_TIMESTAMP_LTZ", minArgs: 2, maxArgs: 2, bind: bindToTimestampLTZ, build: buildToTimestampLTZ},
	{name: "FROM_UNIXTIME", minArgs: 1, maxArgs: 2, bind: takes(always(columnar.StringType()), bigIntParam, textParam), build: buildFromUnixtime},
	{name: "UNIX_TIMESTAMP", minArgs: 0, maxArgs: 2, expand: expandUnixTimestamp},
	{name: "CONVERT_TZ", minArgs: 3, maxArgs: 3, bind: takes(always(columnar.StringType()), textParam), build: buildConvertTZ},
}

const defaultPattern = "yyyy-MM-dd HH:mm:ss"

// patterns compiles patterns, keeping the last one; a constant one that cannot
// be read is an error, another one gives NULL.
type patterns struct {
	text    string
	pattern *datePattern
	known   bool
	reading bool
}

// newPatterns checks the pattern in argument i of e, or prepares the default one.
func newPatterns(e *callExpr, i int, reading bool) (*patterns, error) {
	p := &patterns{reading: reading}
	if i >= len(e.args) {
		p.get(defaultPattern)
		return p, nil
	}
	text, ok := constantText(e.args[i])
	if !ok {
		return p, nil
	}
	compiled, err := compilePattern(text)
	if err == nil && reading {
		err = compiled.readable(text)
	}
	if err != nil {
		return nil, err
	}
	p.get(text)
	return p, nil
}

func (p *patterns) get(text string) *datePattern {
	if p.known && p.text == text {
		return p.pattern
	}
	compiled, err := compilePattern(text)
	if err != nil || p.reading && compiled.readable(text) != nil {
		compiled = nil
	}
	p.pattern, p.text, p.known = compiled, strings.Clone(text), true
	return p.pattern
}

// at gives the pattern for row i from argument arg, or the default one.
func (p *patterns) at(in []*vector, arg, i int) *datePattern {
	if arg >= len(in) {
		return p.pattern
	}
	return p.get(in[arg].strs[i])
}

func bindDateFormat(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	t := args[0].Type()
	if t.Kind == columnar.Date {
		return columnar.DataType{}, nil, argError(f, args, "write DATE_FORMAT(CAST("+String(args[0])+" AS TIMESTAMP(0)), pattern)")
	}
	moment := param{what: "TIMESTAMP or string", accepts: func(t columnar.DataType) bool { return isTimestamp(t) || t.IsText() }}
	return takes(always(columnar.StringType()), moment, textParam)(f, args)
}

func buildDateFormat(c *compiler, e *callExpr) (node, error) {
	p, err := newPatterns(e, 1, false)
	if err != nil {
		return nil, err
	}
	from := e.args[0].Type()
	if from.IsText() {
		return c.loopOver(e, textRows(func(in []*vector, i int, out *scratch) (string, bool) {
			sec, nanos, ok := defaultReader.parse(in[0].strs[i], true)
			pattern := p.get(in[1].strs[i])
			if !ok || pattern == nil {
				return "", false
			}
			start, m := len(out.arena), momentOf(sec, nanos)
			out.arena = pattern.format(out.arena, &m)
			return out.since(start), true
		}))
	}
	w := &momentWriter{per: unitsPerSecond(from.Precision)}
	if from.Kind == columnar.TimestampLTZ {
		w.zone = &zone{loc: c.env.Zone}
	}
	if _, constant := constantText(e.args[1]); constant && p.pattern.dayOnly {
		return c.loopOver(e, w.dayLoop(p.pattern))
	}
	return c.loopOver(e, textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		pattern := p.get(in[1].strs[i])
		if pattern == nil {
			return "", false
		}
		return w.write(out, pattern, values[int64](in[0])[i]), true
	}))
}

var defaultReader = func() *datePattern {
	p, err := compilePattern(defaultPattern)
	if err != nil {
		return &datePattern{}
	}
	return p
}()

// momentWriter formats timestamps of one unit.
type momentWriter struct {
	per  int64 // units a second
	zone *zone // nil for wall clocks
}

func (w *momentWriter) local(v int64) int64 {
	if w.zone == nil {
		return v
	}
	return v + w.zone.offsetAt(floorDiv(v, w.per))*w.per
}

func (w *momentWriter) write(out *scratch, p *datePattern, v int64) string {
	v = w.local(v)
	sec := floorDiv(v, w.per)
	m := momentOf(sec, int(v-sec*w.per)*int(1e9/w.per))
	start := len(out.arena)
	out.arena = p.format(out.arena, &m)
	return out.since(start)
}

// dayLoop formats once a run of rows that fall on one day. It is the hot path
// of partition columns: neighbouring rows mostly share their day.
func (w *momentWriter) dayLoop(p *datePattern) loop {
	day := w.per * secondsPerDay
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in...)
		a := values[int64](in[0])[:n]
		var low, high int64 // the day that text stands for, empty at first
		var text string
		for i, v := range a {
			if out.valid != nil && !out.valid[i] {
				d[i] = ""
				continue
			}
			if w.zone != nil {
				v = w.local(v)
			}
			if v < low || v >= high {
				// Next to the bounds of int64 low or high wraps; the text is then made for each row.
				number := floorDiv(v, day)
				low, high = number*day, (number+1)*day
				m := momentOf(number*secondsPerDay, 0)
				start := len(out.arena)
				out.arena = p.format(out.arena, &m)
				text = out.since(start)
			}
			d[i] = text
		}
		return nil
	}
}

func buildToDate(c *compiler, e *callExpr) (node, error) {
	if len(e.args) == 1 {
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) { return parseDate(in[0].strs[i]) }))
	}
	p, err := newPatterns(e, 1, true)
	if err != nil {
		return nil, err
	}
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
		pattern := p.at(in, 1, i)
		if pattern == nil {
			return 0, false
		}
		sec, _, ok := pattern.parse(in[0].strs[i], false)
		return int32(floorDiv(sec, secondsPerDay)), ok
	}))
}

func buildToTimestamp(c *compiler, e *callExpr) (node, error) {
	if len(e.args) == 1 {
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
			sec, nanos, ok := parseTimestamp(in[0].strs[i])
			return sec*1000 + int64(nanos/1e6), ok
		}))
	}
	p, err := newPatterns(e, 1, true)
	if err != nil {
		return nil, err
	}
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		pattern := p.at(in, 1, i)
		if pattern == nil {
			return 0, false
		}
		sec, nanos, ok := pattern.parse(in[0].strs[i], false)
		return sec*1000 + int64(nanos/1e6), ok
	}))
}

// bindToTimestampLTZ takes seconds (0) or milliseconds (3) since the epoch.
func bindToTimestampLTZ(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if p := String(args[1]); p != "0" && p != "3" {
		return columnar.DataType{}, nil, argError(f, args, "write TO_TIMESTAMP_LTZ(n, 0) for seconds or TO_TIMESTAMP_LTZ(n, 3) for milliseconds")
	}
	t := columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}
	return takes(always(t), bigIntParam, intParam)(f, args)
}

func buildToTimestampLTZ(c *compiler, e *callExpr) (node, error) {
	scale := int64(1)
	if String(e.args[1]) == "0" {
		scale = 1000
	}
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		v := values[int64](in[0])[i]
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return 0, false
		}
		return v * scale, true
	}))
}

func buildFromUnixtime(c *compiler, e *callExpr) (node, error) {
	p, err := newPatterns(e, 1, false)
	if err != nil {
		return nil, err
	}
	w := &momentWriter{per: 1, zone: &zone{loc: c.env.Zone}}
	return c.loopOver(e, textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		pattern, v := p.at(in, 1, i), values[int64](in[0])[i]
		if pattern == nil || v > 1<<40 || v < -1<<40 {
			return "", false
		}
		return w.write(out, pattern, v), true
	}))
}
