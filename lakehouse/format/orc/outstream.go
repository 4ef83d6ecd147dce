package orc

// outStream collects the bytes of one stream of a stripe, cut into compressed
// chunks. The zero value with block and codec set is an empty stream.
type outStream struct {
	codec compressor
	block int
	// chunk is the unfinished chunk. Without a codec there is none.
	chunk []byte
	// pieces hold the finished chunks with their headers, n bytes in all. They
	// are not one slice, which would be copied again and again while it grows.
	pieces [][]byte
	n      int
}

// A chunk is kept as it is unless compression saves at least the minSaved-th
// part: reading it back would cost more than that is worth.
const minSaved = 6

func newOutStream(codec compressor, block int) *outStream {
	return &outStream{codec: codec, block: block}
}

// reset makes the stream empty, and what finish gave invalid.
func (o *outStream) reset() {
	for _, p := range o.pieces {
		giveSlab(p)
	}
	o.chunk, o.pieces, o.n = o.chunk[:0], o.pieces[:0], 0
}

// close gives up all memory.
func (o *outStream) close() {
	o.reset()
	giveSlab(o.chunk)
	o.chunk, o.pieces = nil, nil
}

// size is about the bytes held.
func (o *outStream) size() int { return len(o.chunk) + o.n }

func (o *outStream) write(b []byte) error {
	if o.codec == nil {
		o.add(b)
		return nil
	}
	for len(o.chunk)+len(b) >= o.block {
		n := o.block - len(o.chunk)
		if len(o.chunk) == 0 {
			if err := o.cut(b[:n]); err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		o.chunk = o.grown(n)
		o.chunk = append(o.chunk, b[:n]...)
		b = b[n:]
		if err := o.cut(o.chunk); err != nil {
			return err
		}
		o.chunk = o.chunk[:0]
	}
	o.chunk = append(o.grown(len(b)), b...)
	return nil
}

// grown is the chunk with room for n bytes more, at least twice as long if it had none.
func (o *outStream) grown(n int) []byte {
	if cap(o.chunk)-len(o.chunk) >= n {
		return o.chunk
	}
	b := append(takeSlab(max(len(o.chunk)+n, min(2*cap(o.chunk), o.block))), o.chunk...)
	giveSlab(o.chunk)
	return b
}

// add appends finished bytes.
func (o *outStream) add(b []byte) {
	o.n += len(b)
	for {
		if last := len(o.pieces) - 1; last >= 0 {
			p := o.pieces[last]
			k := min(cap(p)-len(p), len(b))
			o.pieces[last] = append(p, b[:k]...)
			b = b[k:]
		}
		if len(b) == 0 {
			return
		}
		o.pieces = append(o.pieces, takeSlab(min(o.n, maxSlab)))
	}
}

// cut adds a finished chunk.
func (o *outStream) cut(chunk []byte) error {
	packed, err := o.codec.compress(chunk)
	if err != nil {
		return err
	}
	original := 0
	if len(packed) >= len(chunk)-len(chunk)/minSaved {
		packed, original = chunk, 1
	}
	header := len(packed)<<1 | original
	o.add([]byte{byte(header), byte(header >> 8), byte(header >> 16)})
	o.add(packed)
	return nil
}

// finish gives the bytes of the stream in pieces, valid until reset.
func (o *outStream) finish() ([][]byte, error) {
	if len(o.chunk) > 0 {
		if err := o.cut(o.chunk); err != nil {
			return nil, err
		}
		o.chunk = o.chunk[:0]
	}
	return o.pieces, nil
}

// position appends where the next byte will be: the start of the chunk and the
// offset within it, or the offset alone without compression.
func (o *outStream) position(dst []uint64) []uint64 {
	if o.codec == nil {
		return append(dst, uint64(o.n))
	}
	return append(dst, uint64(o.n), uint64(len(o.chunk)))
}
