package sqlfront

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"leat/internal/diag"
)

// numberLiteral types a number: an integer by its size, DECIMAL with a point,
// DOUBLE with an exponent.
func (p *parser) numberLiteral(t token) Expr {
	l := &Literal{Node: Node{At: p.posOf(t)}, Text: t.text}
	if strings.ContainsAny(t.text, "eE") {
		l.Kind = LitDouble
		if f, err := strconv.ParseFloat(t.text, 64); err != nil || math.IsInf(f, 0) {
			p.soft(l.At, fmt.Sprintf("the number %s is out of the range of DOUBLE", t.text), "write a number up to 1.7E308")
		}
		return l
	}
	whole, fraction, _ := strings.Cut(t.text, ".")
	if fraction == "" {
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			p.soft(l.At, fmt.Sprintf("the number %s is out of the range of BIGINT", t.text), fmt.Sprintf("write CAST('%s' AS DECIMAL(%d, 0))", whole, min(len(whole), 38)))
		}
		l.Kind, l.Text, l.Int = LitInt, strconv.FormatInt(n, 10), n
		if n > math.MaxInt32 {
			l.Kind = LitBigInt
		}
		return l
	}
	l.Kind, l.Precision, l.Scale = LitDecimal, len(whole)+len(fraction), len(fraction)
	// The digits without the point must fit 64 bits, as in Flink.
	if n, ok := new(big.Int).SetString(whole+fraction, 10); !ok || !n.IsInt64() {
		p.soft(l.At, fmt.Sprintf("the number %s has too many digits", t.text), fmt.Sprintf("write CAST('%s' AS DECIMAL(%d, %d))", t.text, min(l.Precision, 38), min(l.Scale, 38)))
		l.Precision, l.Scale = min(l.Precision, 38), min(l.Scale, 38)
	}
	return l
}

// stringLiteral reads a string; pieces on lines of their own belong together.
func (p *parser) stringLiteral() Expr {
	start := p.i
	t := p.next()
	l := &Literal{Kind: LitString, Text: t.text, Raw: t.raw}
	for n := p.peek(); n.kind == tokString && n.first; n = p.peek() {
		p.i++
		l.Text += n.text
		if l.Raw != "" || n.raw != "" {
			l.Raw = p.text(start)
		}
	}
	if p.is("UESCAPE") {
		p.refuse(p.tokenPos(p.i), "UESCAPE", `write unicode escapes with a backslash: U&'\00e9'`)
	}
	l.Node = p.node(start)
	return l
}

// timeLiteral reads DATE, TIME and TIMESTAMP literals.
func (p *parser) timeLiteral() Expr {
	start := p.i
	t := p.next()
	l := &Literal{}
	switch {
	case t.up == "TIMESTAMP_LTZ":
		p.fail(p.posOf(t), "there is no TIMESTAMP_LTZ literal", "write CAST('2024-01-02 03:04:05' AS TIMESTAMP_LTZ(3))")
		return l
	case t.up == "TIMESTAMP" && p.accept("WITH", "LOCAL", "TIME", "ZONE"):
		l.Kind = LitTimestampLTZ
		p.notice(p.posOf(t), "this literal needs Flink 2.0")
	case t.up == "DATE":
		l.Kind = LitDate
	case t.up == "TIME":
		l.Kind = LitTime
	default:
		l.Kind = LitTimestamp
	}
	s := p.peek()
	if s.kind != tokString {
		p.unexpected("a string in single quotes")
		return l
	}
	p.i++
	l.Node, l.Raw = p.node(start), s.raw
	if s.raw != "" {
		l.Raw = p.text(start)
	}
	if !l.setTime(s.text) {
		form := map[LiteralKind]string{LitDate: "2024-01-02", LitTime: "03:04:05"}[l.Kind]
		if form == "" {
			form = "2024-01-02 03:04:05.678"
		}
		p.soft(p.posOf(s), fmt.Sprintf("'%s' is no %s", s.text, t.up), fmt.Sprintf("write %s '%s', with a day that exists", t.up, form))
	}
	return l
}

