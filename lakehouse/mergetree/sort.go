package mergetree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"leat/internal/columnar"
)

// arrivals are the changes of a buffer in order of arrival, which numbers them from 0.
type arrivals struct {
	short bool
	arena []byte
	offs  []uint32
	// rows are the places of the changes in their batches: those up to ends[i] are in batch i.
	rows []uint32
	ends []uint32
	// marks and seqs are as in Buffer, nil for kinds that are all +I and for numbers that are those of arrival.
	marks []uint8
	seqs  []uint32
	// refs are the places of all changes; nil until locate.
	refs []rowRef
}

// arrivals gives the changes in room; rows of room are used until its next use. Nothing can be added
// afterwards.
func (b *Buffer) arrivals(room *flushRoom) *arrivals {
	a := &arrivals{short: b.short, arena: b.arena, ends: append(b.ends, uint32(b.rows.n))}
	room.rows = b.rows.appendTo(room.rows[:0])
	a.rows = room.rows
	b.rows = blocks[uint32]{n: b.rows.n}
	if !b.short {
		a.offs = b.offs.appendTo(make([]uint32, 0, b.rows.n))
	}
	if b.marked {
		a.marks = b.marks.appendTo(make([]uint8, 0, b.rows.n))
	}
	if b.skipped {
		a.seqs = b.seqs.appendTo(make([]uint32, 0, b.rows.n))
	}
	return a
}

func (a *arrivals) kind(at uint32) columnar.RowKind {
	if a.marks == nil {
		return columnar.Insert
	}
	return columnar.RowKind(a.marks[at] & markKind)
}

func (a *arrivals) logOnly(at uint32) bool { return a.marks != nil && a.marks[at]&markLog != 0 }

func (a *arrivals) seq(at uint32) int64 {
	if a.seqs == nil {
		return int64(at)
	}
	return int64(a.seqs[at])
}

// locate makes ref a look into a list, for whoever asks for most changes.
func (a *arrivals) locate(room *flushRoom) {
	refs := scratch(&room.refs, len(a.rows), false)
	a.each(0, len(refs), func(batch, from, to int) {
		for i, row := range a.rows[from:to] {
			refs[from+i] = rowRef{batch: uint32(batch), row: row}
		}
	})
	a.refs = refs
}

// ref says where the change at stands.
func (a *arrivals) ref(at uint32) rowRef {
	if a.refs != nil {
		return a.refs[at]
	}
	batch := sort.Search(len(a.ends), func(i int) bool { return a.ends[i] > at })
	return rowRef{batch: uint32(batch), row: a.rows[at]}
}

// each calls do with the parts of the changes from to to that stand in one batch each.
func (a *arrivals) each(from, to int, do func(batch, from, to int)) {
	batch := sort.Search(len(a.ends), func(i int) bool { return int(a.ends[i]) > from })
	for ; from < to; batch++ {
		end := min(to, int(a.ends[batch]))
		do(batch, from, end)
		from = end
	}
}

// pair is the key of a change and its number.
type pair struct {
	// key is the whole key of a Short codec, else its first eight bytes.
	key uint64
	at  uint32
}

// flushRoom is memory that flushes have one after the other.
type flushRoom struct {
	rows         []uint32
	pairs, other []pair
	order        []uint32
	stage        stageRoom
	refs         []rowRef
}

var roomPool = sync.Pool{New: func() any { return new(flushRoom) }}

func (a *arrivals) keyBytes(at uint32) []byte {
	off := a.offs[at]
	n := binary.LittleEndian.Uint32(a.arena[off:])
	return a.arena[off+4 : off+4+n]
}

func (a *arrivals) sameKey(x, y *pair) bool {
	if x.key != y.key {
		return false
	}
	return a.short || bytes.Equal(a.keyBytes(x.at), a.keyBytes(y.at))
}

// sorted gives the changes by key and, within a key, in order of arrival.
func (b *Buffer) sorted(a *arrivals, room *flushRoom) []pair {
	n := b.keys.n
	room.pairs = room.pairs[:0]
	if cap(room.pairs) < n {
		room.pairs = make([]pair, 0, n)
	}
	every, some := ^uint64(0), uint64(0)
	for _, block := range append(b.keys.full, b.keys.last) {
		for _, key := range block {
			every, some = every&key, some|key
			room.pairs = append(room.pairs, pair{key, uint32(len(room.pairs))})
		}
	}
	b.keys = blocks[uint64]{n: n}
	switch {
	case !b.unsorted:
	case b.short:
		if cap(room.other) < n {
			room.other = make([]pair, n)
		}
		sorted := radixSort(room.pairs, room.other[:n], some&^every)
		if &sorted[0] != &room.pairs[0] {
			room.pairs, room.other = sorted, room.pairs
		}
	default:
		slices.SortFunc(room.pairs, func(x, y pair) int {
			if c := cmp.Compare(x.key, y.key); c != 0 {
				return c
			}
			if c := bytes.Compare(a.keyBytes(x.at), a.keyBytes(y.at)); c != 0 {
				return c
			}
			return cmp.Compare(x.at, y.at)
		})
	}
	return room.pairs
}

// latest keeps the changes of the sorted ps that survive, the last of each key, in the memory of all.
func (a *arrivals) latest(ps []pair) []pair {
	out := ps[:0]
	for i := range ps {
		if a.logOnly(ps[i].at) {
			continue
		}
		if n := len(out); n > 0 && a.sameKey(&out[n-1], &ps[i]) {
			out[n-1] = ps[i]
			continue
		}
		out = append(out, ps[i])
	}
	return out
}

// maxDigit is how many bits a pass of radixSort looks at: a line of the cache for each of 2^11 values
// has its place in the second level of it.
const maxDigit = 11

// radixSort is a stable sort by key, of which no bits differ but those of mask:
// one counting pass for each few of them. The result is in ps or in other, which is as long.
func radixSort(ps, other []pair, mask uint64) []pair {
	if len(ps) < 256 {
		slices.SortStableFunc(ps, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
		return ps
	}
	width := min(maxDigit, max(8, bits.Len(uint(len(ps)))-3))
	for mask != 0 {
		shift := bits.TrailingZeros64(mask)
		digit := uint64(1)<<width - 1
		mask &^= digit << shift
		radixPass(ps, other, shift, digit)
		ps, other = other, ps
	}
	return ps
}

// radixPass puts the pairs in the order of the digit at shift.
func radixPass(from, to []pair, shift int, digit uint64) {
	var counts [1 << maxDigit]uint32
	for i := range from {
		counts[from[i].key>>shift&digit&(1<<maxDigit-1)]++
	}
	at := uint32(0)
	for d, n := range counts {
		counts[d] = at
		at += n
	}
	for i := range from {
		c := &counts[from[i].key>>shift&digit&(1<<maxDigit-1)]
		to[*c] = from[i]
		*c++
	}
}
