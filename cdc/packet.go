package cdc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxPacket is the size at which a packet continues in the next one.
const maxPacket = 1<<24 - 1

// packetReader reads MySQL packets from a buffered connection.
type packetReader struct {
	rd *bufio.Reader
	// used is what of the buffer the last packet took and is still to be dropped.
	used int
	big  []byte
}

// next gives the payload of the next packet, valid until the next call. It is
// a slice of the read buffer where it fits in, else of a buffer of its own.
func (p *packetReader) next() ([]byte, error) {
	if err := p.drop(); err != nil {
		return nil, err
	}
	head, err := p.rd.Peek(4)
	if err != nil {
		return nil, p.lost(err)
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n == 0 {
		return nil, errors.New("reading a packet: it is empty")
	}
	if n < maxPacket && n+4 <= p.rd.Size() {
		b, err := p.rd.Peek(n + 4)
		if err != nil {
			return nil, p.lost(err)
		}
		p.used = n + 4
		return b[4:], nil
	}
	p.big = p.big[:0]
	p.big, err = p.appendTo(p.big)
	return p.big, err
}

// appendTo reads the next packet to the end of dst.
func (p *packetReader) appendTo(dst []byte) ([]byte, error) {
	if err := p.drop(); err != nil {
		return dst, err
	}
	for {
		head, err := p.rd.Peek(4)
		if err != nil {
			return dst, p.lost(err)
		}
		n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		if _, err := p.rd.Discard(4); err != nil {
			return dst, p.lost(err)
		}
		start := len(dst)
		if cap(dst)-start < n {
			grown := make([]byte, start, max(start+n, 2*cap(dst)))
			copy(grown, dst)
			dst = grown
		}
		dst = dst[:start+n]
		if _, err := io.ReadFull(p.rd, dst[start:]); err != nil {
			return dst, p.lost(err)
		}
		if n < maxPacket {
			return dst, nil
		}
	}
}

// peekSize gives the payload size of the next packet's first part, without its continuation.
func (p *packetReader) peekSize() (int, error) {
	if err := p.drop(); err != nil {
		return 0, err
	}
	head, err := p.rd.Peek(4)
	if err != nil {
		return 0, p.lost(err)
	}
	return int(head[0]) | int(head[1])<<8 | int(head[2])<<16, nil
}

func (p *packetReader) drop() error {
	if p.used == 0 {
		return nil
	}
	_, err := p.rd.Discard(p.used)
	p.used = 0
	if err != nil {
		return p.lost(err)
	}
	return nil
}

func (p *packetReader) lost(err error) error { return fmt.Errorf("%w: %w", errLost, err) }

// errLost marks a connection that broke; the same step may succeed on a new one.
var errLost = errors.New("the connection to MySQL broke")
