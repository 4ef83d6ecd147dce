package mergetree

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/mergetree/sketch"
)

// setUnions are the functions over serialized sets. The order of values only
// matters to how exact an HLL sketch is.
var setUnions = map[string]sketch.Union{
	"rbm32": sketch.Bitmap32, "rbm64": sketch.Bitmap64, "theta_sketch": sketch.Theta, "hll_sketch": sketch.HLL,
}

// setFold unites the sets of a key, which are bytes. One alone stays as it is.
type setFold struct {
	gatherTexts
	rule  ColumnSpec
	union sketch.Union
	cur   [][]byte
}

func newSetFold(f columnar.Field, rule ColumnSpec, keep bool) (columnFold, error) {
	if f.Type.Kind != columnar.VarBinary {
		return nil, wrongType(f, rule)
	}
	base := gatherBase{typ: columnar.ArrowType(f.Type), keep: keep}
	return &setFold{gatherTexts: gatherTexts{gatherBase: base}, rule: rule, union: setUnions[rule.Func]}, nil
}

func (n *setFold) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	offs := scratch(&n.offs32, len(g.from)+1, n.keep)
	offs[0] = 0
	if n.keep {
		n.out = nil
	}
	out := n.out[:0]
	bits := newBits(&n.gatherBase, len(g.from))
	for i, a := range g.from {
		if err := n.group(g.refs[a:g.to[i]], acts[a:g.to[i]]); err != nil {
			return nil, err
		}
		switch len(n.cur) {
		case 0:
			bits.clear(i)
		case 1:
			out = append(out, n.cur[0]...)
		default:
			v, err := n.union(n.cur)
			if err != nil {
				return nil, fmt.Errorf("uniting values by %s: %w", n.rule.Func, err)
			}
			out = append(out, v...)
		}
		if len(out) >= 1<<31 {
			return nil, errTextTooLong
		}
		offs[i+1] = int32(len(out))
	}
	n.out = out
	return n.array(len(g.from), bits.nulls, bits.buffer(), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offs)), memory.NewBufferBytes(out)), nil
}

// group collects the values of one key in cur, none for null.
func (n *setFold) group(refs []rowRef, acts []uint8) error {
	n.cur = n.cur[:0]
	for k, r := range refs {
		act := actAdd
		if len(refs) > 1 {
			act = acts[k]
		}
		switch {
		case act == actClear:
			n.cur = n.cur[:0]
		case act >= actRetract && !n.rule.IgnoreRetract:
			return noRetract(n.rule)
		case act == actSkip || act >= actRetract || n.isNull(r):
		case act == actOlder:
			n.cur = slices.Insert(n.cur, 0, n.value(r))
		default:
			n.cur = append(n.cur, n.value(r))
		}
	}
	return nil
}
