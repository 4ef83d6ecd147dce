package mysqlrow

import (
	"bytes"
	"slices"
	"strings"
)

// KeySelect gives the expressions whose texts ParseEdge reads, one a column of
// the chunk key. Text and bytes come as hexadecimal digits, labels and bits as numbers.
func (p *Plan) KeySelect() []string {
	out := make([]string, len(p.chunk))
	for i := range p.chunk {
		k := &p.chunk[i]
		switch {
		case k.form == keyBytes || k.form == keyText:
			out[i] = "HEX(" + k.name + ")"
		case k.family == famFloat:
			out[i] = k.name + "+0e0"
		case k.family == famBit || k.family == famEnum || k.family == famSet:
			out[i] = k.name + "+0"
		default:
			out[i] = k.name
		}
	}
	return out
}

// KeyColumns gives the quoted columns of the chunk key, for ORDER BY.
func (p *Plan) KeyColumns() []string {
	out := make([]string, len(p.chunk))
	for i := range p.chunk {
		out[i] = p.chunk[i].name
	}
	return out
}

// literal writes the value that the server printed as SQL that compares with the column.
func (k *keyPart) literal(text string) string {
	switch {
	case k.form == keyText:
		return "_" + k.charset + " X'" + text + "'"
	case k.form == keyBytes:
		return "X'" + text + "'"
	case k.family == famFloat && !strings.ContainsAny(text, "eE"):
		return text + "e0"
	case k.family == famDate || k.family == famDatetime || k.family == famTimestamp || k.family == famTime:
		return "'" + text + "'"
	default:
		return text
	}
}

// Between writes the condition of the keys above lo up to hi, hi included. Each
// of its parts is one range of an index over the chunk key, which the server
// does not see in a comparison of rows such as (a, b) > (1, 2).
func (p *Plan) Between(lo, hi Edge) string {
	if lo.Open() && hi.Open() {
		return "1 = 1"
	}
	r := rangeSQL{plan: p, lo: lo, hi: hi}
	same := 0
	for !lo.Open() && !hi.Open() && same < len(p.chunk)-1 && lo.parts[same] == hi.parts[same] {
		same++
	}
	if !lo.Open() {
		for i := len(p.chunk) - 1; i > same; i-- {
			r.add(r.equal(lo, i), r.compare(i, ">", lo))
		}
	}
	switch last := same == len(p.chunk)-1; {
	case lo.Open():
		r.add(r.compare(same, map[bool]string{true: "<=", false: "<"}[last], hi))
	case hi.Open():
		r.add(r.compare(same, ">", lo))
	default:
		r.add(r.equal(lo, same), r.compare(same, ">", lo), r.compare(same, map[bool]string{true: "<=", false: "<"}[last], hi))
	}
	if !hi.Open() {
		for i := same + 1; i < len(p.chunk); i++ {
			op := "<"
			if i == len(p.chunk)-1 {
				op = "<="
			}
			r.add(r.equal(hi, i), r.compare(i, op, hi))
		}
	}
	if len(r.any) == 1 {
		return r.any[0]
	}
	return "(" + strings.Join(r.any, ") OR (") + ")"
}

// rangeSQL collects the parts of a condition.
type rangeSQL struct {
	plan   *Plan
	lo, hi Edge
	any    []string
}

// add adds a part of which all conditions hold.
func (r *rangeSQL) add(all ...string) {
	r.any = append(r.any, strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " AND "))
}

// equal says that the first n columns are those of e.
func (r *rangeSQL) equal(e Edge, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = r.compare(i, "=", e)
	}
	return strings.Join(list, " AND ")
}

func (r *rangeSQL) compare(i int, op string, e Edge) string {
	k := &r.plan.chunk[i]
	return k.name + " " + op + " " + k.literal(e.Texts[i])
}

// pack gives the packed form of a number that the server printed.
func (f *decimalForm) pack(text []byte, scale int) ([]byte, bool) {
	neg := bytes.HasPrefix(text, []byte("-"))
	whole, fraction, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	digits := 0
	for _, g := range f.groups {
		digits += g.digits
	}
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) > digits-scale || len(fraction) > scale {
		return nil, false
	}
	all := bytes.Repeat([]byte("0"), digits)
	copy(all[digits-scale-len(whole):], whole)
	copy(all[digits-scale:], fraction)
	out := make([]byte, 0, f.size)
	for _, g := range f.groups {
		var x uint32
		for _, d := range all[:g.digits] {
			if d < '0' || d > '9' {
				return nil, false
			}
			x = x*10 + uint32(d-'0')
		}
		all = all[g.digits:]
		for i := g.bytes - 1; i >= 0; i-- {
			out = append(out, byte(x>>(8*i)))
		}
	}
	out[0] ^= 0x80
	if neg {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	return out, true
}
