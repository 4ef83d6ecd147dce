package mysqlrow

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// Witness shows rows that a plan cannot read, as JSON objects with a member for
// each of its columns: numbers as numbers, JSON as it is, bytes as 0x…, all else
// as the text of the server. A value that nothing can be made of is the text of
// its bytes. It is for one goroutine, and for a few rows: it keeps nothing.
type Witness struct {
	plan *Plan
	vecs []vec
}

// NewWitness makes a witness of the rows of p.
func NewWitness(p *Plan) (*Witness, error) {
	targets := make([]Target, len(p.targets))
	for i, t := range p.targets {
		targets[i] = Target{Column: t.Column, Type: shown(p.cols[t.Column])}
	}
	opt := p.opt
	opt.ZeroDate = ZeroDateText
	plan, err := NewPlan(p.cols, targets, opt)
	if err != nil {
		return nil, err
	}
	w := &Witness{plan: plan, vecs: make([]vec, len(plan.cells))}
	for i := range plan.cells {
		w.vecs[i] = newVec(plan.cells[i].store, plan.cells[i].elem, plan.cells[i].zone)
	}
	return w, nil
}

// shown is the type in which values of a column are shown.
func shown(c Column) columnar.DataType {
	switch {
	case c.family() == famFloat:
		return columnar.Of(columnar.Double)
	case fits(c, columnar.StringType()):
		return columnar.StringType()
	default:
		return columnar.BytesType()
	}
}

// Image shows a row image of the table that m describes; an image that cannot be
// told apart into values is the text of its bytes.
func (w *Witness) Image(m TableMap, image []byte) string {
	l, err := w.plan.Bind(m)
	if err != nil || len(image) < l.nulls {
		return hexText(image)
	}
	values := make([]string, len(w.vecs))
	at := l.nulls
	for i := range l.steps {
		s := &l.steps[i]
		isNull := image[i>>3]&(1<<(i&7)) != 0
		if isNull && s.cell != nil {
			values[s.cell.target] = "null"
		}
		if isNull {
			continue
		}
		n := s.skip(image[at:])
		if n < 0 {
			return hexText(image)
		}
		if s.cell != nil {
			value := image[at : at+n]
			values[s.cell.target] = w.show(s.cell, value[min(s.prefix, n):], func(v *vec) bool { return s.read(s, v, value) >= 0 })
		}
		at += n
	}
	return w.object(values)
}

// Packet shows a row packet of the text protocol, selected by SelectList of the plan.
func (w *Witness) Packet(packet []byte) string {
	values := make([]string, len(w.vecs))
	rest := packet
	for i := range w.plan.cells {
		c := &w.plan.cells[i]
		field, isNull, n := nextField(rest)
		if n == 0 {
			return hexText(packet)
		}
		rest = rest[n:]
		values[i] = "null"
		if !isNull {
			values[i] = w.show(c, field, func(v *vec) bool { return c.text(c, v, field) == okay })
		}
	}
	return w.object(values)
}

// show gives the JSON of one value, which read stores; raw is what it is made of.
func (w *Witness) show(c *cell, raw []byte, read func(v *vec) bool) string {
	v := &w.vecs[c.target]
	v.reserve(1, len(raw))
	defer func() { v.nulls = v.nulls[:0] }()
	if !read(v) {
		return hexText(raw)
	}
	col := w.plan.cols[w.plan.targets[c.target].Column]
	switch {
	case len(v.nulls) > 0:
		return hexText(raw) // no value of the type stands for it
	case c.store == storeF64:
		if math.IsNaN(v.f64[0]) || math.IsInf(v.f64[0], 0) {
			return hexText(raw)
		}
		return strconv.FormatFloat(v.f64[0], 'g', -1, 64)
	case w.plan.targets[c.target].Type.Kind == columnar.VarBinary:
		return hexText(v.data)
	case col.family() == famInt, col.family() == famDecimal, col.family() == famYear, col.family() == famJSON:
		if json.Valid(v.data) {
			return string(v.data)
		}
	default:
	}
	return jsonText(string(v.data))
}

// object writes the object with the names of the columns in their order.
func (w *Witness) object(values []string) string {
	out := []byte{'{'}
	for i := range w.plan.cells {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonText(w.plan.cells[i].name)...), ':'), values[i]...)
	}
	return string(append(out, '}'))
}

func hexText(b []byte) string { return `"0x` + hex.EncodeToString(b) + `"` }

func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return hexText([]byte(s))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
