package mergetree

import (
	"errors"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// arrowPool allocates the small arrays of this package.
var arrowPool = memory.DefaultAllocator

// numberOps is the arithmetic of a type; ok is false where the result has no
// place in the type, which makes it null.
type numberOps[T any] struct {
	join, take func(a, b T) (v T, ok bool)
	// alone is what a retraction from nothing leaves.
	alone func(T) T
}

// numberFold is sum and product.
type numberFold[T any] struct {
	gatherFixed[T]
	rule ColumnSpec
	ops  numberOps[T]
}

func newNumberFold(f columnar.Field, rule ColumnSpec, keep bool) (columnFold, error) {
	base := gatherBase{typ: columnar.ArrowType(f.Type), keep: keep}
	product := rule.Func == "product"
	switch f.Type.Kind {
	case columnar.TinyInt:
		return &numberFold[int8]{*newGatherFixed(base, arrow.Int8Traits.CastFromBytes, 1), rule, integers[int8](product)}, nil
	case columnar.SmallInt:
		return &numberFold[int16]{*newGatherFixed(base, arrow.Int16Traits.CastFromBytes, 2), rule, integers[int16](product)}, nil
	case columnar.Int:
		return &numberFold[int32]{*newGatherFixed(base, arrow.Int32Traits.CastFromBytes, 4), rule, integers[int32](product)}, nil
	case columnar.BigInt:
		return &numberFold[int64]{*newGatherFixed(base, arrow.Int64Traits.CastFromBytes, 8), rule, integers[int64](product)}, nil
	case columnar.Float:
		return &numberFold[float32]{*newGatherFixed(base, arrow.Float32Traits.CastFromBytes, 4), rule, floats[float32](product)}, nil
	case columnar.Double:
		return &numberFold[float64]{*newGatherFixed(base, arrow.Float64Traits.CastFromBytes, 8), rule, floats[float64](product)}, nil
	case columnar.Decimal:
		return &numberFold[decimal128.Num]{*newGatherFixed[decimal128.Num](base, arrow.Decimal128Traits.CastFromBytes, 16), rule, decimals(f.Type, product)}, nil
	default:
		return nil, wrongType(f, rule)
	}
}

func integers[T int8 | int16 | int32 | int64](product bool) numberOps[T] {
	if product {
		return numberOps[T]{
			join: func(a, b T) (T, bool) { return a * b, true },
			take: func(a, b T) (T, bool) {
				if b == 0 {
					return 0, false
				}
				return a / b, true
			},
			alone: func(v T) T { return v },
		}
	}
	return numberOps[T]{
		join:  func(a, b T) (T, bool) { return a + b, true },
		take:  func(a, b T) (T, bool) { return a - b, true },
		alone: func(v T) T { return -v },
	}
}

func floats[T float32 | float64](product bool) numberOps[T] {
	if product {
		return numberOps[T]{
			join:  func(a, b T) (T, bool) { return a * b, true },
			take:  func(a, b T) (T, bool) { return a / b, true },
			alone: func(v T) T { return v },
		}
	}
	return numberOps[T]{
		join:  func(a, b T) (T, bool) { return a + b, true },
		take:  func(a, b T) (T, bool) { return a - b, true },
		alone: func(v T) T { return -v },
	}
}

func decimals(t columnar.DataType, product bool) numberOps[decimal128.Num] {
	precision, scale := int32(t.Precision), int64(t.Scale)
	fits := func(v decimal128.Num) (decimal128.Num, bool) { return v, v.FitsInPrecision(precision) }
	if !product {
		return numberOps[decimal128.Num]{
			join:  func(a, b decimal128.Num) (decimal128.Num, bool) { return fits(a.Add(b)) },
			take:  func(a, b decimal128.Num) (decimal128.Num, bool) { return fits(a.Sub(b)) },
			alone: decimal128.Num.Negate,
		}
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)
	of := func(v *big.Int) (decimal128.Num, bool) {
		if v.BitLen() > 126 {
			return decimal128.Num{}, false
		}
		return fits(decimal128.FromBigInt(v))
	}
	return numberOps[decimal128.Num]{
		join: func(a, b decimal128.Num) (decimal128.Num, bool) {
			return of(divideHalfUp(new(big.Int).Mul(a.BigInt(), b.BigInt()), unit))
		},
		take: func(a, b decimal128.Num) (decimal128.Num, bool) {
			if b.Sign() == 0 {
				return decimal128.Num{}, false
			}
			return of(divideHalfUp(new(big.Int).Mul(a.BigInt(), unit), b.BigInt()))
		},
		alone: func(v decimal128.Num) decimal128.Num { return v },
	}
}

// divideHalfUp divides and rounds half away from zero.
func divideHalfUp(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(b) >= 0 {
		if a.Sign()*b.Sign() < 0 {
			return q.Sub(q, big.NewInt(1))
		}
		return q.Add(q, big.NewInt(1))
	}
	return q
}

func (n *numberFold[T]) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	raw := scratch(&n.out, len(g.from)*n.width, n.keep)
	out := n.cast(raw)
	bits := newBits(&n.gatherBase, len(g.from))
	for i, a := range g.from {
		b := g.to[i]
		if b-a == 1 {
			r := g.refs[a]
			if n.isNull(r) {
				bits.clear(i)
				continue
			}
			out[i] = n.srcs[r.batch][r.row]
			continue
		}
		v, ok := n.group(g.refs[a:b], acts[a:b])
		if out[i] = v; !ok {
			bits.clear(i)
		}
	}
	return n.array(len(g.from), bits.nulls, bits.buffer(), memory.NewBufferBytes(raw)), nil
}

