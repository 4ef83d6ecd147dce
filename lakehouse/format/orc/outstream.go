package orc

// outStream collects the bytes of one stream of a stripe, cut into compressed
// chunks. The zero value with block and codec set is an empty stream.
type outStream struct {
	codec compressor
	block int
	// chunk is the unfinished chunk, out the finished ones with their headers.
	// Without a codec everything is in out.
	chunk []byte
	out   []byte
}

func newOutStream(codec compressor, block int) *outStream {
	return &outStream{codec: codec, block: block}
}

func (o *outStream) reset() { o.chunk, o.out = o.chunk[:0], o.out[:0] }

// size is about the bytes held.
func (o *outStream) size() int { return len(o.chunk) + len(o.out) }

func (o *outStream) write(b []byte) error {
	if o.codec == nil {
		o.out = append(o.out, b...)
		return nil
	}
	for len(o.chunk)+len(b) >= o.block {
		n := o.block - len(o.chunk)
		o.chunk = append(o.chunk, b[:n]...)
		b = b[n:]
		if err := o.cut(); err != nil {
			return err
		}
	}
	o.chunk = append(o.chunk, b...)
	return nil
}

// cut finishes a chunk.
func (o *outStream) cut() (err error) {
	if len(o.chunk) == 0 {
		return nil
	}
	at := len(o.out)
	o.out = append(o.out, 0, 0, 0)
	if o.out, err = o.codec.compress(o.out, o.chunk); err != nil {
		return err
	}
	n, original := len(o.out)-at-chunkHeader, 0
	if n >= len(o.chunk) {
		o.out = append(o.out[:at+chunkHeader], o.chunk...)
		n, original = len(o.chunk), 1
	}
	header := n<<1 | original
	o.out[at], o.out[at+1], o.out[at+2] = byte(header), byte(header>>8), byte(header>>16)
	o.chunk = o.chunk[:0]
	return nil
}

// finish gives the bytes of the stream, valid until reset.
func (o *outStream) finish() ([]byte, error) {
	if o.codec == nil {
		return o.out, nil
	}
	err := o.cut()
	return o.out, err
}

// position appends where the next byte will be: the start of the chunk and the
// offset within it, or the offset alone without compression.
func (o *outStream) position(dst []uint64) []uint64 {
	if o.codec == nil {
		return append(dst, uint64(len(o.out)))
	}
	return append(dst, uint64(len(o.out)), uint64(len(o.chunk)))
}
