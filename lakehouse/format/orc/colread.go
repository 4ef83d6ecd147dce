package orc

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// columnReader reads one column of the type tree. Parents read their children.
type columnReader interface {
	// open starts a stripe.
	open(s *stripe) error
	// read gives the next n rows. With a mask only its set bits, set of them,
	// have values in the column; the other rows are null because a parent is.
	read(n int, mask []byte, set int) (arrow.Array, error)
	// seek goes to a row group of the stripe, whose index is loaded.
	seek(group int) error
	// ids appends the ids of the column and of those below it.
	ids(dst []int) []int
}

// maxBatchBytes is how many bytes of variable length a batch may have, each
// element of a list counted for elementBytes. A sound file keeps far below it,
// because the rows of a batch are chosen by the file's statistics.
const (
	maxBatchBytes = 1 << 30
	elementBytes  = 32
)

// readBase is what all column readers have.
type readBase struct {
	node    *node
	dt      arrow.DataType
	mem     memory.Allocator
	stripe  *stripe
	present *boolReader
	scratch []byte
}

func (c *readBase) ids(dst []int) []int { return append(dst, c.node.id) }

func (c *readBase) openBase(s *stripe) {
	c.stripe, c.present = s, nil
	if in := s.stream(c.node.id, streamPresent); in != nil {
		c.present = &boolReader{bytes: byteReader{in: in}}
	}
}

// input gives a stream, an empty one if the stripe has none.
func (c *readBase) input(kind streamKind) *inStream {
	if in := c.stripe.stream(c.node.id, kind); in != nil {
		return in
	}
	return &inStream{file: c.stripe.file, codec: c.stripe.codec, block: c.stripe.block, start: c.stripe.end, end: c.stripe.end, at: c.stripe.end}
}

func (c *readBase) encoding() columnEncoding { return c.stripe.encodings[c.node.id] }

// seekBase gives the positions of a row group behind those of PRESENT.
func (c *readBase) seekBase(group int) (*positions, error) {
	p := &positions{list: c.stripe.positions(c.node.id, group)}
	if c.present == nil {
		return p, nil
	}
	return p, c.present.seek(p)
}

// buffer makes a buffer of n bytes of any content.
func (c *readBase) buffer(n int) *memory.Buffer {
	b := memory.NewResizableBuffer(c.mem)
	b.Resize(n)
	return b
}

// validity gives the bitmap of the next n rows, nil if none is null, and how
// many have values.
func (c *readBase) validity(n int, mask []byte, set int) (*memory.Buffer, int, error) {
	if c.present == nil {
		if mask == nil || set == n {
			return nil, n, nil
		}
		b := c.buffer(len(mask))
		copy(b.Bytes(), mask)
		return b, set, nil
	}
	b := c.buffer((n + 7) / 8)
	clear(b.Bytes())
	if mask == nil || set == n {
		count, err := c.present.read(b.Bytes(), n)
		if err != nil || count == n {
			b.Release()
			return nil, n, err
		}
		return b, count, nil
	}
	size := (set + 7) / 8
	if cap(c.scratch) < size {
		c.scratch = make([]byte, size)
	}
	own := c.scratch[:size]
	clear(own)
	count, err := c.present.read(own, set)
	if err != nil {
		b.Release()
		return nil, 0, err
	}
	out, j := b.Bytes(), 0
	for i := range n {
		if mask[i>>3]>>(i&7)&1 != 0 {
			out[i>>3] |= own[j>>3] >> (j & 7) & 1 << (i & 7)
			j++
		}
	}
	return b, count, nil
}

