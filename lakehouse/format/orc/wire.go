package orc

import (
	"encoding/binary"
	"errors"
	"math"
)

// The wire types of protocol buffers that ORC uses.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func putTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire))
}

func putUint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(putTag(b, field, wireVarint), v)
}

func putSint(b []byte, field int, v int64) []byte {
	return putUint(b, field, zigzag(v))
}

func putBool(b []byte, field int, v bool) []byte {
	if v {
		return putUint(b, field, 1)
	}
	return putUint(b, field, 0)
}

func putDouble(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(putTag(b, field, wireFixed64), math.Float64bits(v))
}

func putBytes[T []byte | string](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(putTag(b, field, wireBytes), uint64(len(v)))
	return append(b, v...)
}

// putPacked writes a packed repeated field of varints.
func putPacked[T uint64 | uint32](b []byte, field int, vs []T) []byte {
	if len(vs) == 0 {
		return b
	}
	var body []byte
	for _, v := range vs {
		body = binary.AppendUvarint(body, uint64(v))
	}
	return putBytes(b, field, body)
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

var errWire = errors.New("malformed protocol buffer")

// message walks the fields of one protocol buffer message:
//
//	for m.next() {
//		switch m.field {
//		case 1: x = m.uint()
//		}
//	}
//	return m.err
//
// A field that was not taken is skipped. All methods are safe on any input.
type message struct {
	b     []byte
	field int
	wire  int
	// taken says that the value of the current field has been read.
	taken bool
	err   error
}

func (m *message) fail() {
	if m.err == nil {
		m.err = errWire
	}
	m.b = nil
}

// next moves to the next field; false at the end and on errors.
func (m *message) next() bool {
	if m.field != 0 && !m.taken {
		m.skip()
	}
	if m.err != nil || len(m.b) == 0 {
		return false
	}
	tag := m.varint()
	if m.err != nil {
		return false
	}
	m.field, m.wire, m.taken = int(tag>>3&math.MaxInt32), int(tag&7), false
	if m.field == 0 {
		m.fail()
		return false
	}
	return true
}

func (m *message) skip() {
	switch m.wire {
	case wireVarint:
		m.varint()
	case wireFixed64:
		m.take(8)
	case wireBytes:
		m.take(m.varint())
	case wireFixed32:
		m.take(4)
	default:
		m.fail()
	}
	m.taken = true
}

func (m *message) varint() uint64 {
	v, n := binary.Uvarint(m.b)
	if n <= 0 {
		m.fail()
		return 0
	}
	m.b = m.b[n:]
	return v
}

func (m *message) take(n uint64) []byte {
	if n > uint64(len(m.b)) {
		m.fail()
		return nil
	}
	v := m.b[:n:n]
	m.b = m.b[n:]
	return v
}

func (m *message) want(wire int) bool {
	m.taken = true
	if m.wire != wire {
		m.fail()
	}
	return m.err == nil
}

func (m *message) uint() uint64 {
	if !m.want(wireVarint) {
		return 0
	}
	return m.varint()
}

func (m *message) sint() int64 { return unzigzag(m.uint()) }

func (m *message) bool() bool { return m.uint() != 0 }

func (m *message) double() float64 {
	if !m.want(wireFixed64) {
		return 0
	}
	b := m.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// bytes gives the bytes of the field; they are part of the message.
func (m *message) bytes() []byte {
	if !m.want(wireBytes) {
		return nil
	}
	return m.take(m.varint())
}

func (m *message) string() string { return string(m.bytes()) }

// sub starts the message in the field.
func (m *message) sub() *message { return &message{b: m.bytes()} }

// done takes over the error of a finished sub message.
func (m *message) done(sub *message) {
	if sub.err != nil {
		m.fail()
	}
}

// uints appends a repeated field, packed or not.
func (m *message) uints(vs []uint64) []uint64 {
	if m.wire == wireVarint {
		return append(vs, m.uint())
	}
	p := message{b: m.bytes()}
	for len(p.b) > 0 && p.err == nil {
		vs = append(vs, p.varint())
	}
	m.done(&p)
	return vs
}
