package orc

import (
	"errors"
	"io"

	"leat/internal/fileio"
)

// ioError marks an error of the disk or object store, which is no damage of the file.
type ioError struct{ err error }

func (e *ioError) Error() string { return e.err.Error() }
func (e *ioError) Unwrap() error { return e.err }

// readAt reads exactly n bytes at off.
func readAt(f fileio.File, buf []byte, off int64) error {
	n, err := f.ReadAt(buf, off)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corruptf(off, "the file ends early")
	}
	return &ioError{err}
}

// segment is a part of the file that has been read ahead.
type segment struct {
	off  int64
	data []byte
}

// fetchSize is how many bytes of a long stream are read at once.
const fetchSize = 256 << 10

// inStream reads one stream of a stripe, chunk by chunk. It holds one chunk and
// at most fetchSize bytes of the file, or one compressed chunk if that is longer;
// close gives their memory back.
type inStream struct {
	file  fileio.File
	ahead *segment
	codec decompressor
	block int
	// start and end bound the stream in the file; at is the next byte to fetch.
	start, end, at int64
	// raw holds fetched bytes not yet decompressed; rawBuf is its memory.
	raw, rawBuf []byte
	// buf[pos:] is what has been decompressed and not yet taken: a part of own,
	// or of raw where a chunk lies there as it was.
	buf []byte
	pos int
	own []byte
}

// close gives up the memory; the stream is at its end.
func (s *inStream) close() {
	giveSlab(s.rawBuf)
	giveSlab(s.own)
	s.raw, s.rawBuf, s.buf, s.own, s.pos, s.at = nil, nil, nil, nil, 0, s.end
}

func (s *inStream) offset() int64 { return s.at - int64(len(s.raw)) }

func (s *inStream) corrupt(format string, args ...any) error {
	return corruptf(s.offset(), format, args...)
}

// fetch makes raw hold at least n bytes, fewer only at the end of the stream.
func (s *inStream) fetch(n int) error {
	if len(s.raw) >= n || s.at >= s.end {
		return nil
	}
	if s.ahead != nil {
		from := s.offset() - s.ahead.off
		s.raw = s.ahead.data[from : s.end-s.ahead.off]
		s.at = s.end
		return nil
	}
	want := int(min(s.end-s.at, int64(max(n, fetchSize)-len(s.raw))))
	kept := len(s.raw)
	if cap(s.rawBuf) < kept+want {
		longer := takeSlab(kept + want)
		copy(longer[:kept], s.raw)
		giveSlab(s.rawBuf)
		s.rawBuf = longer
	} else {
		copy(s.rawBuf[:kept], s.raw)
	}
	s.raw = s.rawBuf[:kept+want]
	if err := readAt(s.file, s.raw[kept:], s.at); err != nil {
		s.raw = s.raw[:kept]
		return err
	}
	s.at += int64(want)
	return nil
}

// more appends the next chunk to buf; io.EOF at the end of the stream.
func (s *inStream) more() error {
	// What is left moves into own: raw is about to change.
	s.own = append(s.own[:0], s.buf[s.pos:]...)
	s.buf, s.pos = s.own, 0
	if s.codec == nil {
		if err := s.fetch(1); err != nil {
			return err
		}
		if len(s.raw) == 0 {
			return io.EOF
		}
		n := min(len(s.raw), fetchSize)
		s.take(s.raw[:n])
		s.raw = s.raw[n:]
		return nil
	}
	if err := s.fetch(chunkHeader); err != nil {
		return err
	}
	if len(s.raw) == 0 {
		return io.EOF
	}
	if len(s.raw) < chunkHeader {
		return s.corrupt("a chunk header is cut")
	}
	header := int(s.raw[0]) | int(s.raw[1])<<8 | int(s.raw[2])<<16
	n := header >> 1
	if err := s.fetch(chunkHeader + n); err != nil {
		return err
	}
	if len(s.raw) < chunkHeader+n {
		return s.corrupt("a chunk of %d bytes is cut", n)
	}
	if header&1 == 1 {
		if n > s.block {
			return s.corrupt("a chunk of %d bytes in blocks of %d", n, s.block)
		}
		s.take(s.raw[chunkHeader : chunkHeader+n])
	} else {
		kept := len(s.own)
		own, err := s.codec.decompress(s.own, s.raw[chunkHeader:chunkHeader+n], s.block)
		// What own was may be gone, also behind an error.
		s.own, s.buf = nil, nil
		if err != nil {
			return s.corrupt("decompressing a chunk of %d bytes: %v", n, err)
		}
		if len(own) < kept {
			return s.corrupt("decompressing a chunk of %d bytes", n)
		}
		s.own, s.buf = own, own
	}
	s.raw = s.raw[chunkHeader+n:]
	return nil
}

// take makes b, a part of raw, what is to come behind what own keeps.
func (s *inStream) take(b []byte) {
	if len(s.own) == 0 {
		s.buf = b
		return
	}
	at := len(s.own)
	s.own = extend(s.own, len(b))
	copy(s.own[at:], b)
	s.buf = s.own
}

// peek gives at least n of the bytes to come, fewer only at the end of the
// stream. They are valid until the next call.
func (s *inStream) peek(n int) ([]byte, error) {
	for len(s.buf)-s.pos < n {
		if err := s.more(); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
	}
	return s.buf[s.pos:], nil
}

// need gives exactly n bytes and takes them.
func (s *inStream) need(n int) ([]byte, error) {
	if len(s.buf)-s.pos < n {
		if b, err := s.peek(n); err != nil || len(b) < n {
			return nil, s.short(err)
		}
	}
	b := s.buf[s.pos : s.pos+n]
	s.pos += n
	return b, nil
}

func (s *inStream) short(err error) error {
	if err != nil {
		return err
	}
	return s.corrupt("a stream ends early")
}

func (s *inStream) byte() (byte, error) {
	if s.pos < len(s.buf) {
		s.pos++
		return s.buf[s.pos-1], nil
	}
	b, err := s.need(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// copyTo fills dst.
func (s *inStream) copyTo(dst []byte) error {
	for len(dst) > 0 {
		b, err := s.peek(1)
		if err != nil || len(b) == 0 {
			return s.short(err)
		}
		n := copy(dst, b)
		s.pos += n
		dst = dst[n:]
	}
	return nil
}

// skip passes over n bytes.
func (s *inStream) skip(n int64) error {
	for n > 0 {
		b, err := s.peek(1)
		if err != nil || len(b) == 0 {
			return s.short(err)
		}
		k := min(n, int64(len(b)))
		s.pos += int(k)
		n -= k
	}
	return nil
}

// uvarint reads a base-128 number of at most 64 bits.
func (s *inStream) uvarint() (uint64, error) {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, s.corrupt("a number has more than 64 bits")
}

// seek goes to the position that the row index gives.
func (s *inStream) seek(p *positions) error {
	chunk := p.next()
	if chunk > uint64(s.end-s.start) {
		return s.corrupt("a row index points behind its stream")
	}
	s.at = s.start + int64(chunk)
	s.raw, s.buf, s.pos = nil, nil, 0
	if s.codec == nil {
		return nil
	}
	in := p.next()
	if in > uint64(s.block) {
		return s.corrupt("a row index points behind a chunk")
	}
	return s.skip(int64(in))
}

// positions are those of one row index entry, taken one by one. Missing ones are 0.
type positions struct{ list []uint64 }

func (p *positions) next() uint64 {
	if len(p.list) == 0 {
		return 0
	}
	v := p.list[0]
	p.list = p.list[1:]
	return v
}
