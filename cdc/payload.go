package cdc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/klauspost/compress/zstd"
)

// A compressed transaction is one event, in the log up to 1 GB and any size when
// unpacked. Neither is held whole: a large one goes from the socket through the
// decompressor, event by event. Its checksum is known only when its rows are on
// their way, so that a wrong one ends the run; no barrier stands within a transaction.

const (
	// inlinePayload is the size up to which a transaction is unpacked in memory, in bytes.
	inlinePayload = 256 << 10
	// maxWindow is the largest window of zstd's levels, in bytes.
	maxWindow = 128 << 20
)

// errSpoiled marks a transaction of which rows were handed on before it proved
// broken: only the last checkpoint is good.
var errSpoiled = errors.New("a transaction came broken from the server")

// payload unpacks a compressed transaction that was read whole.
func (d *dumper) payload(ctx context.Context, body []byte) error {
	p, err := readPayload(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if p.compression == replication.ZSTD && p.size > 0 && p.size <= inlinePayload {
		z, err := d.decompressor(nil)
		if err != nil {
			return err
		}
		data, err := z.DecodeAll(body[p.at:], make([]byte, 0, p.size))
		if err != nil {
			return d.unpacking(err)
		}
		p.compression, body, p.at = replication.NONE, data, 0
	}
	return d.unpack(ctx, p, bytes.NewReader(body[p.at:]))
}

// unpack takes the events of a compressed transaction, whose data r gives.
func (d *dumper) unpack(ctx context.Context, p payload, r io.Reader) error {
	clear(d.maps)
	switch p.compression {
	case replication.ZSTD:
		z, err := d.decompressor(r)
		if err != nil {
			return err
		}
		return d.inner(ctx, z, d.unpacking)
	case replication.NONE:
		return d.inner(ctx, r, d.unpacking)
	default:
		return d.unpacking(fmt.Errorf("unknown compression %d", p.compression))
	}
}

func (d *dumper) unpacking(err error) error {
	return fmt.Errorf("unpacking a compressed transaction at %s:%d: %w", d.file, d.offset, err)
}

// decompressor gives the one of the connection, reading from r.
func (d *dumper) decompressor(r io.Reader) (*zstd.Decoder, error) {
	var err error
	if d.zstd == nil {
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
	}
	if err == nil && r != nil {
		err = d.zstd.Reset(r)
	}
	if err != nil {
		return nil, d.unpacking(err)
	}
	return d.zstd, nil
}

// inner takes the events that r gives one after another, without checksums. failed
// says what was being read.
func (d *dumper) inner(ctx context.Context, r io.Reader, failed func(error) error) error {
	var head [replication.EventHeaderSize]byte
	for {
		if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return failed(err)
		}
		h, err := readHeader(head[:])
		if err != nil {
			return err
		}
		if int64(h.size) < replication.EventHeaderSize {
			return failed(fmt.Errorf("event of %d bytes", h.size))
		}
		raw, err := d.readInto(r, head[:], int(h.size))
		if err != nil {
			return failed(err)
		}
		if err := d.dispatch(ctx, h, raw, raw[replication.EventHeaderSize:]); err != nil {
			return err
		}
	}
}

// readInto reads the rest of an event of size bytes behind its head.
func (d *dumper) readInto(r io.Reader, head []byte, size int) ([]byte, error) {
	if size < slabSize/4 {
		if cap(d.slab)-len(d.slab) < size {
			d.slab = make([]byte, 0, slabSize)
		}
		start := len(d.slab)
		d.slab = d.slab[:start+size]
		raw := d.slab[start : start+size : start+size]
		_, err := io.ReadFull(r, raw[copy(raw, head):])
		return raw, within(err)
	}
	// The size may be a lie: memory is taken as the bytes come.
	const step = 16 << 20
	raw := make([]byte, len(head), min(size, step))
	copy(raw, head)
	for len(raw) < size {
		from := len(raw)
		to := min(size, max(cap(raw), from+step))
		if to > cap(raw) {
			grown := make([]byte, from, min(size, max(2*cap(raw), to)))
			copy(grown, raw)
			raw = grown
		}
		raw = raw[:to]
		if _, err := io.ReadFull(r, raw[from:]); err != nil {
			return nil, within(err)
		}
	}
	return raw, nil
}

// within makes the end of the bytes within an event an error.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// payload is the head of a TRANSACTION_PAYLOAD event.
type payload struct {
	compression uint64
	// size is that of the unpacked events, 0 if unknown; at is where the data begin.
	size uint64
	at   int
}

