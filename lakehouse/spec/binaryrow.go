package spec

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// Limits of rows read from files. A real row is far below both.
const (
	maxArity    = 1 << 16
	maxRowBytes = 1 << 28
)

// Widths and marks of the layout (BinaryRow.java, AbstractBinaryWriter.java).
const (
	slotBytes      = 8
	inlineBytes    = 7
	inlineMark     = 0x80
	wideDecimal    = 16
	compactDigits  = 18
	compactSeconds = 3
)

// EmptyRow is the row of arity 0, used as partition of unpartitioned tables and as key of append tables.
func EmptyRow() BinaryRow { return BinaryRow{Data: make([]byte, slotBytes)} }

// nullBytes is the size of the null-bit region of a row.
func nullBytes(arity int) int { return (arity + 8 + 63) / 64 * 8 }

// Serialized gives the form of manifests: arity as big-endian int32, then the row.
func (r BinaryRow) Serialized() []byte {
	return r.AppendSerialized(make([]byte, 0, 4+max(len(r.Data), slotBytes)))
}

// AppendSerialized appends the serialised form to dst.
func (r BinaryRow) AppendSerialized(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.Arity))
	if r.Arity == 0 && len(r.Data) == 0 {
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	return append(dst, r.Data...)
}

// ParseBinaryRow reads the serialised form. The row shares memory with b.
func ParseBinaryRow(b []byte) (BinaryRow, error) {
	if len(b) < 4+slotBytes {
		return BinaryRow{}, fmt.Errorf("reading binary row: %d bytes are too few", len(b))
	}
	arity := binary.BigEndian.Uint32(b)
	if arity > maxArity {
		return BinaryRow{}, fmt.Errorf("reading binary row: arity %d is too large", arity)
	}
	r := BinaryRow{Arity: int(arity), Data: b[4:]}
	if want := nullBytes(r.Arity) + r.Arity*slotBytes; len(r.Data) < want || len(r.Data) > maxRowBytes {
		return BinaryRow{}, fmt.Errorf("reading binary row: %d bytes for %d fields", len(r.Data), arity)
	}
	return r, nil
}

// Clone copies the row.
func (r BinaryRow) Clone() BinaryRow {
	return BinaryRow{Arity: r.Arity, Data: append([]byte(nil), r.Data...)}
}

// MarshalJSON writes the serialised form in base64.
func (r BinaryRow) MarshalJSON() ([]byte, error) {
	return json.Marshal(r.Serialized())
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *BinaryRow) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("reading binary row: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("reading binary row: %w", err)
	}
	row, err := ParseBinaryRow(raw)
	if err != nil {
		return err
	}
	*r = row
	return nil
}

// IsNull reports whether field i is null. A field that the row lacks is null.
func (r BinaryRow) IsNull(i int) bool {
	bit := i + 8
	if i < 0 || i >= r.Arity || bit/8 >= len(r.Data) {
		return true
	}
	return r.Data[bit/8]&(1<<(bit%8)) != 0
}

// slot gives the fixed part of field i.
func (r BinaryRow) slot(i int) ([]byte, error) {
	off := nullBytes(r.Arity) + i*slotBytes
	if i < 0 || i >= r.Arity || off+slotBytes > len(r.Data) {
		return nil, fmt.Errorf("reading binary row: no field %d in a row of %d fields and %d bytes", i, r.Arity, len(r.Data))
	}
	return r.Data[off : off+slotBytes], nil
}

// region gives n bytes at off within the row.
func (r BinaryRow) region(off, n int) ([]byte, error) {
	if off < 0 || n < 0 || off > len(r.Data) || n > len(r.Data)-off {
		return nil, fmt.Errorf("reading binary row: bytes %d+%d in a row of %d bytes", off, n, len(r.Data))
	}
	return r.Data[off : off+n], nil
}

// Bool gives a BOOLEAN field.
func (r BinaryRow) Bool(i int) (bool, error) {
	s, err := r.slot(i)
	if err != nil {
		return false, err
	}
	return s[0] != 0, nil
}

// Int64 gives an integer, DATE (days) or TIME (milliseconds) field of type t.
func (r BinaryRow) Int64(i int, t columnar.DataType) (int64, error) {
	s, err := r.slot(i)
	if err != nil {
		return 0, err
	}
	switch t.Kind {
	case columnar.TinyInt:
		return int64(int8(s[0])), nil
	case columnar.SmallInt:
		return int64(int16(binary.LittleEndian.Uint16(s))), nil
	case columnar.Int, columnar.Date, columnar.Time:
		return int64(int32(binary.LittleEndian.Uint32(s))), nil
	case columnar.BigInt:
		return int64(binary.LittleEndian.Uint64(s)), nil
	default:
		return 0, fmt.Errorf("reading binary row: field %d of type %s is no integer", i, t)
	}
}

// Float64 gives a FLOAT or DOUBLE field of type t.
func (r BinaryRow) Float64(i int, t columnar.DataType) (float64, error) {
	s, err := r.slot(i)
	if err != nil {
		return 0, err
	}
	if t.Kind == columnar.Float {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(s))), nil
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(s)), nil
}

// Decimal gives the unscaled value of a DECIMAL field of type t.
func (r BinaryRow) Decimal(i int, t columnar.DataType) (decimal128.Num, error) {
	s, err := r.slot(i)
	if err != nil {
		return decimal128.Num{}, err
	}
	v := binary.LittleEndian.Uint64(s)
	if t.Precision <= compactDigits {
		return decimal128.FromI64(int64(v)), nil
	}
	b, err := r.region(int(v>>32), int(uint32(v)))
	if err != nil {
		return decimal128.Num{}, err
	}
	if len(b) == 0 || len(b) > wideDecimal {
		return decimal128.Num{}, fmt.Errorf("reading binary row: decimal of %d bytes", len(b))
	}
	var wide [wideDecimal]byte
	if b[0]&0x80 != 0 {
		for j := range wide {
			wide[j] = 0xff
		}
	}
	copy(wide[wideDecimal-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(wide[:8])), binary.BigEndian.Uint64(wide[8:])), nil
}

// Timestamp gives a TIMESTAMP or TIMESTAMP_LTZ field of type t: epoch
// milliseconds (floor) and the nanoseconds within the millisecond.
func (r BinaryRow) Timestamp(i int, t columnar.DataType) (millis int64, nanos int32, err error) {
	s, err := r.slot(i)
	if err != nil {
		return 0, 0, err
	}
	v := binary.LittleEndian.Uint64(s)
	if t.Precision <= compactSeconds {
		return int64(v), 0, nil
	}
	b, err := r.region(int(v>>32), slotBytes)
	if err != nil {
		return 0, 0, err
	}
	nanos = int32(uint32(v))
	if nanos < 0 || nanos > 999_999 {
		return 0, 0, fmt.Errorf("reading binary row: %d nanoseconds within a millisecond", nanos)
	}
	return int64(binary.LittleEndian.Uint64(b)), nanos, nil
}

// Bytes gives a text, binary or nested field; it shares memory with the row.
func (r BinaryRow) Bytes(i int) ([]byte, error) {
	s, err := r.slot(i)
	if err != nil {
		return nil, err
	}
	if s[inlineBytes]&inlineMark != 0 {
		n := int(s[inlineBytes] & 0x7f)
		if n > inlineBytes {
			return nil, fmt.Errorf("reading binary row: %d bytes within a slot", n)
		}
		return s[:n:n], nil
	}
	v := binary.LittleEndian.Uint64(s)
	return r.region(int(v>>32), int(uint32(v)))
}
