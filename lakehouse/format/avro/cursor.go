package avro

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

var (
	errShort = errors.New("a block ends too early")
	errValue = errors.New("a value is out of its range")
)

// cursor reads values off a block. After the first error everything is zero.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

var zeros [8]byte

// take gives the next n bytes; zeros, at most 8 of them, after an error.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.fail(errShort)
		return zeros[:min(max(n, 0), len(zeros))]
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) byte() byte { return c.take(1)[0] }

// long reads a zigzag varint between lo and hi.
func (c *cursor) long(lo, hi int64) int64 {
	v, n := binary.Varint(c.rest)
	switch {
	case n <= 0:
		c.fail(errShort)
		return 0
	case v < lo || v > hi:
		c.fail(errValue)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) bytes() []byte {
	n := c.long(0, int64(len(c.rest)))
	if c.err != nil {
		return nil
	}
	return c.take(int(n))
}

func (c *cursor) decimal() decimal128.Num {
	b := c.bytes()
	if len(b) > 16 {
		c.fail(errValue)
		return decimal128.Num{}
	}
	var full [16]byte
	if len(b) > 0 && b[0] >= 0x80 {
		for i := range full {
			full[i] = 0xff
		}
	}
	copy(full[16-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(full[:8])), binary.BigEndian.Uint64(full[8:]))
}

// branch reads which branch of a union follows.
func (c *cursor) branch(n *node) *node {
	i := c.long(0, int64(len(n.items))-1)
	if c.err != nil {
		return &node{kind: kindNull}
	}
	return n.items[i]
}

// eachItem reads the blocks of an array or map. An item without bytes is an
// error, as a file could hold any number of them.
func (c *cursor) eachItem(item func(*cursor)) {
	for c.err == nil {
		count := c.long(-1<<62, 1<<62)
		if count == 0 {
			return
		}
		if count < 0 { // the size in bytes follows
			count = -count
			c.long(0, int64(len(c.rest)))
		}
		for range count {
			left := len(c.rest)
			if item(c); c.err == nil && len(c.rest) == left {
				c.fail(errValue)
			}
			if c.err != nil {
				return
			}
		}
	}
}

// skip passes over a value.
func (c *cursor) skip(n *node, depth int) {
	if depth > maxDepth {
		c.fail(errValue)
		return
	}
	switch n.kind {
	case kindNull:
	case kindBoolean:
		c.take(1)
	case kindInt:
		c.long(-1<<63, 1<<63-1)
	case kindFloat:
		c.take(4)
	case kindDouble:
		c.take(8)
	case kindBytes:
		c.bytes()
	case kindFixed:
		c.take(n.size)
	case kindUnion:
		c.skip(c.branch(n), depth+1)
	case kindRecord:
		for _, f := range n.items {
			c.skip(f, depth+1)
		}
	case kindArray, kindMap:
		c.skipBlocks(n, depth)
	}
}

func (c *cursor) skipBlocks(n *node, depth int) {
	for c.err == nil {
		count := c.long(-1<<62, 1<<62)
		if count == 0 {
			return
		}
		if count < 0 { // the size in bytes follows: no need to look inside
			c.take(int(c.long(0, int64(len(c.rest)))))
			continue
		}
		if count > int64(len(c.rest)) {
			// Items without bytes, such as nulls, are no use to anybody.
			c.fail(errShort)
		}
		for range count {
			if n.kind == kindMap {
				c.bytes()
			}
			if c.skip(n.items[0], depth+1); c.err != nil {
				return
			}
		}
	}
}
