package expr

import (
	"math"
	"strings"
	"time"

	"leat/internal/columnar"
)

var (
	momentParam = param{what: "DATE or TIMESTAMP", accepts: func(t columnar.DataType) bool { return isTimestamp(t) || t.Kind == columnar.Date }}
	clockParam  = param{what: "TIMESTAMP or TIME", accepts: isTemporal}
)

// timestampFunctions compute with moments.
var timestampFunctions = []*function{
	{name: "EXTRACT", minArgs: 2, maxArgs: 2, bind: bindExtract, build: buildExtract},
	fieldFunction("YEAR", "YEAR"), fieldFunction("QUARTER", "QUARTER"), fieldFunction("MONTH", "MONTH"), fieldFunction("WEEK", "WEEK"),
	fieldFunction("DAYOFYEAR", "DOY"), fieldFunction("DAYOFMONTH", "DAY"), fieldFunction("DAYOFWEEK", "DOW"),
	fieldFunction("HOUR", "HOUR"), fieldFunction("MINUTE", "MINUTE"), fieldFunction("SECOND", "SECOND"),
	{name: "TIMESTAMPADD", minArgs: 3, maxArgs: 3, bind: bindTimestampAdd, build: buildTimestampAdd},
	{name: "TIMESTAMPDIFF", minArgs: 3, maxArgs: 3, bind: bindTimestampDiff, build: buildTimestampDiff},
	{name: "FLOOR TO", minArgs: 2, maxArgs: 2, bind: bindFloorTo, build: buildFloorTo},
	{name: "CEIL TO", minArgs: 2, maxArgs: 2, bind: bindFloorTo, build: buildFloorTo},
	clockFunction("CURRENT_TIMESTAMP", columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}),
	clockFunction("NOW", columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}),
	clockFunction("CURRENT_ROW_TIMESTAMP", columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}),
	clockFunction("LOCALTIMESTAMP", columnar.DataType{Kind: columnar.Timestamp, Precision: 3}),
	clockFunction("CURRENT_DATE", columnar.DataType{Kind: columnar.Date}),
	clockFunction("CURRENT_TIME", columnar.DataType{Kind: columnar.Time}),
	clockFunction("LOCALTIME", columnar.DataType{Kind: columnar.Time}),
	{name: "ADD INTERVAL", label: "ADD_INTERVAL", minArgs: 3, maxArgs: 3, bind: takes(sameAsFirst, momentParam, bigIntParam), build: buildAddInterval},
	{name: "UNIX_TIMESTAMP NOW", label: "UNIX_TIMESTAMP", volatile: true, bind: func(*function, []Expr) (columnar.DataType, []Expr, error) {
		return columnar.Of(columnar.BigInt).NotNull(), nil, nil
	}, build: buildClock},
	{
		name: "UNIX_TIMESTAMP OF", label: "UNIX_TIMESTAMP", minArgs: 1, maxArgs: 2,
		bind: takes(following(columnar.Of(columnar.BigInt)), textParam), build: buildUnixTimestamp,
	},
}

// reader gives the wall clock of argument arg as seconds and nanoseconds.
type reader func(v *vector, i int) (sec int64, nanos int)

func (c *compiler) reader(t columnar.DataType) reader {
	switch t.Kind {
	case columnar.Date:
		return func(v *vector, i int) (int64, int) { return int64(values[int32](v)[i]) * secondsPerDay, 0 }
	case columnar.Time:
		return func(v *vector, i int) (int64, int) {
			ms := values[int32](v)[i]
			return int64(ms / 1000), int(ms%1000) * 1e6
		}
	default:
		w := &momentWriter{per: unitsPerSecond(t.Precision)}
		if t.Kind == columnar.TimestampLTZ {
			w.zone = &zone{loc: c.env.Zone}
		}
		return func(v *vector, i int) (int64, int) {
			local := w.local(values[int64](v)[i])
			sec := floorDiv(local, w.per)
			return sec, int(local-sec*w.per) * int(1e9/w.per)
		}
	}
}

