package avro

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// decoderOf gives what appends a value of node n to b, whose type is f's. A
// union with null may be anywhere.
func decoderOf(f columnar.Field, n *node, b array.Builder) (func(*cursor), error) {
	switch {
	case n.kind == kindUnion:
		return unionDecoder(f, n, b)
	case n.kind == kindNull:
		return func(*cursor) { b.AppendNull() }, nil
	case !f.Type.IsNested():
		return leafDecoder(f, n.kind, b)
	}
	switch b := b.(type) {
	case *array.MapBuilder: // before lists, which it is one of
		return mapDecoder(f, n, b)
	case *array.ListBuilder:
		if n.kind != kindArray {
			break
		}
		item, err := decoderOf(partsOf(f.Type)[0], n.items[0], b.ValueBuilder())
		if err != nil {
			return nil, err
		}
		return func(c *cursor) {
			b.Append(true)
			c.eachItem(item)
		}, nil
	case *array.StructBuilder:
		if n.kind == kindRecord && f.Type.Kind == columnar.Row {
			return recordDecoder(f, n, b)
		}
	}
	return nil, mismatch(f, n.kind)
}

func mismatch(f columnar.Field, kind string) error {
	return fmt.Errorf("column %s of type %s is %s in the file", f.Name, f.Type, kind)
}

func unionDecoder(f columnar.Field, n *node, b array.Builder) (func(*cursor), error) {
	branches := make([]func(*cursor), len(n.items))
	for i, item := range n.items {
		if item.kind == kindUnion { // Avro has none
			return nil, mismatch(f, item.kind)
		}
		var err error
		if branches[i], err = decoderOf(f, item, b); err != nil {
			return nil, err
		}
	}
	if len(branches) == 0 {
		return nil, mismatch(f, n.kind)
	}
	return func(c *cursor) { branches[c.long(0, int64(len(branches))-1)](c) }, nil
}

// mapDecoder reads a map of Avro, or an array of records of key and value.
func mapDecoder(f columnar.Field, n *node, b *array.MapBuilder) (func(*cursor), error) {
	parts := partsOf(f.Type)
	keyNode, valueNode := &node{kind: kindBytes}, (*node)(nil)
	switch {
	case n.kind == kindMap:
		valueNode = n.items[0]
	case n.kind == kindArray && n.items[0].kind == kindRecord && len(n.items[0].items) == 2:
		keyNode, valueNode = n.items[0].items[0], n.items[0].items[1]
	default:
		return nil, mismatch(f, n.kind)
	}
	key, err := decoderOf(parts[0], keyNode, b.KeyBuilder())
	if err != nil {
		return nil, err
	}
	value, err := decoderOf(parts[1], valueNode, b.ItemBuilder())
	if err != nil {
		return nil, err
	}
	return func(c *cursor) {
		b.Append(true)
		c.eachItem(func(c *cursor) {
			key(c)
			value(c)
		})
	}, nil
}

// recordDecoder matches the fields of a row by name. Fields that the file lacks are null.
func recordDecoder(f columnar.Field, n *node, b *array.StructBuilder) (func(*cursor), error) {
	at := make(map[string]int, len(f.Type.Fields))
	for i, k := range f.Type.Fields {
		at[k.Name] = i
	}
	found := make([]bool, len(f.Type.Fields))
	fields := make([]func(*cursor), len(n.items))
	for i, item := range n.items {
		k, ok := at[n.names[i]]
		if !ok || found[k] {
			fields[i] = func(c *cursor) { c.skip(item, 0) }
			continue
		}
		found[k] = true
		var err error
		if fields[i], err = decoderOf(f.Type.Fields[k], item, b.FieldBuilder(k)); err != nil {
			return nil, err
		}
	}
	var absent []array.Builder
	for k, ok := range found {
		if !ok {
			absent = append(absent, b.FieldBuilder(k))
		}
	}
	return func(c *cursor) {
		b.Append(true)
		for _, field := range fields {
			field(c)
		}
		for _, a := range absent {
			a.AppendNull()
		}
	}, nil
}

// leafDecoder gives what appends a value of the wire form kind to b.
func leafDecoder(f columnar.Field, kind string, b array.Builder) (func(*cursor), error) {
	mismatch := fmt.Errorf("column %s of type %s is %s in the file", f.Name, f.Type, kind)
	if want := wireOf(f.Type); want != kind {
		return nil, mismatch
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(c *cursor) { b.Append(c.byte() != 0) }, nil
	case *array.Int8Builder:
		return func(c *cursor) { b.Append(int8(c.long(math.MinInt8, math.MaxInt8))) }, nil
	case *array.Int16Builder:
		return func(c *cursor) { b.Append(int16(c.long(math.MinInt16, math.MaxInt16))) }, nil
	case *array.Int32Builder:
		return func(c *cursor) { b.Append(int32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.Int64Builder:
		return func(c *cursor) { b.Append(c.long(math.MinInt64, math.MaxInt64)) }, nil
	case *array.Date32Builder:
		return func(c *cursor) { b.Append(arrow.Date32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.Time32Builder:
		return func(c *cursor) { b.Append(arrow.Time32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.TimestampBuilder:
		if f.Type.Precision > 6 {
			return nil, mismatch
		}
		return func(c *cursor) { b.Append(arrow.Timestamp(c.long(math.MinInt64, math.MaxInt64))) }, nil
	case *array.Float32Builder:
		return func(c *cursor) { b.Append(math.Float32frombits(binary.LittleEndian.Uint32(c.take(4)))) }, nil
	case *array.Float64Builder:
		return func(c *cursor) { b.Append(math.Float64frombits(binary.LittleEndian.Uint64(c.take(8)))) }, nil
	case *array.Decimal128Builder:
		return func(c *cursor) { b.Append(c.decimal()) }, nil
	case *array.StringBuilder:
		return func(c *cursor) { b.Append(string(c.bytes())) }, nil
	case *array.BinaryBuilder:
		return func(c *cursor) { b.Append(c.bytes()) }, nil
	default:
		return nil, mismatch
	}
}

func wireOf(t columnar.DataType) string {
	switch t.Kind {
	case columnar.Boolean:
		return kindBoolean
	case columnar.Float:
		return kindFloat
	case columnar.Double:
		return kindDouble
	case columnar.Decimal, columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return kindBytes
	default:
		return kindInt
	}
}
