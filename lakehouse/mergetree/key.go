package mergetree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// Key is a normalised key. Prefix orders keys whose first eight bytes differ;
// Rest is the whole byte form, nil where the codec is Short.
type Key struct {
	Prefix uint64
	Rest   []byte
}

// Compare orders keys as Paimon's key comparator does.
func (k Key) Compare(o Key) int {
	switch {
	case k.Prefix < o.Prefix:
		return -1
	case k.Prefix > o.Prefix:
		return 1
	default:
		return bytes.Compare(k.Rest, o.Rest)
	}
}

// Clone copies k.
func (k Key) Clone() Key { return Key{Prefix: k.Prefix, Rest: bytes.Clone(k.Rest)} }

// KeyCodec normalises the key columns of rows: big-endian bytes whose
// lexicographic order is that of the key. Keys of at most eight bytes fit a
// uint64 and are Short. It is bound to the columns of one batch at a time and
// is not safe for concurrent use.
type KeyCodec struct {
	// Short says that Prefix holds the whole key.
	Short bool

	types []columnar.DataType
	parts []keyPart
}

type keyPart struct {
	width int // 0 for strings and bytes
	last  bool
	arr   arrow.Array

	fixed []byte // little-endian values of width bytes
	text  *array.String
	bytes *array.Binary
	float bool
	bools *array.Boolean
}

// NewKeyCodec compiles the codec of key columns of these types.
func NewKeyCodec(types []columnar.DataType) (*KeyCodec, error) {
	k := &KeyCodec{types: types, parts: make([]keyPart, len(types)), Short: true}
	total := 0
	for i, t := range types {
		p := &k.parts[i]
		p.last = i == len(types)-1
		switch t.Kind {
		case columnar.Boolean, columnar.TinyInt:
			p.width = 1
		case columnar.SmallInt:
			p.width = 2
		case columnar.Int, columnar.Date, columnar.Time:
			p.width = 4
		case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
			p.width = 8
		case columnar.Float:
			p.width, p.float = 4, true
		case columnar.Double:
			p.width, p.float = 8, true
		case columnar.Decimal:
			p.width = 16
		case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		default:
			return nil, fmt.Errorf("type %s cannot be part of a key", t)
		}
		total += p.width
		k.Short = k.Short && p.width > 0
	}
	k.Short = k.Short && total <= 8
	return k, nil
}

// Bind takes the key columns of the batch that the next calls are about.
func (k *KeyCodec) Bind(cols []arrow.Array) {
	for i := range k.parts {
		p, a := &k.parts[i], cols[i]
		p.arr, p.fixed, p.text, p.bytes, p.bools = a, nil, nil, nil, nil
		switch v := a.(type) {
		case *array.String:
			p.text = v
		case *array.Binary:
			p.bytes = v
		case *array.Boolean:
			p.bools = v
		default:
			if a.Len() == 0 {
				continue
			}
			off := a.Data().Offset() * p.width
			p.fixed = a.Data().Buffers()[1].Bytes()[off : off+a.Len()*p.width]
		}
	}
}

// Shorts writes the normalised keys of the bound rows into out; only for Short codecs.
func (k *KeyCodec) Shorts(out []uint64) {
	if len(k.parts) == 1 && !k.parts[0].float {
		switch p := &k.parts[0]; {
		case p.width == 8:
			for i, v := range arrow.Int64Traits.CastFromBytes(p.fixed)[:len(out)] {
				out[i] = uint64(v) ^ 1<<63
			}
			return
		case p.width == 4:
			for i, v := range arrow.Int32Traits.CastFromBytes(p.fixed)[:len(out)] {
				out[i] = uint64(uint32(v)^1<<31) << 32
			}
			return
		}
	}
	var buf [8]byte
	for i := range out {
		b := k.Append(buf[:0], i)
		out[i] = prefixOf(b)
	}
}

// prefixOf reads the first eight bytes of b as a big-endian number, zeros behind its end.
func prefixOf(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var full [8]byte
	copy(full[:], b)
	return binary.BigEndian.Uint64(full[:])
}

// Append appends the byte form of the key of the bound row.
func (k *KeyCodec) Append(dst []byte, row int) []byte {
	for i := range k.parts {
		dst = k.parts[i].append(dst, row)
	}
	return dst
}

func (p *keyPart) append(dst []byte, row int) []byte {
	switch {
	case p.text != nil:
		return appendText(dst, p.text.Value(row), p.last)
	case p.bytes != nil:
		return appendText(dst, string(p.bytes.Value(row)), p.last)
	case p.bools != nil:
		if p.bools.Value(row) {
			return append(dst, 1)
		}
		return append(dst, 0)
	}
	v := p.fixed[row*p.width : (row+1)*p.width]
	switch p.width {
	case 1:
		return append(dst, v[0]^0x80)
	case 2:
		return binary.BigEndian.AppendUint16(dst, binary.LittleEndian.Uint16(v)^1<<15)
	case 4:
		u := binary.LittleEndian.Uint32(v)
		if p.float {
			return binary.BigEndian.AppendUint32(dst, orderedFloat32(u))
		}
		return binary.BigEndian.AppendUint32(dst, u^1<<31)
	case 8:
		u := binary.LittleEndian.Uint64(v)
		if p.float {
			return binary.BigEndian.AppendUint64(dst, orderedFloat64(u))
		}
		return binary.BigEndian.AppendUint64(dst, u^1<<63)
	default:
		dst = binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(v[8:])^1<<63)
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(v[:8]))
	}
}

// appendText keeps the order of strings inside a longer key: a zero byte becomes 00 ff, the end 00 00.
func appendText(dst []byte, s string, last bool) []byte {
	if last {
		return append(dst, s...)
	}
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// orderedFloat32 and orderedFloat64 order as Java's Float.compare: −0.0 below 0.0, one NaN above all.
func orderedFloat32(u uint32) uint32 {
	if f := math.Float32frombits(u); f != f {
		u = 0x7fc00000
	}
	if u>>31 != 0 {
		return ^u
	}
	return u | 1<<31
}

func orderedFloat64(u uint64) uint64 {
	if f := math.Float64frombits(u); f != f {
		u = 0x7ff8000000000000
	}
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}
