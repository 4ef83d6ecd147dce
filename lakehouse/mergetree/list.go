package mergetree

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// listFold is collect, merge_map and nested_update: the entries of the lists of
// a key are put together, none of them is copied before the end. Entries are
// compared one by one, so a list that grows long costs the square of its length.
type listFold struct {
	gatherLists
	rule ColumnSpec
	// unique keeps one of equal entries, the older one for collect, else the younger one.
	unique bool
	// equal compares entries: elements, keys of maps, or the key fields of rows,
	// which are at fields.
	equal  []valueOrder
	fields []int
	cur    []rowRef
}

func newListFold(f columnar.Field, rule ColumnSpec, keep bool) (columnFold, error) {
	l := &listFold{rule: rule, unique: rule.Func == "merge_map" || rule.Distinct || len(rule.NestedKey) > 0}
	types := []columnar.DataType{}
	switch {
	case rule.Func == "merge_map" && f.Type.Kind == columnar.Map:
		types = append(types, *f.Type.Key)
	case rule.Func == "collect" && f.Type.Kind == columnar.Array:
		types = append(types, *f.Type.Elem)
	case rule.Func == "nested_update" && f.Type.Kind == columnar.Array && f.Type.Elem.Kind == columnar.Row:
		schema := columnar.Schema{Fields: f.Type.Elem.Fields}
		for _, k := range rule.NestedKey {
			at := schema.Index(k)
			if at < 0 {
				return nil, wrongType(f, rule)
			}
			l.fields, types = append(l.fields, at), append(types, schema.Fields[at].Type)
		}
		if len(types) == 0 {
			types = append(types, *f.Type.Elem)
		}
	default:
		return nil, wrongType(f, rule)
	}
	g, err := newGatherNested(gatherBase{typ: columnar.ArrowType(f.Type), keep: keep}, f.Type)
	if err != nil {
		return nil, err
	}
	lists, ok := g.(*gatherLists)
	if !ok {
		return nil, wrongType(f, rule)
	}
	l.gatherLists = *lists
	for _, t := range types {
		o, err := newValueOrder(t)
		if err != nil {
			return nil, err
		}
		l.equal = append(l.equal, o)
	}
	return l, nil
}

func (l *listFold) bind(arrs []arrow.Array) {
	l.gatherLists.bind(arrs)
	if l.fields == nil {
		l.equal[0].bind(l.parts[0])
		return
	}
	for i, at := range l.fields {
		keys := make([]arrow.Array, len(l.parts[0]))
		for k, a := range l.parts[0] {
			keys[k] = a.(*array.Struct).Field(at)
		}
		l.equal[i].bind(keys)
	}
}

// find gives where an entry stands that equals e, -1 for nowhere.
func (l *listFold) find(e rowRef) int {
	return slices.IndexFunc(l.cur, func(o rowRef) bool {
		for _, v := range l.equal {
			if v.compare(o, e) != 0 {
				return false
			}
		}
		return true
	})
}

func (l *listFold) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	offs := scratch(&l.out, len(g.from)+1, l.keep)
	offs[0] = 0
	l.entries = l.entries[:0]
	bits := newBits(&l.gatherBase, len(g.from))
	for i, a := range g.from {
		if !l.group(g.refs[a:g.to[i]], acts[a:g.to[i]]) {
			bits.clear(i)
		}
		l.entries = append(l.entries, l.cur...)
		offs[i+1] = int32(len(l.entries))
	}
	kids := make([]arrow.Array, len(l.kids))
	for i, k := range l.kids {
		kids[i] = k.gather(l.entries)
	}
	buf := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offs))
	if m, ok := l.typ.(*arrow.MapType); ok {
		kids = []arrow.Array{l.nested(m.Elem(), len(l.entries), 0, kids, nil)}
	}
	return l.nested(l.typ, len(g.from), bits.nulls, kids, bits.buffer(), buf), nil
}

// group puts the entries of one key into cur; false for null.
func (l *listFold) group(refs []rowRef, acts []uint8) (ok bool) {
	l.cur = l.cur[:0]
	for k, r := range refs {
		act := actAdd
		if len(refs) > 1 {
			act = acts[k]
		}
		switch {
		case act == actClear:
			l.cur, ok = l.cur[:0], false
		case act == actSkip || l.isNull(r) || act >= actRetract && (l.rule.IgnoreRetract || !ok):
		case act >= actRetract:
			l.remove(r)
		case len(refs) == 1:
			l.each(r, func(e rowRef) { l.cur = append(l.cur, e) })
			ok = true
		default:
			l.add(r, act == actOlder)
			ok = true
		}
	}
	return ok
}

func (l *listFold) each(r rowRef, f func(rowRef)) {
	starts := l.starts[r.batch]
	for e := starts[r.row]; e < starts[r.row+1]; e++ {
		f(rowRef{batch: r.batch, row: uint32(e)})
	}
}

// add takes the entries of row r in; those of an older row count as if they had come first.
func (l *listFold) add(r rowRef, older bool) {
	at := 0
	l.each(r, func(e rowRef) {
		if l.unique {
			if i := l.find(e); i >= 0 {
				if !older && l.rule.Func != "collect" {
					l.cur[i] = e
				}
				return
			}
		}
		switch {
		case l.rule.Func == "nested_update" && l.rule.Limit > 0 && len(l.cur) >= l.rule.Limit:
		case older && !l.unique:
			l.cur = slices.Insert(l.cur, at, e)
			at++
		default:
			l.cur = append(l.cur, e)
		}
	})
}

// remove takes away what the entries of row r equal: one for each, of
// nested_update all.
func (l *listFold) remove(r rowRef) {
	l.each(r, func(e rowRef) {
		for i := l.find(e); i >= 0; i = l.find(e) {
			l.cur = slices.Delete(l.cur, i, i+1)
			if l.rule.Func != "nested_update" {
				return
			}
		}
	})
}
