package mergetree

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// rowRef names a row of one of several batches.
type rowRef struct{ batch, row uint32 }

// gatherer collects rows of several batches into one array of a column. bind
// takes the column's array in every batch; the array that gather gives is valid
// until the next gather unless the gatherer was made for keeping.
type gatherer interface {
	bind(arrs []arrow.Array)
	gather(refs []rowRef) arrow.Array
	// allocate has arrays that are kept made of mem, where that pays; nil is the Go allocator.
	allocate(mem memory.Allocator)
}

// newGatherer picks the gatherer of a type. keep makes every array its own memory.
func newGatherer(t columnar.DataType, keep bool) (gatherer, error) {
	base := gatherBase{typ: columnar.ArrowType(t), keep: keep}
	switch t.Kind {
	case columnar.Boolean:
		return &gatherBools{gatherBase: base}, nil
	case columnar.TinyInt:
		return newGatherFixed(base, arrow.Int8Traits.CastFromBytes, 1), nil
	case columnar.SmallInt:
		return newGatherFixed(base, arrow.Int16Traits.CastFromBytes, 2), nil
	case columnar.Int, columnar.Date, columnar.Time, columnar.Float:
		return newGatherFixed(base, arrow.Int32Traits.CastFromBytes, 4), nil
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ, columnar.Double:
		return newGatherFixed(base, arrow.Int64Traits.CastFromBytes, 8), nil
	case columnar.Decimal:
		return newGatherFixed[decimal128.Num](base, arrow.Decimal128Traits.CastFromBytes, 16), nil
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return &gatherTexts{gatherBase: base}, nil
	default:
		return newGatherNested(base, t)
	}
}

// gatherBase handles the null bitmap.
type gatherBase struct {
	typ  arrow.DataType
	keep bool
	mem  memory.Allocator
	// valid[b] is the bitmap of batch b, nil without nulls; offs its first bit.
	valid    [][]byte
	offs     []int
	hasNulls bool
	bits     []byte
	// stagedNull says of each change whether it is null; nil without nulls, only after stage.
	stagedNull []uint8
}

func (g *gatherBase) bindNulls(arrs []arrow.Array) {
	g.valid, g.offs, g.hasNulls = g.valid[:0], g.offs[:0], false
	for _, a := range arrs {
		var bits []byte
		if a.NullN() > 0 {
			bits, g.hasNulls = a.NullBitmapBytes(), true
		}
		g.valid, g.offs = append(g.valid, bits), append(g.offs, a.Data().Offset())
	}
}