func bitmapOf(b *memory.Buffer) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// array makes the array and gives up the buffers and children.
func (c *readBase) array(n, count int, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.Array {
	return makeArray(c.dt, n, n-count, buffers, children)
}

func makeArray(dt arrow.DataType, n, nulls int, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.Array {
	data := array.NewData(dt, n, buffers, children, nulls, 0)
	defer data.Release()
	releaseAll(buffers)
	return array.MakeFromData(data)
}

func releaseAll(buffers []*memory.Buffer) {
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// missingReader stands for a column that the file does not have.
type missingReader struct {
	dt  arrow.DataType
	mem memory.Allocator
}

func (c *missingReader) open(*stripe) error { return nil }

func (c *missingReader) read(n int, _ []byte, _ int) (arrow.Array, error) {
	return array.MakeArrayOfNull(c.mem, c.dt, n), nil
}

func (c *missingReader) seek(int) error      { return nil }
func (c *missingReader) ids(dst []int) []int { return dst }

// structReader reads ROW.
type structReader struct {
	readBase
	children []columnReader
}

func (c *structReader) ids(dst []int) []int {
	dst = append(dst, c.node.id)
	for _, child := range c.children {
		dst = child.ids(dst)
	}
	return dst
}

func (c *structReader) open(s *stripe) error {
	c.openBase(s)
	return openAll(s, c.children)
}

func openAll(s *stripe, children []columnReader) error {
	for _, child := range children {
		if err := child.open(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *structReader) seek(group int) error {
	if _, err := c.seekBase(group); err != nil {
		return err
	}
	return seekAll(group, c.children)
}

func seekAll(group int, children []columnReader) error {
	for _, child := range children {
		if err := child.seek(group); err != nil {
			return err
		}
	}
	return nil
}

func (c *structReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	children := make([]arrow.ArrayData, 0, len(c.children))
	defer func() {
		for _, d := range children {
			d.Release()
		}
	}()
	for _, child := range c.children {
		a, err := child.read(n, bitmapOf(valid), count)
		if err != nil {
			releaseAll([]*memory.Buffer{valid})
			return nil, err
		}
		a.Data().Retain()
		children = append(children, a.Data())
		a.Release()
	}
	return c.array(n, count, []*memory.Buffer{valid}, children), nil
}

// listReader reads ARRAY, and with two children MAP and MULTISET.
type listReader struct {
	readBase
	children []columnReader
	lengths  intDecoder
	lens     []int64
}

func (c *listReader) ids(dst []int) []int {
	dst = append(dst, c.node.id)
	for _, child := range c.children {
		dst = child.ids(dst)
	}
	return dst
}

func (c *listReader) open(s *stripe) error {
	c.openBase(s)
	c.lengths = newIntDecoder(c.input(streamLength), c.encoding().kind, false)
	return openAll(s, c.children)
}

func (c *listReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	if err := c.lengths.seek(p); err != nil {
		return err
	}
	return seekAll(group, c.children)
}

func (c *listReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	offsets := c.buffer(4 * (n + 1))
	buffers := []*memory.Buffer{valid, offsets}
	c.lens = grow(c.lens, count+1)[:count]
	total, err := readLengths(c.lengths, c.lens, arrow.Int32Traits.CastFromBytes(offsets.Bytes())[:n+1], bitmapOf(valid), elementBytes, c.stripe)
	if err != nil {
		releaseAll(buffers)
		return nil, err
	}
	items, err := c.items(int(total))
	if err != nil {
		releaseAll(buffers)
		return nil, err
	}
	defer items.Release()
	return c.array(n, count, buffers, []arrow.ArrayData{items}), nil
}

// items reads the elements of n rows in all: those of a list, or the pairs of a map.
func (c *listReader) items(n int) (arrow.ArrayData, error) {
	first, err := c.children[0].read(n, nil, n)
	if err != nil {
		return nil, err
	}
	defer first.Release()
	if len(c.children) == 1 {
		first.Data().Retain()
		return first.Data(), nil
	}
	if first.NullN() > 0 {
		return nil, &UnsupportedError{Feature: "a null key of a map"}
	}
	second, err := c.children[1].read(n, nil, n)
	if err != nil {
		return nil, err
	}
	defer second.Release()
	pairs := c.dt.(*arrow.MapType).Elem()
	return array.NewData(pairs, n, []*memory.Buffer{nil}, []arrow.ArrayData{first.Data(), second.Data()}, 0, 0), nil
}

// readLengths decodes lengths into lens and turns them into the offsets of all
// rows; it gives the sum, each of which costs the batch so many bytes.
func readLengths(d intDecoder, lens []int64, offsets []int32, valid []byte, cost int64, s *stripe) (int64, error) {
	if err := d.read(lens); err != nil {
		return 0, err
	}
	var total, all int64
	if valid == nil {
		// The offsets are good if the sum is.
		ends := offsets[1:]
		offsets[0] = 0
		for i, n := range lens[:len(ends)] {
			total += n
			all |= n
			ends[i] = int32(total)
		}
	} else {
		for _, n := range lens {
			total += n
			all |= n
		}
	}
	switch {
	case all < 0:
		return 0, corruptf(s.start, "a length below zero")
	case all > math.MaxInt32:
		// The sum may have overflowed; such a value is too long by itself.
		total = math.MaxInt32
	}
	if err := s.spend(min(total, math.MaxInt32) * cost); err != nil {
		return 0, err
	}
	if valid != nil {
		place(offsets, lens, valid)
	}
	return total, nil
}

// place turns lens, the lengths of the rows that are set in valid, of all without
// it, into offsets. There must be room for one more behind lens.
func place(offsets []int32, lens []int64, valid []byte) {
	at := int32(0)
	offsets[0] = 0
	offsets = offsets[1:]
	if valid == nil {
		for i, n := range lens[:len(offsets)] {
			at += int32(n)
			offsets[i] = at
		}
		return
	}
	// Without a branch on what cannot be foretold, which looks at one value too many.
	lens = lens[:len(lens)+1]
	j := 0
	for i := range offsets {
		bit := valid[i>>3] >> (i & 7) & 1
		at += int32(lens[j]) & -int32(bit)
		j += int(bit)
		offsets[i] = at
	}
}