// readPayload reads the head of a TRANSACTION_PAYLOAD event.
func readPayload(r io.ByteReader) (p payload, err error) {
	number := func() (n uint64) {
		var first byte
		if err != nil {
			return 0
		}
		if first, err = r.ReadByte(); err != nil {
			return 0
		}
		p.at++
		width := map[byte]int{0xfc: 2, 0xfd: 3, 0xfe: 8}[first]
		if width == 0 {
			return uint64(first)
		}
		for i := range width {
			var b byte
			if b, err = r.ReadByte(); err != nil {
				return 0
			}
			p.at++
			n |= uint64(b) << (8 * i)
		}
		return n
	}
	for {
		kind := number()
		if err != nil || kind == replication.OTW_PAYLOAD_HEADER_END_MARK {
			break
		}
		size, at := number(), p.at
		switch kind {
		case replication.OTW_PAYLOAD_COMPRESSION_TYPE_FIELD:
			p.compression = number()
		case replication.OTW_PAYLOAD_UNCOMPRESSED_SIZE_FIELD:
			p.size = number()
		}
		for err == nil && uint64(p.at-at) < size {
			if _, err = r.ReadByte(); err == nil {
				p.at++
			}
		}
	}
	if err != nil {
		return p, fmt.Errorf("unpacking a compressed transaction: its head is cut: %w", err)
	}
	return p, nil
}

// largePayload reports whether the next packet is a compressed transaction that
// is not to be read whole.
func (d *dumper) largePayload(pr *packetReader) (bool, error) {
	n, err := pr.peekSize()
	if err != nil || n < inlinePayload {
		return false, err
	}
	head, err := pr.rd.Peek(4 + 1 + replication.EventHeaderSize)
	if err != nil {
		return false, pr.lost(err)
	}
	return head[4] == mysql.OK_HEADER && replication.EventType(head[4+1+4]) == replication.TRANSACTION_PAYLOAD_EVENT, nil
}

// streamPayload unpacks a compressed transaction as it comes from the socket.
func (d *dumper) streamPayload(ctx context.Context, pr *packetReader) error {
	body := &packetBody{p: pr, wait: d.wait}
	head := make([]byte, 1+replication.EventHeaderSize)
	if _, err := io.ReadFull(body, head); err != nil {
		return err
	}
	h, err := readHeader(head[1:])
	if err != nil {
		return err
	}
	d.passed(h)
	size := int64(h.size) - replication.EventHeaderSize
	if d.checksum {
		size -= replication.BinlogChecksumLength
	}
	if size < 0 {
		return d.unpacking(fmt.Errorf("event of %d bytes", h.size))
	}
	sum := &summed{r: io.LimitReader(body, size), sum: crc32.NewIEEE()}
	sum.sum.Write(head[1:])
	err = d.unpackFrom(ctx, sum)
	if body.err != nil {
		return body.err // the connection broke: what came before was right so far
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The rest of the packet tells whether it came as it was sent.
	if _, rest := io.Copy(io.Discard, sum); rest != nil {
		return rest
	}
	if d.checksum {
		want := make([]byte, replication.BinlogChecksumLength)
		if _, rest := io.ReadFull(body, want); rest != nil {
			return rest
		}
		if binary.LittleEndian.Uint32(want) != sum.sum.Sum32() {
			return d.unpacking(fmt.Errorf("%w: wrong checksum", errSpoiled))
		}
	}
	if err != nil {
		return err
	}
	return body.end()
}

func (d *dumper) unpackFrom(ctx context.Context, r *summed) error {
	p, err := readPayload(r)
	if err != nil {
		return err
	}
	return d.unpack(ctx, p, r)
}

// summed reads and sums up what it gives.
type summed struct {
	r   io.Reader
	sum hash.Hash32
	one [1]byte
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	return n, err
}

func (s *summed) ReadByte() (byte, error) {
	_, err := io.ReadFull(s, s.one[:])
	return s.one[0], err
}

// packetBody gives one packet, with its continuations, as a stream.
type packetBody struct {
	p *packetReader
	// left is what is left of the part at hand; more says that another one follows.
	left        int
	begun, more bool
	// wait is called before the socket is read.
	wait func() error
	// err is why the connection broke.
	err error
}

func (b *packetBody) Read(to []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	for b.left == 0 {
		if b.begun && !b.more {
			return 0, io.EOF
		}
		n, err := b.p.peekSize()
		if err == nil {
			_, err = b.p.rd.Discard(4)
		}
		if err != nil {
			b.err = err
			return 0, err
		}
		b.begun, b.left, b.more = true, n, n == maxPacket
	}
	if err := b.wait(); err != nil {
		b.err = err
		return 0, err
	}
	n, err := b.p.rd.Read(to[:min(len(to), b.left)])
	b.left -= n
	if err != nil {
		b.err = b.p.lost(err)
		return n, b.err
	}
	return n, nil
}

// end passes over what nobody read.
func (b *packetBody) end() error {
	_, err := io.Copy(io.Discard, b)
	return err
}