// setTime fills l from the text of a date or time and reports whether it is one.
func (l *Literal) setTime(text string) bool {
	date, clock := text, ""
	switch l.Kind {
	case LitTime:
		date, clock = "1970-01-01", text
	case LitTimestamp, LitTimestampLTZ:
		date, clock, _ = strings.Cut(text, " ")
	default:
	}
	day, ok := parseDate(date)
	if !ok {
		return false
	}
	if l.Kind == LitDate {
		l.Int, l.Text = day.Unix()/86400, day.Format("2006-01-02")
		if day.Unix() < 0 {
			l.Int = (day.Unix() - 86399) / 86400
		}
		return true
	}
	var seconds int64
	if clock != "" || l.Kind == LitTime {
		hms, fraction, hasFraction := strings.Cut(clock, ".")
		if seconds, ok = parseClock(hms); !ok || hasFraction && !isDigits(fraction) || len(fraction) > 9 {
			return false
		}
		l.Precision = len(fraction)
		l.Nanos = fractionNanos(fraction)
	}
	l.Int = day.Unix() + seconds
	at := time.Unix(l.Int, int64(l.Nanos)).UTC()
	layout := "2006-01-02 15:04:05"
	if l.Kind == LitTime {
		layout = "15:04:05"
	}
	if l.Precision > 0 {
		layout += "." + strings.Repeat("0", l.Precision)
	}
	l.Text = at.Format(layout)
	return true
}

// parseDate reads y-m-d, one or more digits each, of a day from year 1 to 9999 that exists.
func parseDate(s string) (time.Time, bool) {
	parts := strings.Split(s, "-")
	var n [3]int
	if len(parts) != 3 {
		return time.Time{}, false
	}
	for i, part := range parts {
		if !isDigits(part) || len(part) > 4 {
			return time.Time{}, false
		}
		n[i], _ = strconv.Atoi(part)
	}
	d := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	return d, n[0] >= 1 && d.Year() == n[0] && int(d.Month()) == n[1] && d.Day() == n[2]
}

// parseClock reads h:m:s and gives the second of the day.
func parseClock(s string) (int64, bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return 0, false
	}
	var sum int64
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if !isDigits(part) || len(part) > 2 || err != nil || n >= []int{24, 60, 60}[i] {
			return 0, false
		}
		sum = sum*60 + int64(n)
	}
	return sum, true
}

// intervalLiteral reads INTERVAL '…' unit [(n)] [TO unit].
func (p *parser) intervalLiteral() Expr {
	start := p.i
	p.i++
	negative := p.acceptOp("-")
	if !negative {
		p.acceptOp("+")
	}
	value := p.next()
	if value.kind != tokString && value.kind != tokNumber {
		p.back(value)
		p.unexpected("the value of the interval, such as '1'")
		return &Literal{}
	}
	l := &Literal{Kind: LitInterval, Text: strings.TrimSpace(value.text)}
	if negative {
		l.Text = "-" + l.Text
	}
	unit := p.next()
	l.Unit.From = intervalUnit(unit)
	if l.Unit.From == "" {
		p.back(unit)
		p.unexpected("YEAR, MONTH, DAY, HOUR, MINUTE or SECOND")
		return l
	}
	if l.Unit.From == "WEEK" || l.Unit.From == "QUARTER" {
		p.notice(p.posOf(unit), "intervals in "+l.Unit.From+" are not portable: Flink 1.20 refuses them and 2.0 reads 1 WEEK as 1 hour")
	}
	if p.acceptOp("(") {
		l.Unit.Lead = p.number("the precision", 1, 10, "write DAY(3) or the like")
		if p.acceptOp(",") {
			p.number("the precision of the fraction", 0, 9, "write 9 or less")
		}
		p.expectOp(")")
	}
	if p.is("TO") {
		p.i++
		to := p.next()
		l.Unit.To = intervalUnit(to)
		if l.Unit.From == "WEEK" || intervalRank[l.Unit.To] <= intervalRank[l.Unit.From] || (l.Unit.From == "YEAR") != (l.Unit.To == "MONTH") {
			p.back(to)
			p.unexpected("a smaller unit of the same kind")
			return l
		}
	}
	l.Node = p.node(start)
	p.intervalValue(l, p.posOf(value))
	return l
}

var intervalRank = map[string]int{"": 0, "YEAR": 1, "QUARTER": 2, "MONTH": 3, "WEEK": 4, "DAY": 5, "HOUR": 6, "MINUTE": 7, "SECOND": 8}

// intervalUnit gives the unit of a word, plural or not; empty if it is none.
func intervalUnit(t token) string {
	u := strings.TrimSuffix(t.up, "S")
	if t.kind != tokWord || intervalRank[u] == 0 {
		return ""
	}
	return u
}

// intervalValue computes the value of an interval from its text.
func (p *parser) intervalValue(l *Literal, at diag.Pos) {
	months, seconds, nanos, err := readInterval(l.Text, l.Unit)
	if err != "" {
		p.soft(at, fmt.Sprintf("'%s' is no interval of this unit: %s", l.Text, err), "write INTERVAL '1' DAY, INTERVAL '100' DAY(3), INTERVAL '1-2' YEAR TO MONTH or INTERVAL '1 02:03:04.5' DAY TO SECOND")
		return
	}
	l.Nanos = nanos
	l.Int = seconds
	if l.Unit.Months() {
		l.Int = months
	}
}