// group folds the rows of one key; ok is false for null.
func (n *numberFold[T]) group(refs []rowRef, acts []uint8) (acc T, ok bool) {
	for k, r := range refs {
		act := acts[k]
		if act == actClear {
			ok = false
			continue
		}
		if act == actSkip || n.isNull(r) || act >= actRetract && n.rule.IgnoreRetract {
			continue
		}
		v := n.srcs[r.batch][r.row]
		switch {
		case act >= actRetract && ok:
			acc, ok = n.ops.take(acc, v)
		case act >= actRetract:
			acc, ok = n.ops.alone(v), true
		case ok:
			acc, ok = n.ops.join(acc, v)
		default:
			acc, ok = v, true
		}
	}
	return acc, ok
}

// foldBits is the null bitmap of a folded column.
type foldBits struct {
	bits  []byte
	nulls int
}

func newBits(g *gatherBase, n int) *foldBits {
	b := scratch(&g.bits, int(bitutil.BytesForBits(int64(n))), g.keep)
	for i := range b {
		b[i] = 0xff
	}
	return &foldBits{bits: b}
}

func (b *foldBits) clear(i int) {
	bitutil.ClearBit(b.bits, i)
	b.nulls++
}

func (b *foldBits) buffer() *memory.Buffer {
	if b.nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(b.bits)
}

// boolFold is bool_and and bool_or.
type boolFold struct {
	gatherBools
	rule ColumnSpec
}

func (n *boolFold) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	raw := scratch(&n.out, int(bitutil.BytesForBits(int64(len(g.from)))), n.keep)
	clear(raw)
	bits := newBits(&n.gatherBase, len(g.from))
	for i, a := range g.from {
		v, ok, err := n.group(g.refs[a:g.to[i]], acts[a:g.to[i]])
		if err != nil {
			return nil, err
		}
		if !ok {
			bits.clear(i)
		}
		if v {
			bitutil.SetBit(raw, i)
		}
	}
	return n.array(len(g.from), bits.nulls, bits.buffer(), memory.NewBufferBytes(raw)), nil
}

func (n *boolFold) group(refs []rowRef, acts []uint8) (acc, ok bool, err error) {
	for k, r := range refs {
		act := actAdd
		if len(refs) > 1 {
			act = acts[k]
		}
		switch {
		case act == actClear:
			ok = false
		case act >= actRetract && !n.rule.IgnoreRetract:
			return false, false, noRetract(n.rule)
		case act == actSkip || act >= actRetract || n.isNull(r):
		default:
			v := n.srcs[r.batch].Value(int(r.row))
			switch {
			case !ok:
				acc = v
			case n.rule.Func == "bool_and":
				acc = acc && v
			default:
				acc = acc || v
			}
			ok = true
		}
	}
	return acc && ok, ok, nil
}

// textFold is listagg.
type textFold struct {
	gatherTexts
	rule ColumnSpec
	cur  []byte
}

func newTextFold(f columnar.Field, rule ColumnSpec, keep bool) *textFold {
	return &textFold{gatherTexts: gatherTexts{gatherBase: gatherBase{typ: columnar.ArrowType(f.Type), keep: keep}}, rule: rule}
}

// errTextTooLong keeps the offsets of a text column within 32 bits.
var errTextTooLong = errors.New("the joined texts of a batch are larger than 2 GiB")

func (n *textFold) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	offs := scratch(&n.offs32, len(g.from)+1, n.keep)
	offs[0] = 0
	if n.keep {
		n.out = nil
	}
	out := n.out[:0]
	bits := newBits(&n.gatherBase, len(g.from))
	for i, a := range g.from {
		ok, err := n.group(g.refs[a:g.to[i]], acts[a:g.to[i]])
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, n.cur...)
		} else {
			bits.clear(i)
		}
		if len(out) >= 1<<31 {
			return nil, errTextTooLong
		}
		offs[i+1] = int32(len(out))
	}
	n.out = out
	return n.array(len(g.from), bits.nulls, bits.buffer(), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offs)), memory.NewBufferBytes(out)), nil
}

// group joins the texts of one key into cur; ok is false for null.
func (n *textFold) group(refs []rowRef, acts []uint8) (ok bool, err error) {
	n.cur = n.cur[:0]
	for k, r := range refs {
		act := actAdd
		if len(refs) > 1 {
			act = acts[k]
		}
		switch {
		case act == actClear:
			n.cur, ok = n.cur[:0], false
		case act >= actRetract && !n.rule.IgnoreRetract:
			return false, noRetract(n.rule)
		case act == actSkip || act >= actRetract || n.isNull(r):
		case !ok:
			n.cur, ok = append(n.cur, n.value(r)...), true
		case act == actOlder:
			n.cur = append(append(append(make([]byte, 0, 2*len(n.cur)+64), n.value(r)...), n.rule.Delimiter...), n.cur...)
		default:
			n.cur = append(append(n.cur, n.rule.Delimiter...), n.value(r)...)
		}
	}
	return ok, nil
}
