package orc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// readerSet makes column readers.
type readerSet struct{ mem memory.Allocator }

// column makes the reader of node n as type t; n is nil for a missing column.
func (s readerSet) column(n *node, t columnar.DataType) (columnReader, error) {
	if t.Kind == columnar.Invalid || t.Kind == columnar.Variant {
		return nil, &UnsupportedError{Feature: "type " + t.String()}
	}
	dt := columnar.ArrowType(t)
	if n == nil {
		return &missingReader{dt: dt, mem: zeroing(s.mem)}, nil
	}
	base := readBase{node: n, dt: dt, mem: s.mem}
	kind := n.info.kind
	switch {
	case t.Kind == columnar.Boolean && kind == kindBoolean:
		return &boolColumnReader{readBase: base}, nil
	case isIntKind(t.Kind) && kind >= kindByte && kind <= kindLong && intBytes(kind) <= intWidth(dt),
		t.Kind == columnar.Date && kind == kindDate,
		t.Kind == columnar.Time && kind == kindInt:
		return &intReader{readBase: base, width: intWidth(dt)}, nil
	case t.Kind == columnar.Float && kind == kindFloat:
		return &floatReader{readBase: base, width: 4}, nil
	case t.Kind == columnar.Double && kind == kindDouble:
		return &floatReader{readBase: base, width: 8}, nil
	case t.Kind == columnar.Decimal && kind == kindDecimal:
		return &decimalReader{readBase: base, scale: int64(t.Scale)}, nil
	case t.IsText() && (kind == kindString || kind == kindVarchar || kind == kindChar),
		t.IsBytes() && kind == kindBinary:
		return &bytesReader{readBase: base}, nil
	case (t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ) && (kind == kindTimestamp || kind == kindTimestampInstant):
		return &timestampReader{readBase: base, perSecond: unitsPerSecond(t), factors: subFactors(unitsPerSecond(t))}, nil
	case t.IsNested():
		return s.nested(base, t)
	default:
		return nil, mismatch(n, t)
	}
}

// zeroing gives an allocator of cleared memory, which arrays of nulls count on.
func zeroing(mem memory.Allocator) memory.Allocator {
	if p, ok := mem.(*columnar.Pool); ok {
		return p.Zeroed()
	}
	return mem
}

func mismatch(n *node, t columnar.DataType) error {
	return &UnsupportedError{Feature: fmt.Sprintf("reading %s as %s", n.info.kind, t)}
}

func (s readerSet) nested(base readBase, t columnar.DataType) (columnReader, error) {
	n := base.node
	switch {
	case t.Kind == columnar.Row && n.info.kind == kindStruct:
		c := &structReader{readBase: base}
		for _, f := range t.Fields {
			child, err := s.column(n.child(f.Name), f.Type)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			c.children = append(c.children, child)
		}
		return c, nil
	case t.Kind == columnar.Array && n.info.kind == kindList:
		child, err := s.column(n.children[0], *t.Elem)
		return &listReader{readBase: base, children: []columnReader{child}}, err
	case (t.Kind == columnar.Map || t.Kind == columnar.Multiset) && n.info.kind == kindMap:
		keyType, valueType := t.Elem, columnar.Of(columnar.Int).NotNull()
		if t.Kind == columnar.Map {
			keyType, valueType = t.Key, *t.Elem
		}
		key, err := s.column(n.children[0], *keyType)
		if err != nil {
			return nil, err
		}
		value, err := s.column(n.children[1], valueType)
		return &listReader{readBase: base, children: []columnReader{key, value}}, err
	default:
		return nil, mismatch(n, t)
	}
}

func isIntKind(k columnar.Kind) bool { return k >= columnar.TinyInt && k <= columnar.BigInt }

func intWidth(dt arrow.DataType) int {
	if w, ok := dt.(arrow.FixedWidthDataType); ok {
		return w.BitWidth() / 8
	}
	return 8
}

func intBytes(k typeKind) int { return 1 << (k - kindByte) }
