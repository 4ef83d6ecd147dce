package mergetree

import (
	"bytes"
	"encoding/binary"

	"leat/internal/columnar"
)

// Buffer collects the changes of one bucket in order of arrival. The rows stay
// in batches that the owner of the buffer retains. Its owner flushes it before
// it holds 4 GiB of keys or 2^29 batches. Not safe for concurrent use.
//
// A change is a key and a row number; what most buffers do not need is only kept from the
// first change on that needs it.
type Buffer struct {
	short bool
	keys  blocks[uint64]
	rows  blocks[uint32]
	// offs are where the byte forms of keys stand in the arena, behind their lengths; only without short.
	offs  blocks[uint32]
	arena []byte
	// marks are kinds, with markLog; empty where all changes are inserts and marked is not set.
	marks blocks[uint8]
	// seqs are the places of the changes among all that came; empty where none was skipped.
	seqs blocks[uint32]
	// batches lists the numbers of the batches in use, in order; ends is how many changes had come at the
	// end of each but the last.
	batches []uint32
	ends    []uint32
	// arrived counts the changes, also those that were not kept.
	arrived uint32
	marked  bool
	skipped bool
	// unsorted says that a key came after a greater one, repeats that one came
	// twice in a row, logged that some changes are for the changelog alone.
	unsorted, repeats, logged bool
	// top is the key that came last, topAt where its byte form stands.
	top   uint64
	topAt uint32
}

const (
	markKind = 3
	// markLog marks changes that are kept out of data files.
	markLog = 4
)

// NewBuffer makes a buffer for keys of codec; nil for rows without key.
func NewBuffer(codec *KeyCodec) *Buffer { return &Buffer{short: codec == nil || codec.Short} }

// Add takes the change of kind in row row of batch number batch, with the
// normalised key of a Short codec, or with its byte form. Batch numbers never
// fall, row numbers of a batch rise. changelogOnly keeps the change out of data files.
func (b *Buffer) Add(key uint64, bytes []byte, batch, row uint32, kind columnar.RowKind, changelogOnly bool) {
	mark := uint8(kind)
	if changelogOnly {
		mark |= markLog
		b.logged = true
	}
	if mark != 0 && !b.marked {
		b.marked = true
		for range b.rows.n {
			b.marks.add(0)
		}
	}
	if b.marked {
		b.marks.add(mark)
	}
	if b.short {
		b.add(key, batch, row)
		return
	}
	key = prefixOf(bytes)
	off := uint32(len(b.arena))
	b.arena = binary.LittleEndian.AppendUint32(b.arena, uint32(len(bytes)))
	b.arena = append(b.arena, bytes...)
	if b.rows.n > 0 && key == b.top {
		b.compareTop(b.bytesAt(off))
	}
	b.offs.add(off)
	b.topAt = off
	b.add(key, batch, row)
}

// AddInsert is Add of a row that is inserted, with the normalised key of a Short codec.
func (b *Buffer) AddInsert(key uint64, batch, row uint32) {
	if b.marked {
		b.marks.add(0)
	}
	b.add(key, batch, row)
}

func (b *Buffer) add(key uint64, batch, row uint32) {
	if n := len(b.batches); n == 0 || b.batches[n-1] != batch {
		if n > 0 {
			b.ends = append(b.ends, uint32(b.rows.n))
		}
		b.batches = append(b.batches, batch)
	}
	if key <= b.top && b.rows.n > 0 {
		b.unsorted = b.unsorted || key < b.top
		b.repeats = b.repeats || b.short
	}
	b.top = key
	if b.skipped {
		b.seqs.add(b.arrived)
	}
	b.keys.add(key)
	b.rows.add(row)
	b.arrived++
}

// compareTop compares the key text with the last one, whose first bytes are the same.
func (b *Buffer) compareTop(text []byte) {
	switch c := bytes.Compare(text, b.bytesAt(b.topAt)); {
	case c < 0:
		b.unsorted = true
	case c == 0:
		b.repeats = true
	}
}

// Skip counts a change that leaves no trace in the files; it takes its sequence number all the same.
func (b *Buffer) Skip() {
	if !b.skipped {
		b.skipped = true
		for i := range b.rows.n {
			b.seqs.add(uint32(i))
		}
	}
	b.arrived++
}

// Len is the number of changes kept, Arrived also counts those skipped.
func (b *Buffer) Len() int { return b.rows.n }

// Arrived is the number of changes that came, each of which takes a sequence number.
func (b *Buffer) Arrived() int64 { return int64(b.arrived) }

func (b *Buffer) bytesAt(off uint32) []byte {
	n := binary.LittleEndian.Uint32(b.arena[off:])
	return b.arena[off+4 : off+4+n]
}

// blocks is a list that grows without being copied.
type blocks[T any] struct {
	full [][]T
	last []T
	n    int
}

// blockLen is the length of a block; the first one grows up to it.
const blockLen = 4096

func (s *blocks[T]) add(v T) {
	if len(s.last) == cap(s.last) {
		s.grow()
	}
	s.last = append(s.last, v)
	s.n++
}

func (s *blocks[T]) grow() {
	n := len(s.last)
	if n == blockLen {
		s.full = append(s.full, s.last)
		s.last = make([]T, 0, blockLen)
		return
	}
	s.last = append(make([]T, 0, min(blockLen, max(16, 4*n))), s.last...)
}

// appendTo appends the whole list to dst.
func (s *blocks[T]) appendTo(dst []T) []T {
	for _, block := range s.full {
		dst = append(dst, block...)
	}
	return append(dst, s.last...)
}
