package spec

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// RowWriter builds BinaryRows of fixed types without allocating: call Reset,
// set every field once **in field order** (the variable part is written in
// that order), then Row. One goroutine at a time.
type RowWriter struct {
	types []columnar.DataType
	// base is where the slots begin; fixed is where the variable part begins.
	base, fixed int
	buf         []byte
}

// NewRowWriter makes a writer of rows with these field types.
func NewRowWriter(types []columnar.DataType) *RowWriter {
	w := &RowWriter{types: types, base: nullBytes(len(types))}
	w.fixed = w.base + len(types)*slotBytes
	w.buf = make([]byte, w.fixed, w.fixed+64)
	return w
}

// Reset begins a new row; the previous one is overwritten.
func (w *RowWriter) Reset() {
	w.buf = w.buf[:w.fixed]
	clear(w.buf)
}

// Row gives the row. Its Data is valid until the next Reset.
func (w *RowWriter) Row() BinaryRow { return BinaryRow{Arity: len(w.types), Data: w.buf} }

// SetNull sets field i to null; wide decimals and fine timestamps keep their reserved bytes.
func (w *RowWriter) SetNull(i int) {
	w.buf[(i+8)/8] |= 1 << ((i + 8) % 8)
	t := &w.types[i]
	switch {
	case t.Kind == columnar.Decimal && t.Precision > compactDigits:
		w.put(i, uint64(w.reserve(wideDecimal))<<32)
	case (t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ) && t.Precision > compactSeconds:
		w.put(i, uint64(w.reserve(slotBytes))<<32)
	}
}

// SetBool sets a BOOLEAN.
func (w *RowWriter) SetBool(i int, v bool) {
	if v {
		w.put(i, 1)
	} else {
		w.put(i, 0)
	}
}

// SetInt64 sets TINYINT to BIGINT, DATE (days) or TIME (milliseconds); the field's type gives the width.
func (w *RowWriter) SetInt64(i int, v int64) {
	switch w.types[i].Kind {
	case columnar.TinyInt:
		w.put(i, uint64(uint8(v)))
	case columnar.SmallInt:
		w.put(i, uint64(uint16(v)))
	case columnar.Int, columnar.Date, columnar.Time:
		w.put(i, uint64(uint32(v)))
	default:
		w.put(i, uint64(v))
	}
}

// SetFloat32 sets a FLOAT; every NaN is stored as the canonical one.
func (w *RowWriter) SetFloat32(i int, v float32) { w.put(i, uint64(floatBits(v))) }

// SetFloat64 sets a DOUBLE; every NaN is stored as the canonical one.
func (w *RowWriter) SetFloat64(i int, v float64) { w.put(i, doubleBits(v)) }

// SetDecimal128 sets a DECIMAL from its unscaled value.
func (w *RowWriter) SetDecimal128(i int, v decimal128.Num) {
	if w.types[i].Precision <= compactDigits {
		w.put(i, v.LowBits())
		return
	}
	var be [wideDecimal]byte
	binary.BigEndian.PutUint64(be[:8], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(be[8:], v.LowBits())
	// Minimal two's complement, as java.math.BigInteger.toByteArray gives it.
	first := 0
	for first < wideDecimal-1 && (be[first] == 0 && be[first+1] < 0x80 || be[first] == 0xff && be[first+1] >= 0x80) {
		first++
	}
	off := w.reserve(wideDecimal)
	n := copy(w.buf[off:], be[first:])
	w.put(i, uint64(off)<<32|uint64(n))
}

// SetTimestamp sets a TIMESTAMP or TIMESTAMP_LTZ from epoch milliseconds
// (floor) and nanoseconds within the millisecond, which precision ≤ 3 drops.
func (w *RowWriter) SetTimestamp(i int, millis int64, nanos int32) {
	if w.types[i].Precision <= compactSeconds {
		w.put(i, uint64(millis))
		return
	}
	off := w.reserve(slotBytes)
	binary.LittleEndian.PutUint64(w.buf[off:], uint64(millis))
	w.put(i, uint64(off)<<32|uint64(uint32(nanos)))
}

// SetString sets a CHAR or VARCHAR.
func (w *RowWriter) SetString(i int, v string) {
	if len(v) <= inlineBytes {
		copy(w.inline(i, len(v)), v)
		return
	}
	copy(w.spill(i, len(v)), v)
}

// SetBytes sets a BINARY or VARBINARY, or the UTF-8 bytes of a text.
func (w *RowWriter) SetBytes(i int, v []byte) {
	if len(v) <= inlineBytes {
		copy(w.inline(i, len(v)), v)
		return
	}
	copy(w.spill(i, len(v)), v)
}

// SetNested sets an ARRAY, MAP or ROW from its binary form, which is never put inline.
func (w *RowWriter) SetNested(i int, v []byte) { copy(w.spill(i, len(v)), v) }

func (w *RowWriter) put(i int, v uint64) {
	binary.LittleEndian.PutUint64(w.buf[w.base+i*slotBytes:], v)
}

func (w *RowWriter) inline(i, n int) []byte {
	s := w.buf[w.base+i*slotBytes:][:slotBytes]
	s[inlineBytes] = inlineMark | byte(n)
	return s
}

// spill makes room for n bytes of field i in the variable part.
func (w *RowWriter) spill(i, n int) []byte {
	off := w.reserve((n + 7) / 8 * 8)
	w.put(i, uint64(off)<<32|uint64(n))
	return w.buf[off:]
}

// reserve appends n zero bytes and gives their offset.
func (w *RowWriter) reserve(n int) int {
	off := len(w.buf)
	for cap(w.buf) < off+n {
		w.buf = append(w.buf[:cap(w.buf)], 0)
	}
	w.buf = w.buf[:off+n]
	clear(w.buf[off:])
	return off
}

func floatBits(v float32) uint32 {
	if math.IsNaN(float64(v)) {
		return 0x7fc00000
	}
	return math.Float32bits(v)
}

func doubleBits(v float64) uint64 {
	if math.IsNaN(v) {
		return 0x7ff8000000000000
	}
	return math.Float64bits(v)
}
