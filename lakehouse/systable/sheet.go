package systable

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Sheet builds a small batch cell by cell, each row from left to right. A cell
// of another type than its column becomes NULL.
type Sheet struct {
	schema *columnar.Schema
	cols   []array.Builder
	at     int
	rows   int
}

// NewSheet makes an empty sheet.
func NewSheet(schema *columnar.Schema) *Sheet {
	return &Sheet{schema: schema, cols: columnar.NewBuilders(memory.DefaultAllocator, schema)}
}

// next gives the column of the next cell.
func (s *Sheet) next() array.Builder {
	b := s.cols[s.at]
	if s.at++; s.at == len(s.cols) {
		s.at = 0
		s.rows++
	}
	return b
}

// Text adds text.
func (s *Sheet) Text(v string) *Sheet {
	if b, ok := s.next().(*array.StringBuilder); ok {
		b.Append(v)
	}
	return s
}

// TextOr adds text, NULL for nil.
func (s *Sheet) TextOr(v *string) *Sheet {
	if v == nil {
		return s.Null()
	}
	return s.Text(*v)
}

// Long adds a BIGINT, or an INT where the column is one.
func (s *Sheet) Long(v int64) *Sheet {
	switch b := s.next().(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		b.Append(int32(v))
	}
	return s
}

// LongOr adds a BIGINT, NULL for nil.
func (s *Sheet) LongOr(v *int64) *Sheet {
	if v == nil {
		return s.Null()
	}
	return s.Long(*v)
}

// Bool adds a BOOLEAN.
func (s *Sheet) Bool(v bool) *Sheet {
	if b, ok := s.next().(*array.BooleanBuilder); ok {
		b.Append(v)
	}
	return s
}

// Millis adds a TIMESTAMP(3) of epoch milliseconds as they are.
func (s *Sheet) Millis(v int64) *Sheet {
	if b, ok := s.next().(*array.TimestampBuilder); ok {
		b.Append(arrow.Timestamp(v))
	}
	return s
}

// MillisOr adds a TIMESTAMP(3), NULL for nil.
func (s *Sheet) MillisOr(v *int64) *Sheet {
	if v == nil {
		return s.Null()
	}
	return s.Millis(*v)
}

// Time adds a TIMESTAMP(3) with the wall clock of t in zone.
func (s *Sheet) Time(t time.Time, zone *time.Location) *Sheet {
	l := t.In(zone)
	_, offset := l.Zone()
	return s.Millis(t.UnixMilli() + int64(offset)*1000)
}

// Vectors adds the ranges of deletion vectors, NULL for nil.
func (s *Sheet) Vectors(all []spec.DeletionVectorMeta) *Sheet {
	list, ok := s.next().(*array.ListBuilder)
	if !ok || all == nil {
		if ok {
			list.AppendNull()
		}
		return s
	}
	list.Append(true)
	row, ok := list.ValueBuilder().(*array.StructBuilder)
	for i := 0; ok && i < len(all); i++ {
		v := &all[i]
		row.Append(true)
		for k, b := range []any{v.DataFile, v.Offset, v.Length, v.Cardinality} {
			appendCell(row.FieldBuilder(k), b)
		}
	}
	return s
}

// appendCell appends a value of a nested row; nil pointers are NULL.
func appendCell(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.StringBuilder:
		if v, ok := v.(string); ok {
			b.Append(v)
			return
		}
	case *array.Int32Builder:
		if v, ok := v.(int32); ok {
			b.Append(v)
			return
		}
	case *array.Int64Builder:
		if v, ok := v.(*int64); ok && v != nil {
			b.Append(*v)
			return
		}
	}
	b.AppendNull()
}

// Null adds NULL.
func (s *Sheet) Null() *Sheet {
	s.next().AppendNull()
	return s
}

// Batch gives the rows; the caller releases them and the sheet is empty again.
func (s *Sheet) Batch() *columnar.Batch {
	cols := make([]arrow.Array, len(s.cols))
	for i, b := range s.cols {
		cols[i] = b.NewArray()
	}
	b := columnar.NewBatch(s.schema, nil, cols, s.rows)
	s.rows = 0
	return b
}

// Column types of system tables.
var (
	long  = columnar.Of(columnar.BigInt)
	whole = columnar.Of(columnar.Int)
	text  = columnar.StringType()
	when  = columnar.TimestampOf(3)
)

// columns makes a schema of names and types in turn.
func columns(fields ...columnar.Field) *columnar.Schema {
	for i := range fields {
		fields[i].ID = i
	}
	return &columnar.Schema{Fields: fields}
}

func must(name string, t columnar.DataType) columnar.Field {
	return columnar.Field{Name: name, Type: t.NotNull()}
}

func may(name string, t columnar.DataType) columnar.Field {
	return columnar.Field{Name: name, Type: t}
}
