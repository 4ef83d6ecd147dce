package orc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// chunkHeader is the length of the header before every compressed chunk: the
// length in 23 bits, and whether the chunk is kept as it was.
const chunkHeader = 3

// maxBlockSize is the greatest chunk size of the format.
const maxBlockSize = 1 << 23

// compressor gives the compressed form of src, valid until the next call.
type compressor interface {
	compress(src []byte) ([]byte, error)
}

// newCompressor gives nil for CompressionNone.
func newCompressor(c Compression, level int) (compressor, error) {
	switch c {
	case CompressionNone:
		return nil, nil
	case CompressionZlib:
		w, err := flate.NewWriter(io.Discard, level)
		if err != nil {
			return nil, fmt.Errorf("starting zlib: %w", err)
		}
		return &flateCompressor{w: w}, nil
	case CompressionSnappy:
		return &snappyCompressor{}, nil
	case CompressionLZ4:
		return &lz4Compressor{}, nil
	case CompressionZstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
			zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, fmt.Errorf("starting zstd: %w", err)
		}
		return &zstdCompressor{e: e}, nil
	default:
		return nil, &UnsupportedError{Feature: "compression " + c.String()}
	}
}

type zstdCompressor struct {
	e   *zstd.Encoder
	buf []byte
}

func (z *zstdCompressor) compress(src []byte) ([]byte, error) {
	z.buf = z.e.EncodeAll(src, z.buf[:0])
	return z.buf, nil
}

type snappyCompressor struct{ buf []byte }

func (s *snappyCompressor) compress(src []byte) ([]byte, error) {
	s.buf = grow(s.buf, snappy.MaxEncodedLen(len(src)))
	return snappy.Encode(s.buf, src), nil
}

type lz4Compressor struct {
	c   lz4.Compressor
	buf []byte
}

func (l *lz4Compressor) compress(src []byte) ([]byte, error) {
	l.buf = grow(l.buf, lz4.CompressBlockBound(len(src)))
	n, err := l.c.CompressBlock(src, l.buf)
	if err != nil {
		return nil, fmt.Errorf("compressing with lz4: %w", err)
	}
	if n == 0 {
		// It does not get smaller: the caller keeps the original.
		return src, nil
	}
	return l.buf[:n], nil
}

type flateCompressor struct {
	w   *flate.Writer
	buf bytes.Buffer
}

func (f *flateCompressor) compress(src []byte) ([]byte, error) {
	f.buf.Reset()
	f.w.Reset(&f.buf)
	if _, err := f.w.Write(src); err != nil {
		return nil, fmt.Errorf("compressing with zlib: %w", err)
	}
	if err := f.w.Close(); err != nil {
		return nil, fmt.Errorf("compressing with zlib: %w", err)
	}
	return f.buf.Bytes(), nil
}

// extend makes s longer by n bytes of any content. What was s is used no more.
func extend(s []byte, n int) []byte {
	if cap(s)-len(s) < n {
		room := len(s) + n
		if len(s) > 0 {
			room = max(room, 2*cap(s))
		}
		grown := append(takeSlab(room), s...)
		giveSlab(s)
		s = grown
	}
	return s[:len(s)+n]
}

// decompressor appends the original of src, at most limit bytes, to dst.
type decompressor interface {
	decompress(dst, src []byte, limit int) ([]byte, error)
}

var errTooLong = errors.New("the chunk is longer than the block size")

// newDecompressor gives nil for CompressionNone.
func newDecompressor(c Compression) (decompressor, error) {
	switch c {
	case CompressionNone:
		return nil, nil
	case CompressionZlib:
		return &flateDecompressor{r: flate.NewReader(bytes.NewReader(nil))}, nil
	case CompressionSnappy:
		return snappyDecompressor{}, nil
	case CompressionLZ4:
		return lz4Decompressor{}, nil
	case CompressionZstd:
		d, err := sharedZstd()
		return zstdDecompressor{d}, err
	default:
		return nil, &UnsupportedError{Feature: "compression " + c.String()}
	}
}

// sharedZstd serves all readers: it keeps nothing between chunks and may be
// used by many at once.
var sharedZstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxBlockSize), zstd.WithDecoderMaxWindow(maxBlockSize), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("starting zstd: %w", err)
	}
	return d, nil
})

// zstdSlack is the room behind a chunk with which the decoder may copy in blocks.
const zstdSlack = 32

type zstdDecompressor struct{ d *zstd.Decoder }

func (z zstdDecompressor) decompress(dst, src []byte, limit int) ([]byte, error) {
	at := len(dst)
	// The frame tells its length; one that lies does not fit.
	var h zstd.Header
	room := limit
	if h.Decode(src) == nil && h.HasFCS {
		room = int(min(uint64(limit), h.FrameContentSize))
	}
	room += zstdSlack
	dst = extend(dst, room)
	dst, err := z.d.DecodeAll(src, dst[:at:at+room])
	if err == nil && len(dst)-at > limit {
		return dst[:at], errTooLong
	}
	return dst, err
}

type snappyDecompressor struct{}

func (snappyDecompressor) decompress(dst, src []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	if n > limit {
		return dst, errTooLong
	}
	at := len(dst)
	dst = extend(dst, n)
	if _, err := snappy.Decode(dst[at:at+n], src); err != nil {
		return dst[:at], err
	}
	return dst, nil
}

type lz4Decompressor struct{}

func (lz4Decompressor) decompress(dst, src []byte, limit int) ([]byte, error) {
	at := len(dst)
	dst = extend(dst, limit)
	n, err := lz4.UncompressBlock(src, dst[at:at+limit])
	if err != nil {
		return dst[:at], err
	}
	return dst[:at+n], nil
}

type flateDecompressor struct {
	r   io.ReadCloser
	src bytes.Reader
}

func (f *flateDecompressor) decompress(dst, src []byte, limit int) ([]byte, error) {
	f.src.Reset(src)
	if err := f.r.(flate.Resetter).Reset(&f.src, nil); err != nil {
		return dst, err
	}
	at := len(dst)
	dst = extend(dst, limit)
	n := 0
	for {
		k, err := f.r.Read(dst[at+n : at+limit])
		n += k
		switch {
		case errors.Is(err, io.EOF):
			return dst[:at+n], nil
		case err != nil:
			return dst[:at], err
		case n == limit:
			return dst[:at+n], f.atEnd()
		}
	}
}

// atEnd checks that a full chunk has no byte more.
func (f *flateDecompressor) atEnd() error {
	var one [1]byte
	switch n, err := f.r.Read(one[:]); {
	case n > 0:
		return errTooLong
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
