package sketch

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Nodes of the radix tree over the six upper bytes of the numbers, as Java
// numbers them (NodeType.java), and the most children of each but the last.
const (
	node4 = iota
	node16
	node48
	node256
	nodeLeaf
)

const (
	keyBytes = 6
	// notTrimmed stands before a list of containers.
	notTrimmed = 0xfe
)

// Bitmap64 unites bitmaps of 64-bit numbers (function rbm64).
func Bitmap64(values [][]byte) ([]byte, error) { return unite(values, decode64, encode64) }

// decode64 reads a Roaring64Bitmap (HighLowContainer.java): whether there is
// anything, the tree, whose leaves name containers, then those.
func decode64(b []byte) (bitmap, error) {
	in := &input{b: b}
	if in.u8() == 0 {
		if in.bad {
			return nil, errBitmap
		}
		return bitmap{}, nil
	}
	in.u64() // how many keys there are
	leaves := map[uint64]uint64{}
	if err := in.tree(leaves, 0); err != nil {
		return nil, err
	}
	cs, err := in.containers()
	if err != nil {
		return nil, err
	}
	out := bitmap{}
	for key, at := range leaves {
		c, ok := cs[at]
		if !ok {
			return nil, errBitmap
		}
		out[key] = c
	}
	return out, nil
}

// tree reads a node and what is below it into leaves: containers by key.
func (in *input) tree(leaves map[uint64]uint64, depth int) error {
	kind, children := in.u8(), int(in.u16())
	in.take(int(in.u8()))
	if kind == nodeLeaf {
		var key [8]byte
		copy(key[2:], in.take(keyBytes))
		at := in.u64()
		if in.bad {
			return errBitmap
		}
		leaves[binary.BigEndian.Uint64(key[:])] = at
		return nil
	}
	if kind > nodeLeaf || depth >= keyBytes || children > 256 {
		return errBitmap
	}
	in.take([...]int{node4: 4, node16: 16, node48: 256, node256: 32}[kind])
	for range children {
		if err := in.tree(leaves, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// containers reads the lists of containers (Containers.java) by their numbers.
func (in *input) containers() (map[uint64]container, error) {
	out := map[uint64]container{}
	for list := range uint64(in.u32()) {
		in.u8()
		for at := range uint64(in.u32()) {
			if in.bad {
				return nil, errBitmap
			}
			if in.u8() == 0 {
				continue // its numbers were taken away
			}
			kind, count := in.u8(), int(in.u32())
			c, err := in.container(kind, count)
			if err != nil {
				return nil, err
			}
			out[list<<32|at] = c
		}
		if in.bad {
			return nil, errBitmap
		}
	}
	if in.bad {
		return nil, errBitmap
	}
	return out, nil
}

func encode64(b bitmap) []byte {
	if len(b) == 0 {
		return []byte{0}
	}
	keys := slices.Sorted(maps.Keys(b))
	out := binary.LittleEndian.AppendUint64([]byte{1}, uint64(len(keys)))
	paths := make([][]byte, len(keys))
	for i, k := range keys {
		paths[i] = binary.BigEndian.AppendUint64(nil, k)[2:]
	}
	out = appendTree(out, paths, 0, 0)
	out = binary.LittleEndian.AppendUint32(out, 1)
	out = append(out, notTrimmed)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(keys)))
	for _, k := range keys {
		c := b[k].encode()
		out = append(out, 1, c.kind)
		out = binary.LittleEndian.AppendUint32(out, uint32(c.count))
		out = append(out, c.data...)
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(len(keys)))
	out = binary.LittleEndian.AppendUint32(out, 0)
	return binary.LittleEndian.AppendUint32(out, uint32(len(keys)-1))
}

// appendTree writes the node of the sorted keys, which are equal before depth;
// the container of the first is number at.
func appendTree(dst []byte, keys [][]byte, depth, at int) []byte {
	if len(keys) == 1 {
		dst = append(dst, nodeLeaf, 0, 0, 0)
		dst = append(dst, keys[0]...)
		return binary.LittleEndian.AppendUint64(dst, uint64(at))
	}
	split := depth
	for keys[0][split] == keys[len(keys)-1][split] {
		split++
	}
	var branches []byte
	var starts []int
	for i, k := range keys {
		if len(branches) == 0 || branches[len(branches)-1] != k[split] {
			branches, starts = append(branches, k[split]), append(starts, i)
		}
	}
	kind, body := nodeBody(branches)
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(branches)))
	dst = append(dst, byte(split-depth))
	dst = append(dst, keys[0][depth:split]...)
	dst = append(dst, body...)
	for i, from := range starts {
		to := len(keys)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		dst = appendTree(dst, keys[from:to], split+1, at+from)
	}
	return dst
}

// nodeBody gives the kind of node for its branches, and how it names them.
// Numbers of several bytes are little-endian, their first branch the highest byte.
func nodeBody(branches []byte) (kind byte, body []byte) {
	switch n := len(branches); {
	case n <= 4:
		body = make([]byte, 4)
		for i, b := range branches {
			body[3-i] = b
		}
		return node4, body
	case n <= 16:
		body = make([]byte, 16)
		for i, b := range branches {
			body[i&^7|7-i&7] = b
		}
		return node16, body
	case n <= 48:
		body = slices.Repeat([]byte{0xff}, 256)
		for i, b := range branches {
			body[b&^7|7-b&7] = byte(i)
		}
		return node48, body
	default:
		body = make([]byte, 32)
		for _, b := range branches {
			body[b>>3] |= 1 << (b & 7)
		}
		return node256, body
	}
}