// extractable says which units EXTRACT gives, and from the wall clock of TIME too.
var extractable = map[string]func(m *moment) int64{
	"YEAR": func(m *moment) int64 { return int64(m.year) },
	"QUARTER": func(m *moment) int64 {
		return int64(m.month+2) / 3
	},
	"MONTH": func(m *moment) int64 { return int64(m.month) },
	"WEEK": func(m *moment) int64 {
		_, w := m.isoWeek()
		return int64(w)
	},
	"DAY":     func(m *moment) int64 { return int64(m.day) },
	"DOY":     func(m *moment) int64 { return int64(m.dayOfYear()) },
	"DOW":     func(m *moment) int64 { return int64(m.weekday()) + 1 },
	"ISODOW":  func(m *moment) int64 { return int64(m.weekday()+6)%7 + 1 },
	"ISOYEAR": func(m *moment) int64 { y, _ := m.isoWeek(); return int64(y) },
	"DECADE":  func(m *moment) int64 { return floorDiv(int64(m.year), 10) },
	"CENTURY": func(m *moment) int64 { return floorDiv(int64(m.year)+99, 100) },
	"MILLENNIUM": func(m *moment) int64 {
		return floorDiv(int64(m.year)+999, 1000)
	},
	"HOUR":        func(m *moment) int64 { return int64(m.sec / 3600) },
	"MINUTE":      func(m *moment) int64 { return int64(m.sec / 60 % 60) },
	"SECOND":      func(m *moment) int64 { return int64(m.sec % 60) },
	"MILLISECOND": func(m *moment) int64 { return int64(m.nanos / 1e6) },
	"MICROSECOND": func(m *moment) int64 { return int64(m.nanos / 1e3) },
	"NANOSECOND":  func(m *moment) int64 { return int64(m.nanos) },
	"EPOCH":       func(m *moment) int64 { return m.days*secondsPerDay + int64(m.sec) },
}

// unitOf reads the unit in front of the arguments.
func unitOf(f *function, args []Expr) (string, error) {
	u, ok := constantText(args[0])
	if !ok {
		return "", typeError("write a unit such as DAY", "%s takes a unit, not %s", f.name, String(args[0]))
	}
	return strings.ToUpper(u), nil
}

func bindExtract(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	u, err := unitOf(f, args)
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	if _, ok := extractable[u]; !ok {
		return columnar.DataType{}, nil, typeError("write YEAR, QUARTER, MONTH, WEEK, DAY, DOY, DOW, HOUR, MINUTE, SECOND, MILLISECOND or EPOCH",
			"EXTRACT does not know the unit %s", u)
	}
	return bindField(f, u, args[1:], args)
}

func bindField(f *function, unit string, moment, all []Expr) (columnar.DataType, []Expr, error) {
	p := momentParam
	switch unit {
	case "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND":
		p = clockParam
	}
	if _, _, err := takes(following(columnar.Of(columnar.BigInt)), p)(f, moment); err != nil {
		return columnar.DataType{}, nil, err
	}
	return withNull(columnar.Of(columnar.BigInt), moment), all, nil
}

func fieldFunction(name, unit string) *function {
	return &function{
		name: name, minArgs: 1, maxArgs: 1,
		bind: func(f *function, args []Expr) (columnar.DataType, []Expr, error) {
			return bindField(f, unit, args, args)
		},
		build: func(c *compiler, e *callExpr) (node, error) {
			return c.extract(e, unit, e.args[0], 0)
		},
	}
}

func buildExtract(c *compiler, e *callExpr) (node, error) {
	unit, err := unitOf(e.fn, e.args)
	if err != nil {
		return nil, err
	}
	return c.extract(e, unit, e.args[1], 1)
}

func (c *compiler) extract(e *callExpr, unit string, from Expr, arg int) (node, error) {
	get, read := extractable[unit], c.reader(from.Type())
	var m moment // outside the loop, where it is allocated once
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		m = momentOf(read(in[arg], i))
		return get(&m), true
	}))
}

// stepMonths and stepMillis say how long a unit of TIMESTAMPADD and its relatives is.
var (
	stepMonths = map[string]int64{"YEAR": 12, "QUARTER": 3, "MONTH": 1}
	stepMillis = map[string]int64{"WEEK": 7 * millisPerDay, "DAY": millisPerDay, "HOUR": 3600000, "MINUTE": 60000, "SECOND": 1000, "MILLISECOND": 1}
)

func checkStep(f *function, args []Expr) (string, error) {
	u, err := unitOf(f, args)
	if err != nil {
		return "", err
	}
	u = strings.TrimPrefix(u, "SQL_TSI_")
	if stepMonths[u] == 0 && stepMillis[u] == 0 {
		return "", typeError("write YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND", "%s does not know the unit %s", f.name, u)
	}
	return u, nil
}

