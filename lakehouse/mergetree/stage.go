package mergetree

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// stager is a gatherer that takes rows in order of arrival, which stand in runs in their batches. For another
// order it brings the column into one piece first: going through all batches in order and then about in the
// rows of one bucket and column takes less than going about in all batches.
type stager interface {
	gatherer
	// gatherRuns is gather of the changes from to to in order of arrival.
	gatherRuns(a *arrivals, from, to int) arrow.Array
	// stage brings the column into room, which it uses until the next stage; false where it is too large.
	stage(a *arrivals, room *stageRoom) bool
	// gatherStaged is gather of the changes at.
	gatherStaged(at []uint32) arrow.Array
}

// stageRoom is the memory of a staged column.
type stageRoom struct {
	bytes  []byte
	starts []int32
	valid  []uint8
}

// maxStage bounds the memory in bytes of a staged column.
const maxStage = 16 << 20

// runNulls is gatherNulls of the changes from to to in order of arrival.
func (g *gatherBase) runNulls(a *arrivals, from, to int) (*memory.Buffer, int) {
	if !g.hasNulls {
		return nil, 0
	}
	bits := newBits(g, to-from)
	g.eachNull(a, from, to, bits.clear)
	return bits.buffer(), bits.nulls
}

// eachNull calls do with the place behind from of every null of the changes from to to.
func (g *gatherBase) eachNull(a *arrivals, from, to int, do func(int)) {
	a.each(from, to, func(batch, lo, hi int) {
		valid, off := g.valid[batch], g.offs[batch]
		if valid == nil {
			return
		}
		for i, row := range a.rows[lo:hi] {
			if !bitutil.BitIsSet(valid, off+int(row)) {
				do(lo - from + i)
			}
		}
	})
}

func (g *gatherBase) stageNulls(a *arrivals, room *stageRoom) {
	g.stagedNull = nil
	if !g.hasNulls {
		return
	}
	null := scratch(&room.valid, len(a.rows), false)
	clear(null)
	g.eachNull(a, 0, len(a.rows), func(i int) { null[i] = 1 })
	g.stagedNull = null
}

func (g *gatherBase) stagedNulls(at []uint32) (*memory.Buffer, int) {
	if g.stagedNull == nil {
		return nil, 0
	}
	bits := newBits(g, len(at))
	for i, k := range at {
		if g.stagedNull[k] != 0 {
			bits.clear(i)
		}
	}
	return bits.buffer(), bits.nulls
}

// take copies the changes from to to.
func (g *gatherFixed[T]) take(a *arrivals, from, to int, out []T) {
	a.each(from, to, func(batch, lo, hi int) {
		src, rows := g.srcs[batch], a.rows[lo:hi]
		dst := out[lo-from:][:len(rows)]
		if n := len(rows); int(rows[n-1]-rows[0]) == n-1 {
			copy(dst, src[rows[0]:])
			return
		}
		for i, row := range rows {
			dst[i] = src[row]
		}
	})
}

func (g *gatherFixed[T]) gatherRuns(a *arrivals, from, to int) arrow.Array {
	b := scratch(&g.out, (to-from)*g.width, g.keep)
	g.take(a, from, to, g.cast(b))
	bits, nulls := g.runNulls(a, from, to)
	return g.array(to-from, nulls, bits, memory.NewBufferBytes(b))
}

func (g *gatherFixed[T]) stage(a *arrivals, room *stageRoom) bool {
	n := len(a.rows)
	if n*g.width > maxStage {
		return false
	}
	g.staged = g.cast(scratch(&room.bytes, n*g.width, false))
	g.take(a, 0, n, g.staged)
	g.stageNulls(a, room)
	return true
}

func (g *gatherFixed[T]) gatherStaged(at []uint32) arrow.Array {
	b := scratch(&g.out, len(at)*g.width, g.keep)
	out, staged := g.cast(b)[:len(at)], g.staged
	for i, k := range at {
		out[i] = staged[k]
	}
	bits, nulls := g.stagedNulls(at)
	return g.array(len(at), nulls, bits, memory.NewBufferBytes(b))
}