// gatherNulls gives the bitmap of refs, nil without nulls.
func (g *gatherBase) gatherNulls(refs []rowRef) (bits *memory.Buffer, nulls int) {
	if !g.hasNulls {
		return nil, 0
	}
	b := scratch(&g.bits, int(bitutil.BytesForBits(int64(len(refs)))), g.keep)
	for i := range b {
		b[i] = 0xff
	}
	for i, r := range refs {
		if v := g.valid[r.batch]; v != nil && !bitutil.BitIsSet(v, g.offs[r.batch]+int(r.row)) {
			bitutil.ClearBit(b, i)
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(b), nulls
}

func (g *gatherBase) allocate(mem memory.Allocator) { g.mem = mem }

// buffer gives n bytes, of mem if there is one, else by scratch.
func (g *gatherBase) buffer(s *[]byte, n int) *memory.Buffer {
	if !g.keep || g.mem == nil {
		return memory.NewBufferBytes(scratch(s, n, g.keep))
	}
	b := memory.NewResizableBuffer(g.mem)
	b.Resize(n)
	return b
}

// scratch gives n elements, from the reused slice s or new ones.
func scratch[T any](s *[]T, n int, fresh bool) []T {
	if fresh || cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// array makes the array of bufs, which it takes over.
func (g *gatherBase) array(n, nulls int, bufs ...*memory.Buffer) arrow.Array {
	data := array.NewData(g.typ, n, bufs, nil, nulls, 0)
	defer data.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

type gatherFixed[T any] struct {
	gatherBase
	cast  func([]byte) []T
	width int
	srcs  [][]T
	out   []byte
	// staged is the column in one piece; only after stage.
	staged []T
}

func newGatherFixed[T any](base gatherBase, cast func([]byte) []T, width int) *gatherFixed[T] {
	return &gatherFixed[T]{gatherBase: base, cast: cast, width: width}
}

func (g *gatherFixed[T]) bind(arrs []arrow.Array) {
	g.bindNulls(arrs)
	g.srcs = g.srcs[:0]
	for _, a := range arrs {
		var vals []T
		if buf := a.Data().Buffers()[1]; buf != nil && a.Len() > 0 {
			off := a.Data().Offset() * g.width
			vals = g.cast(buf.Bytes()[off : off+a.Len()*g.width])
		}
		g.srcs = append(g.srcs, vals)
	}
}

func (g *gatherFixed[T]) gather(refs []rowRef) arrow.Array {
	b := g.buffer(&g.out, len(refs)*g.width)
	out, srcs := g.cast(b.Bytes()), g.srcs
	for i, r := range refs {
		out[i] = srcs[r.batch][r.row]
	}
	bits, nulls := g.gatherNulls(refs)
	return g.array(len(refs), nulls, bits, b)
}

type gatherBools struct {
	gatherBase
	srcs []*array.Boolean
	out  []byte
}

func (g *gatherBools) bind(arrs []arrow.Array) {
	g.bindNulls(arrs)
	g.srcs = g.srcs[:0]
	for _, a := range arrs {
		g.srcs = append(g.srcs, a.(*array.Boolean))
	}
}

func (g *gatherBools) gather(refs []rowRef) arrow.Array {
	b := scratch(&g.out, int(bitutil.BytesForBits(int64(len(refs)))), g.keep)
	clear(b)
	for i, r := range refs {
		if g.srcs[r.batch].Value(int(r.row)) {
			bitutil.SetBit(b, i)
		}
	}
	bits, nulls := g.gatherNulls(refs)
	return g.array(len(refs), nulls, bits, memory.NewBufferBytes(b))
}

// gatherTexts handles utf8 and binary, which have the same layout.
type gatherTexts struct {
	gatherBase
	starts   [][]int32
	srcs     [][]byte
	offs32   []int32
	starts32 []byte
	out      []byte
	// staged is the column in one piece, from stagedAt[i] on text i, or texts of stagedLen bytes
	// each where that is not 0; only after stage.
	staged    []byte
	stagedAt  []int32
	stagedLen int
}

func (g *gatherTexts) bind(arrs []arrow.Array) {
	g.bindNulls(arrs)
	g.starts, g.srcs = g.starts[:0], g.srcs[:0]
	for _, a := range arrs {
		var vals []byte
		if buf := a.Data().Buffers()[2]; buf != nil {
			vals = buf.Bytes()
		}
		var offsets []int32
		switch v := a.(type) {
		case *array.String:
			offsets = v.ValueOffsets()
		case *array.Binary:
			offsets = v.ValueOffsets()
		}
		g.starts, g.srcs = append(g.starts, offsets), append(g.srcs, vals)
	}
}

func (g *gatherTexts) gather(refs []rowRef) arrow.Array {
	offBuf := g.buffer(&g.starts32, 4*(len(refs)+1))
	offs := arrow.Int32Traits.CastFromBytes(offBuf.Bytes())
	end := int32(0)
	offs[0] = 0
	for i, r := range refs {
		starts := g.starts[r.batch]
		end += starts[r.row+1] - starts[r.row]
		offs[i+1] = end
	}
	buf := g.buffer(&g.out, int(end)+shortText)
	out := buf.Bytes()
	for i, r := range refs {
		copyText(out, int(offs[i]), int(offs[i+1]), g.srcs[r.batch], int(g.starts[r.batch][r.row]))
	}
	bits, nulls := g.gatherNulls(refs)
	return g.array(len(refs), nulls, bits, offBuf, buf)
}

// shortText is the length up to which one move takes the place of a copy.
const shortText = 16
