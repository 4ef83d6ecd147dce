package orc

import (
	"fmt"
	"slices"

	"leat/internal/columnar"
)

// columnSet makes the column writers of a file, in the order of the type list.
type columnSet struct {
	codec        compressor
	block        int
	noDictionary []string
	share        float64
	all          []columnWriter
	outs         []*outStream
}

func (s *columnSet) fields(fields []columnar.Field, top bool) ([]columnWriter, error) {
	out := make([]columnWriter, len(fields))
	for i, f := range fields {
		c, err := s.add(f.Type, !top || !slices.Contains(s.noDictionary, f.Name))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		out[i] = c
	}
	return out, nil
}

// out makes a stream, which Writer.Close closes.
func (s *columnSet) out() *outStream {
	o := newOutStream(s.codec, s.block)
	s.outs = append(s.outs, o)
	return o
}

// add makes the writer of type t and of its children.
func (s *columnSet) add(t columnar.DataType, dictionary bool) (columnWriter, error) {
	base := newColumnBase(len(s.all), t, s.out())
	at := len(s.all)
	s.all = append(s.all, nil)
	c, err := s.make(base, t, dictionary)
	s.all[at] = c
	return c, err
}

func (s *columnSet) make(base columnBase, t columnar.DataType, dictionary bool) (columnWriter, error) {
	switch t.Kind {
	case columnar.Boolean:
		return &boolColumn{columnBase: base, data: boolWriter{bytes: byteWriter{out: s.out()}}}, nil
	case columnar.TinyInt:
		return &byteColumn{columnBase: base, data: byteWriter{out: s.out()}}, nil
	case columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		return &intColumn{columnBase: base, arrow: columnar.ArrowType(t).ID(), data: intWriter{out: s.out(), signed: true}}, nil
	case columnar.Float, columnar.Double:
		return &floatColumn{columnBase: base, arrow: columnar.ArrowType(t).ID(), data: s.out()}, nil
	case columnar.Decimal:
		return &decimalColumn{columnBase: base, scale: int64(t.Scale), data: s.out(), scales: intWriter{out: s.out(), signed: true}}, nil
	case columnar.Timestamp, columnar.TimestampLTZ:
		return &timestampColumn{columnBase: base, seconds: intWriter{out: s.out(), signed: true}, nanos: intWriter{out: s.out()}}, nil
	case columnar.Char, columnar.VarChar:
		c := &stringColumn{columnBase: base, text: true, data: s.out(), lengths: intWriter{out: s.out()}}
		if t.Kind == columnar.Char {
			c.charLength = t.Length
		}
		if dictionary && s.share > 0 {
			c.dict, c.share, c.blob = newDictionary(), s.share, s.out()
		}
		return c, nil
	case columnar.Binary, columnar.VarBinary:
		return &stringColumn{columnBase: base, data: s.out(), lengths: intWriter{out: s.out()}}, nil
	case columnar.Row:
		children, err := s.fields(t.Fields, false)
		return &structColumn{columnBase: base, children: children}, err
	default:
		return s.list(base, t)
	}
}

func (s *columnSet) list(base columnBase, t columnar.DataType) (columnWriter, error) {
	c := &listColumn{columnBase: base, lengths: intWriter{out: s.out()}}
	var types []columnar.DataType
	switch t.Kind {
	case columnar.Array:
		types = []columnar.DataType{*t.Elem}
	case columnar.Map:
		types = []columnar.DataType{*t.Key, *t.Elem}
	case columnar.Multiset:
		types = []columnar.DataType{*t.Elem, columnar.Of(columnar.Int).NotNull()}
	default:
		return nil, &UnsupportedError{Feature: "type " + t.String()}
	}
	for _, ct := range types {
		child, err := s.add(ct, true)
		if err != nil {
			return nil, err
		}
		c.children = append(c.children, child)
	}
	return c, nil
}