// takeStarts says where the texts of the changes from to to start, and after the last one its end. same is the
// length that all of them have, -1 without.
func (g *gatherTexts) takeStarts(a *arrivals, from, to int, starts []int32) (same int32) {
	end, same := int32(0), int32(-2)
	a.each(from, to, func(batch, lo, hi int) {
		src, rows := g.starts[batch], a.rows[lo:hi]
		dst := starts[lo-from:][:len(rows)]
		if same == -2 {
			same = src[rows[0]+1] - src[rows[0]]
		}
		for i, row := range rows {
			n := src[row+1] - src[row]
			if n != same {
				same = -1
			}
			dst[i] = end
			end += n
		}
	})
	starts[to-from] = end
	return max(same, -1)
}

// take copies the texts of the changes from to to to where starts says.
func (g *gatherTexts) take(a *arrivals, from, to int, starts []int32, out []byte) {
	a.each(from, to, func(batch, lo, hi int) {
		offs, src, rows := g.starts[batch], g.srcs[batch], a.rows[lo:hi]
		if n := len(rows); int(rows[n-1]-rows[0]) == n-1 {
			copy(out[starts[lo-from]:starts[hi-from]], src[offs[rows[0]]:])
			return
		}
		for i, row := range rows {
			copyText(out, int(starts[lo-from+i]), int(starts[lo-from+i+1]), src, int(offs[row]))
		}
	})
}

// copyText copies the text at from of src to where it ends at to. A short one is copied with what
// stands behind it, which the next one then covers: out has room for that.
func copyText(out []byte, at, to int, src []byte, from int) {
	if to-at <= shortText && from+shortText <= len(src) {
		*(*[shortText]byte)(out[at:]) = *(*[shortText]byte)(src[from:])
		return
	}
	copy(out[at:to], src[from:])
}

func (g *gatherTexts) gatherRuns(a *arrivals, from, to int) arrow.Array {
	offs := scratch(&g.offs32, to-from+1, g.keep)
	g.takeStarts(a, from, to, offs)
	end := offs[to-from]
	out := scratch(&g.out, int(end)+shortText, g.keep)
	g.take(a, from, to, offs, out)
	bits, nulls := g.runNulls(a, from, to)
	return g.texts(offs, out[:end], bits, nulls)
}

func (g *gatherTexts) texts(offs []int32, out []byte, bits *memory.Buffer, nulls int) arrow.Array {
	return g.array(len(offs)-1, nulls, bits, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offs)), memory.NewBufferBytes(out))
}

func (g *gatherTexts) stage(a *arrivals, room *stageRoom) bool {
	var size int
	for _, src := range g.srcs {
		size += len(src)
	}
	if size > math.MaxInt32 {
		return false
	}
	n := len(a.rows)
	g.stagedAt = scratch(&room.starts, n+1, false)
	same := g.takeStarts(a, 0, n, g.stagedAt)
	if g.stagedAt[n] > maxStage {
		return false
	}
	g.staged = scratch(&room.bytes, int(g.stagedAt[n])+shortText, false)
	g.take(a, 0, n, g.stagedAt, g.staged)
	g.stagedLen = 0
	if same <= shortText {
		g.stagedLen = int(max(same, 0))
	}
	g.stageNulls(a, room)
	return true
}

func (g *gatherTexts) gatherStaged(at []uint32) arrow.Array {
	offs := scratch(&g.offs32, len(at)+1, g.keep)
	var out []byte
	end := int32(0)
	if n := g.stagedLen; n > 0 {
		out = scratch(&g.out, len(at)*n+shortText, g.keep)
		for i, k := range at {
			*(*[shortText]byte)(out[i*n:]) = *(*[shortText]byte)(g.staged[int(k)*n:])
			offs[i] = end
			end += int32(n)
		}
	} else {
		for i, k := range at {
			offs[i] = end
			end += g.stagedAt[k+1] - g.stagedAt[k]
		}
		out = scratch(&g.out, int(end)+shortText, g.keep)
		offs[len(at)] = end
		for i, k := range at {
			copyText(out, int(offs[i]), int(offs[i+1]), g.staged, int(g.stagedAt[k]))
		}
	}
	offs[len(at)] = end
	bits, nulls := g.stagedNulls(at)
	return g.texts(offs, out[:end], bits, nulls)
}
