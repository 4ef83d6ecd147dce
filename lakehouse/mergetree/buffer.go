package mergetree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"leat/internal/columnar"
)

// entry is one buffered change: its key, where its row stands and when it came.
type entry struct {
	// key is the whole key of a Short codec, else its first eight bytes.
	key uint64
	// off is where the byte form stands in the arena, behind its length; only without Short.
	off uint32
	// seq counts the changes of the buffer in order of arrival.
	seq uint32
	// src indexes Buffer.batches, with the row kind and logOnly in the upper bits.
	src uint32
	row uint32
}

const (
	kindShift = 29
	logOnly   = 1 << 31
	batchMask = 1<<kindShift - 1
	kindMask  = 3
	// entryBytes is the memory of one entry.
	entryBytes = 24
)

func (e *entry) kind() columnar.RowKind { return columnar.RowKind(e.src >> kindShift & kindMask) }
func (e *entry) batch() uint32          { return e.src & batchMask }
func (e *entry) logOnly() bool          { return e.src&logOnly != 0 }

// Buffer collects the changes of one bucket in order of arrival. The rows stay
// in batches that the owner of the buffer retains. Its owner flushes it before
// it holds 4 GiB of keys or 2^29 batches. Not safe for concurrent use.
type Buffer struct {
	short   bool
	entries []entry
	arena   []byte
	// batches lists the numbers of the batches in use, in order; entries hold indexes into it.
	batches []uint32
	// arrived counts the changes, also those that were not kept.
	arrived uint32
}

// NewBuffer makes a buffer for keys of codec; nil for rows without key.
func NewBuffer(codec *KeyCodec) *Buffer { return &Buffer{short: codec == nil || codec.Short} }

// Add takes the change of kind in row row of batch number batch, with the
// normalised key of a Short codec, or with its byte form. Batch numbers never
// fall. changelogOnly keeps the change out of data files.
func (b *Buffer) Add(key uint64, bytes []byte, batch, row uint32, kind columnar.RowKind, changelogOnly bool) {
	if n := len(b.batches); n == 0 || b.batches[n-1] != batch {
		b.batches = append(b.batches, batch)
	}
	e := entry{key: key, seq: b.arrived, src: uint32(len(b.batches)-1) | uint32(kind)<<kindShift, row: row}
	if changelogOnly {
		e.src |= logOnly
	}
	if !b.short {
		e.key = prefixOf(bytes)
		e.off = uint32(len(b.arena))
		b.arena = binary.LittleEndian.AppendUint32(b.arena, uint32(len(bytes)))
		b.arena = append(b.arena, bytes...)
	}
	b.entries = append(b.entries, e)
	b.arrived++
}

// Skip counts a change that leaves no trace in the files; it takes its sequence number all the same.
func (b *Buffer) Skip() { b.arrived++ }

// Len is the number of changes kept, Arrived also counts those skipped.
func (b *Buffer) Len() int { return len(b.entries) }

// Arrived is the number of changes that came, each of which takes a sequence number.
func (b *Buffer) Arrived() int64 { return int64(b.arrived) }

// Bytes is the memory that the buffer holds, batches not counted.
func (b *Buffer) Bytes() int64 { return int64(cap(b.entries))*entryBytes + int64(cap(b.arena)) }

func (b *Buffer) keyBytes(e *entry) []byte {
	n := binary.LittleEndian.Uint32(b.arena[e.off:])
	return b.arena[e.off+4 : e.off+4+n]
}

func (b *Buffer) sameKey(x, y *entry) bool {
	if x.key != y.key {
		return false
	}
	return b.short || bytes.Equal(b.keyBytes(x), b.keyBytes(y))
}

// sort orders the entries by key and, within a key, by arrival.
func (b *Buffer) sort() {
	if b.sorted() {
		return
	}
	if b.short {
		radixSort(b.entries)
		return
	}
	slices.SortFunc(b.entries, func(x, y entry) int {
		if c := cmp.Compare(x.key, y.key); c != 0 {
			return c
		}
		if c := bytes.Compare(b.keyBytes(&x), b.keyBytes(&y)); c != 0 {
			return c
		}
		return cmp.Compare(x.seq, y.seq)
	})
}

// sorted reports whether the entries came in key order, as snapshots of a source do.
func (b *Buffer) sorted() bool {
	for i := 1; i < len(b.entries); i++ {
		x, y := &b.entries[i-1], &b.entries[i]
		if x.key < y.key {
			continue
		}
		if x.key > y.key {
			return false
		}
		if !b.short && bytes.Compare(b.keyBytes(x), b.keyBytes(y)) > 0 {
			return false
		}
	}
	return true
}

// radixSort is a stable sort by key: one counting pass for each byte in which keys differ.
func radixSort(es []entry) {
	if len(es) < 256 {
		slices.SortFunc(es, func(x, y entry) int {
			if c := cmp.Compare(x.key, y.key); c != 0 {
				return c
			}
			return cmp.Compare(x.seq, y.seq)
		})
		return
	}
	all, some := ^uint64(0), uint64(0)
	for i := range es {
		all &= es[i].key
		some |= es[i].key
	}
	from, to := es, make([]entry, len(es))
	for shift := 0; shift < 64; shift += 8 {
		if (some&^all)>>shift&0xff == 0 {
			continue
		}
		var counts [256]int
		for i := range from {
			counts[byte(from[i].key>>shift)]++
		}
		at := 0
		for d, n := range counts {
			counts[d] = at
			at += n
		}
		for i := range from {
			d := byte(from[i].key >> shift)
			to[counts[d]] = from[i]
			counts[d]++
		}
		from, to = to, from
	}
	if &from[0] != &es[0] {
		copy(es, from)
	}
}

// latest gives the entries of the sorted buffer that survive: the last of each
// key, in the memory of all.
func (b *Buffer) latest() []entry {
	out := b.entries[:0]
	for i := range b.entries {
		e := b.entries[i]
		if e.logOnly() {
			continue
		}
		if n := len(out); n > 0 && b.sameKey(&out[n-1], &e) {
			out[n-1] = e
			continue
		}
		out = append(out, e)
	}
	return out
}
