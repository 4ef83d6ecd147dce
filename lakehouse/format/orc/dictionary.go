package orc

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// dictionary numbers distinct byte strings in the order of their first use. It
// is an open hash table over one buffer.
type dictionary struct {
	seed maphash.Seed
	// table holds id+1, 0 where it is free; its length is a power of two.
	table  []uint32
	hashes []uint32
	// ends[id] is where value id ends in data; it begins where the one before ends.
	ends []uint32
	data []byte
}

func newDictionary() *dictionary {
	return &dictionary{seed: maphash.MakeSeed(), table: make([]uint32, 1024)}
}

func (d *dictionary) reset() {
	clear(d.table)
	d.hashes, d.ends, d.data = d.hashes[:0], d.ends[:0], d.data[:0]
}

func (d *dictionary) len() int { return len(d.ends) }

func (d *dictionary) value(id uint32) []byte {
	start := uint32(0)
	if id > 0 {
		start = d.ends[id-1]
	}
	return d.data[start:d.ends[id]]
}

// id gives the number of b, a new one if b is new.
func (d *dictionary) id(b []byte) uint32 {
	h := uint32(maphash.Bytes(d.seed, b))
	mask := uint32(len(d.table) - 1)
	at := h & mask
	for {
		e := d.table[at]
		if e == 0 {
			break
		}
		if d.hashes[e-1] == h && bytes.Equal(d.value(e-1), b) {
			return e - 1
		}
		at = (at + 1) & mask
	}
	id := uint32(len(d.ends))
	d.data = append(d.data, b...)
	d.ends = append(d.ends, uint32(len(d.data)))
	d.hashes = append(d.hashes, h)
	d.table[at] = id + 1
	if 2*len(d.ends) > len(d.table) {
		d.grow()
	}
	return id
}

func (d *dictionary) grow() {
	d.table = make([]uint32, 2*len(d.table))
	mask := uint32(len(d.table) - 1)
	for id, h := range d.hashes {
		at := h & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = uint32(id) + 1
	}
}

// sorted gives the ids in the order of their values, and the rank of each id.
func (d *dictionary) sorted() (order, rank []uint32) {
	order, rank = make([]uint32, d.len()), make([]uint32, d.len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(d.value(a), d.value(b)) })
	for r, id := range order {
		rank[id] = uint32(r)
	}
	return order, rank
}