func bindTimestampAdd(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	u, err := checkStep(f, args)
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	t, out, err := takes(func(a []Expr) columnar.DataType { return withNull(a[1].Type(), a) }, bigIntParam, momentParam)(f, args[1:])
	return t, append([]Expr{LitString(u)}, out...), err
}

func buildTimestampAdd(c *compiler, e *callExpr) (node, error) {
	u, err := unitOf(e.fn, e.args)
	if err != nil {
		return nil, err
	}
	months, millis := stepMonths[u], stepMillis[u]
	count := func(in []*vector, i int) int64 { return values[int64](in[1])[i] }
	return c.shift(e, 2, func(in []*vector, i int) (int64, int64) {
		n := count(in, i)
		return n * months, n * millis
	})
}

// AddInterval gives e + INTERVAL: months for YEAR and MONTH, millis for DAY to
// SECOND; negative ones subtract. The day of the month gives way in shorter
// months, and a DATE ignores what is less than a day.
func AddInterval(e Expr, months, millis int64) (Expr, error) {
	return Call("ADD INTERVAL", e, LitBigInt(months), LitBigInt(millis))
}

func buildAddInterval(c *compiler, e *callExpr) (node, error) {
	return c.shift(e, 0, func(in []*vector, i int) (months, millis int64) {
		return values[int64](in[1])[i], values[int64](in[2])[i]
	})
}

// shift moves argument arg by months and milliseconds.
func (c *compiler) shift(e *callExpr, arg int, by func(in []*vector, i int) (months, millis int64)) (node, error) {
	t := e.args[arg].Type()
	if t.Kind == columnar.Date {
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
			months, millis := by(in, i)
			days := addMonths(int64(values[int32](in[arg])[i]), months) + floorDiv(millis, millisPerDay)
			return int32(days), days >= math.MinInt32 && days <= math.MaxInt32
		}))
	}
	per := unitsPerSecond(t.Precision)
	day := per * secondsPerDay
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		months, millis := by(in, i)
		v := values[int64](in[arg])[i]
		if months != 0 {
			days := floorDiv(v, day)
			v += (addMonths(days, months) - days) * day
		}
		return v + millis*(per/1000), true
	}))
}

// addMonths moves a day by months; a day the month does not have becomes its last one.
func addMonths(days, months int64) int64 {
	if months == 0 {
		return days
	}
	y, m, d := dateOf(days)
	total := int64(y)*12 + int64(m-1) + months
	year, month := int(floorDiv(total, 12)), int(floorMod(total, 12))+1
	return daysOf(year, month, min(d, daysInMonth(year, month)))
}

func bindTimestampDiff(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	u, err := checkStep(f, args)
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	t, out, err := takes(following(columnar.Of(columnar.Int)), momentParam)(f, args[1:])
	return t, append([]Expr{LitString(u)}, out...), err
}

func buildTimestampDiff(c *compiler, e *callExpr) (node, error) {
	u, err := unitOf(e.fn, e.args)
	if err != nil {
		return nil, err
	}
	a, b := c.reader(e.args[1].Type()), c.reader(e.args[2].Type())
	months, millis := stepMonths[u], stepMillis[u]
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
		s1, n1 := a(in[1], i)
		s2, n2 := b(in[2], i)
		if months > 0 {
			return int32(monthsBetween(s1*1000+int64(n1/1e6), s2*1000+int64(n2/1e6)) / months), true
		}
		return int32(((s2-s1)*1000 + int64((n2-n1)/1e6)) / millis), true
	}))
}

// monthsBetween counts whole months from a to b (milliseconds); the last day of
// a month completes it.
func monthsBetween(a, b int64) int64 {
	if a > b {
		return -monthsBetween(b, a)
	}
	da, db := floorDiv(a, millisPerDay), floorDiv(b, millisPerDay)
	y1, m1, _ := dateOf(da)
	y2, m2, _ := dateOf(db)
	n := int64(y2-y1)*12 + int64(m2-m1)
	if n > 0 && addMonths(da, n)*millisPerDay+floorMod(a, millisPerDay) > b {
		n--
	}
	return n
}

func bindFloorTo(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	u, err := checkStep(f, args)
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	t, out, err := takes(sameAsFirst, momentParam)(f, args[1:])
	if err == nil && t.Kind == columnar.TimestampLTZ {
		err = typeError("CAST it to TIMESTAMP first", "%s does not take %s", f.name, typeName(t))
	}
	return t, append([]Expr{LitString(u)}, out...), err
}

