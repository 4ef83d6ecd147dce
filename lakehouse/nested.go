package lakehouse

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// stored gives the part of type from, that of a column in an older file, which
// reading it as type to takes: fields of rows are matched by id. ok is false
// where that is nothing: a row without any such field reads as NULL, as in Paimon.
func stored(from, to columnar.DataType) (part columnar.DataType, ok bool) {
	if from.Kind != to.Kind {
		return from, true
	}
	switch to.Kind {
	case columnar.Array:
		elem, ok := stored(*from.Elem, *to.Elem)
		from.Elem = &elem
		return from, ok
	case columnar.Map:
		key, ok1 := stored(*from.Key, *to.Key)
		elem, ok2 := stored(*from.Elem, *to.Elem)
		from.Key, from.Elem = &key, &elem
		return from, ok1 && ok2
	case columnar.Row:
		var kept []columnar.Field
		for _, f := range from.Fields {
			now := fieldByID(to.Fields, f.ID)
			if now < 0 {
				continue
			}
			if f.Type, ok = stored(f.Type, to.Fields[now].Type); ok {
				kept = append(kept, f)
			}
		}
		from.Fields = kept
		return from, len(kept) > 0
	default:
		return from, true
	}
}

func fieldByID(fields []columnar.Field, id int) int {
	for i := range fields {
		if fields[i].ID == id {
			return i
		}
	}
	return -1
}

// sameNested reports whether arrays of type from are arrays of type to, ids of fields included.
func sameNested(from, to columnar.DataType) bool {
	if from.Kind != to.Kind || !arrow.TypeEqual(columnar.ArrowType(from), columnar.ArrowType(to)) {
		return false
	}
	switch to.Kind {
	case columnar.Array, columnar.Multiset:
		return sameNested(*from.Elem, *to.Elem)
	case columnar.Map:
		return sameNested(*from.Key, *to.Key) && sameNested(*from.Elem, *to.Elem)
	case columnar.Row:
		for i := range to.Fields {
			if from.Fields[i].ID != to.Fields[i].ID || !sameNested(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	default:
		return from.EqualIgnoreNull(to)
	}
}

// checkCast reports the part of a column of type from that leat cannot read as to.
func checkCast(from, to columnar.DataType) error {
	nested := from.IsNested() || to.IsNested()
	switch {
	case (!nested || to.IsText()) && CastOf(from, to.AsNullable()) != CastNone, nested && from.EqualIgnoreNull(to):
		return nil
	case from.Kind == to.Kind && to.Kind == columnar.Array:
		return checkCast(*from.Elem, *to.Elem)
	case from.Kind == to.Kind && to.Kind == columnar.Map && from.Key.EqualIgnoreNull(*to.Key):
		return checkCast(*from.Elem, *to.Elem)
	case from.Kind == to.Kind && to.Kind == columnar.Row:
		for _, f := range to.Fields {
			if old := fieldByID(from.Fields, f.ID); old >= 0 {
				if err := checkCast(from.Fields[old].Type, f.Type); err != nil {
					return fmt.Errorf("field %s: %w", f.Name, err)
				}
			}
		}
		return nil
	default:
		return fmt.Errorf("it was %s and is %s now, which Paimon has no cast for", from, to)
	}
}

// castNested converts a, of nested type from, to the form of type to, both of one kind.
func castNested(a arrow.Array, from, to columnar.DataType) (arrow.Array, error) {
	if sameNested(from, to) {
		a.Retain()
		return a, nil
	}
	switch a := a.(type) {
	case *array.Map: // before lists
		keys, items := a.Keys(), a.Items()
		if to.Kind == columnar.Map {
			var err error
			if items, err = castArray(items, *from.Elem, *to.Elem); err != nil {
				return nil, err
			}
			defer items.Release()
		}
		want := columnar.ArrowType(to).(*arrow.MapType)
		entries := array.NewData(want.Elem(), keys.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{keys.Data(), items.Data()}, 0, 0)
		defer entries.Release()
		return withEntries(a, want, entries), nil
	case *array.List:
		entries, err := castArray(a.ListValues(), *from.Elem, *to.Elem)
		if err != nil {
			return nil, err
		}
		defer entries.Release()
		return withEntries(a, columnar.ArrowType(to), entries.Data()), nil
	case *array.Struct:
		return castStruct(a, from, to)
	default:
		return nil, fmt.Errorf("casting %s to %s: no rule", a.DataType(), to)
	}
}

// withEntries gives a list or map with other entries, as many as it has.
func withEntries(a arrow.Array, t arrow.DataType, entries arrow.ArrayData) arrow.Array {
	d := a.Data()
	data := array.NewData(t, a.Len(), d.Buffers(), []arrow.ArrayData{entries}, a.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

func castStruct(a *array.Struct, from, to columnar.DataType) (arrow.Array, error) {
	kids := make([]arrow.ArrayData, len(to.Fields))
	for i, f := range to.Fields {
		var kid arrow.Array
		if old := fieldByID(from.Fields, f.ID); old < 0 {
			kid = array.MakeArrayOfNull(memory.DefaultAllocator, columnar.ArrowType(f.Type), a.Len())
		} else {
			var err error
			if kid, err = castArray(a.Field(old), from.Fields[old].Type, f.Type); err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
		defer kid.Release()
		kids[i] = kid.Data()
	}
	// The fields of a slice begin where it does, its bitmap does not.
	var valid *memory.Buffer
	if a.NullN() > 0 {
		bits := make([]byte, bitutil.BytesForBits(int64(a.Len())))
		bitutil.CopyBitmap(a.NullBitmapBytes(), a.Data().Offset(), a.Len(), bits, 0)
		valid = memory.NewBufferBytes(bits)
	}
	data := array.NewData(columnar.ArrowType(to), a.Len(), []*memory.Buffer{valid}, kids, a.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}