func buildFloorTo(c *compiler, e *callExpr) (node, error) {
	u, err := unitOf(e.fn, e.args)
	if err != nil {
		return nil, err
	}
	ceil := e.fn.name == "CEIL TO"
	t := e.args[1].Type()
	if t.Kind == columnar.Date {
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
			ms := int64(values[int32](in[1])[i]) * millisPerDay
			return int32(floorDiv(floorTo(ms, u, ceil), millisPerDay)), true
		}))
	}
	perMilli := unitsPerSecond(t.Precision) / 1000
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		v := values[int64](in[1])[i]
		ms := floorDiv(v, perMilli)
		if ceil && ms*perMilli < v {
			ms++
		}
		return floorTo(ms, u, ceil) * perMilli, true
	}))
}

// floorTo moves milliseconds back (or on, with ceil) to the edge of a unit.
func floorTo(ms int64, unit string, ceil bool) int64 {
	if step := stepMillis[unit]; step > 0 {
		shift := int64(0)
		if unit == "WEEK" {
			shift = 4 * millisPerDay // weeks begin on Sunday; 1970-01-01 was a Thursday
		}
		low := floorDiv(ms+shift, step)*step - shift
		if ceil && low < ms {
			low += step
		}
		return low
	}
	y, m, _ := dateOf(floorDiv(ms, millisPerDay))
	months := stepMonths[unit]
	total := floorDiv(int64(y)*12+int64(m-1), months) * months
	start := func(n int64) int64 { return daysOf(int(floorDiv(n, 12)), int(floorMod(n, 12))+1, 1) * millisPerDay }
	if low := start(total); low == ms || !ceil {
		return low
	}
	return start(total + months)
}

func clockFunction(name string, t columnar.DataType) *function {
	return &function{
		name: name, volatile: true,
		bind:  func(*function, []Expr) (columnar.DataType, []Expr, error) { return t, nil, nil },
		build: buildClock,
	}
}

// buildClock reads the clock once a batch.
func buildClock(c *compiler, e *callExpr) (node, error) {
	zone, now := c.env.Zone, c.env.Now
	t := e.t
	return c.loopOver(e, func(f *frame, _ []*vector, out *scratch) error {
		at := now()
		_, offset := at.In(zone).Zone()
		local := at.UnixMilli() + int64(offset)*1000
		switch t.Kind {
		case columnar.TimestampLTZ:
			fill(grow[int64](out, f.rows), at.UnixMilli())
		case columnar.Timestamp:
			fill(grow[int64](out, f.rows), local)
		case columnar.Date:
			fill(grow[int32](out, f.rows), int32(floorDiv(local, millisPerDay)))
		case columnar.Time:
			fill(grow[int32](out, f.rows), truncateMillis(int32(floorMod(local, millisPerDay)), t.Precision))
		default:
			fill(grow[int64](out, f.rows), at.Unix())
		}
		return nil
	})
}

func fill[T any](d []T, v T) {
	for i := range d {
		d[i] = v
	}
}

func expandUnixTimestamp(_ *function, args []Expr) (Expr, error) {
	if len(args) == 0 {
		return Call("UNIX_TIMESTAMP NOW")
	}
	return Call("UNIX_TIMESTAMP OF", args...)
}

// buildUnixTimestamp gives the least BIGINT, as Flink does, for text that cannot be read.
func buildUnixTimestamp(c *compiler, e *callExpr) (node, error) {
	p, err := newPatterns(e, 1, true)
	if err != nil {
		return nil, err
	}
	z := &zone{loc: c.env.Zone}
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int64, bool) {
		pattern := p.at(in, 1, i)
		if pattern == nil {
			return math.MinInt64, true
		}
		sec, _, ok := pattern.parse(in[0].strs[i], true)
		if !ok {
			return math.MinInt64, true
		}
		return z.instant(sec), true
	}))
}

func buildConvertTZ(c *compiler, e *callExpr) (node, error) {
	zones := map[string]*zone{}
	find := func(name string) *zone {
		z, known := zones[name]
		if !known {
			if loc, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
				z = &zone{loc: loc}
			}
			zones[strings.Clone(name)] = z
		}
		return z
	}
	return c.loopOver(e, textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		sec, _, ok := defaultReader.parse(in[0].strs[i], true)
		from, to := find(in[1].strs[i]), find(in[2].strs[i])
		if !ok || from == nil || to == nil {
			return "", false
		}
		at := from.instant(sec)
		m := momentOf(at+to.offsetAt(at), 0)
		start := len(out.arena)
		out.arena = defaultReader.format(out.arena, &m)
		return out.since(start), true
	}))
}
