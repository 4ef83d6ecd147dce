package mysqlrow

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strconv"
	"sync"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
)

// What only MariaDB has: types of 4 and 16 bytes that are shown as text, columns
// whose values are compressed one by one, and old times with fractions.

// Wire types of compressed columns. Their parameters are those of BLOB and VARCHAR.
const (
	typeBlobCompressed    = 140
	typeVarcharCompressed = 141
)

// Numbers of characters of the longest texts.
const (
	uuidText  = len("00000000-0000-0000-0000-000000000000")
	inet6Text = len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
)

// fixedBytes gives the size of a value that MariaDB keeps as bytes and shows as
// text, 0 for another type. The log leaves zeros at the end out.
func (c Column) fixedBytes() int {
	switch c.family() {
	case famUUID, famInet6:
		return 16
	case famInet4:
		return 4
	default:
		return 0
	}
}

func readUUID(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	var u [16]byte
	if copy(u[:], value) < len(value) {
		return int(badValue)
	}
	var text [uuidText]byte
	at := 0
	for i, d := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text[at] = '-'
			at++
		}
		hex.Encode(text[at:], []byte{d})
		at += 2
	}
	v.data = append(v.data, text[:]...)
	return take(n, v.endText())
}

func readInet4(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	var ip [4]byte
	if copy(ip[:], value) < len(value) {
		return int(badValue)
	}
	v.data = appendInet4(v.data, ip[:])
	return take(n, v.endText())
}

func appendInet4(dst, ip []byte) []byte {
	for i, d := range ip {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendUint(dst, uint64(d), 10)
	}
	return dst
}

func readInet6(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	var ip [16]byte
	if copy(ip[:], value) < len(value) {
		return int(badValue)
	}
	v.data = appendInet6(v.data, ip)
	return take(n, v.endText())
}

// appendInet6 writes an address as MariaDB does, which differs from RFC 5952: the
// first of the longest runs of zero words is left out even if it is one word
// long, and addresses of IPv4 end in its form.
func appendInet6(dst []byte, ip [16]byte) []byte {
	const words = 8
	var w [words]uint16
	gap, gapLen, run := -1, 0, 0
	for i := range w {
		w[i] = binary.BigEndian.Uint16(ip[2*i:])
		if run++; w[i] != 0 {
			run = 0
		}
		if run > gapLen {
			gap, gapLen = i-run+1, run
		}
	}
	for i := 0; i < words; i++ {
		switch {
		case i == gap:
			if i == 0 {
				dst = append(dst, ':')
			}
			dst = append(dst, ':')
			i += gapLen - 1
		case i == 6 && gap == 0 && (gapLen == 6 || gapLen == 5 && w[5] == 0xFFFF):
			return appendInet4(dst, ip[12:])
		default:
			dst = strconv.AppendUint(dst, uint64(w[i]), 16)
			if i < words-1 {
				dst = append(dst, ':')
			}
		}
	}
	return dst
}

// readPacked reads a value of a compressed column. Its first byte names the
// method in the high bits, then raw deflate rather than zlib's form in one, and
// how many bytes of the size follow, the most significant first.
func readPacked(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	plain, good := unpackCell(value)
	if !good {
		return int(badValue)
	}
	if s.cell.binary {
		return take(n, s.cell.putBytes(v, plain))
	}
	return take(n, s.cell.putText(v, plain))
}

// inflaters keeps decompressors of deflate and of zlib.
var inflaters, zlibInflaters sync.Pool

// deflateRatio bounds what deflate can make of a byte.
const deflateRatio = 1032

func unpackCell(value []byte) (plain []byte, good bool) {
	const plainMethod, deflated, raw = 0, 8, 0x08
	if len(value) == 0 {
		return nil, true
	}
	head, rest := value[0], value[1:]
	if head>>4 == plainMethod {
		return rest, true
	}
	width := int(head & 0x07)
	if head>>4 != deflated || width > 4 || len(rest) < width {
		return nil, false
	}
	size := int(mysql.BFixedLengthInt(rest[:width]))
	rest = rest[width:]
	if size > deflateRatio*len(rest) {
		return nil, false
	}
	var r io.Reader
	if head&raw != 0 {
		r = inflater(&inflaters, rest, func(b io.Reader) (io.Reader, error) { return flate.NewReader(b), nil })
		defer inflaters.Put(r)
	} else {
		r = inflater(&zlibInflaters, rest, func(b io.Reader) (io.Reader, error) { return zlib.NewReader(b) })
		if r == nil {
			return nil, false
		}
		defer zlibInflaters.Put(r)
	}
	plain = make([]byte, size)
	if _, err := io.ReadFull(r, plain); err != nil {
		return nil, false
	}
	return plain, true
}

// inflater gives a decompressor of data out of the pool, nil if its head is bad.
func inflater(pool *sync.Pool, data []byte, make func(io.Reader) (io.Reader, error)) io.Reader {
	from := bytes.NewReader(data)
	if r, ok := pool.Get().(io.Reader); ok {
		if r.(flate.Resetter).Reset(from, nil) != nil {
			return nil
		}
		return r
	}
	r, err := make(from)
	if err != nil {
		return nil
	}
	return r
}

// oldTimeSize is the size of the forms that MariaDB had before it took over those
// of MySQL 5.6, in tables made then or under mysql56_temporal_format=OFF. They
// have no parameter: digits are those of the column. 0 means another type.
func oldTimeSize(wire byte, digits int) int {
	if digits < 1 || digits > 6 {
		return 0
	}
	switch wire {
	case mysql.MYSQL_TYPE_TIME:
		return [...]int{4, 4, 5, 5, 5, 6}[digits-1]
	case mysql.MYSQL_TYPE_DATETIME:
		return [...]int{6, 6, 7, 7, 7, 8}[digits-1]
	case mysql.MYSQL_TYPE_TIMESTAMP:
		return 4 + [...]int{1, 1, 2, 2, 3, 3}[digits-1]
	default:
		return 0
	}
}

// splitClock takes a time of the day in 10^-digits seconds apart, and gives what
// is more than a day.
func (s *step) splitClock(x uint64) (days uint64, at clock) {
	unit := pow10[s.digits]
	at.micro = int(x % unit * pow10[6-s.digits])
	x /= unit
	at.second, at.minute = int(x%60), int(x/60%60)
	x /= 3600
	at.hour = int(x % 24)
	return x / 24, at
}

// fineTime reads an old TIME with a fraction: 10^-digits seconds, counted
// from one second before the smallest value.
func (s *step) fineTime(b []byte) (neg bool, at clock, good bool) {
	const zeroSeconds = 838*3600 + 59*60 + 59 + 1
	x := int64(bitNumber(b[:s.size]) - zeroSeconds*pow10[s.digits])
	if neg = x < 0; neg {
		x = -x
	}
	days, at := s.splitClock(uint64(x))
	at.hour += int(days) * 24
	return neg, at, days <= 40
}

// fineDatetime reads an old DATETIME with a fraction: 10^-digits seconds, in
// months of 32 days and years of 13 months.
func (s *step) fineDatetime(b []byte) (year, month, day int, at clock, good bool) {
	days, at := s.splitClock(bitNumber(b[:s.size]))
	return int(days / 32 / 13), int(days / 32 % 13), int(days % 32), at, days <= 10_000*13*32
}

// fineTimestamp reads an old TIMESTAMP with a fraction, of which digits are kept.
func (s *step) fineTimestamp(b []byte) (sec int64, micro int, good bool) {
	fraction := bitNumber(b[4:s.size])
	return int64(binary.BigEndian.Uint32(b)), int(fraction * pow10[6-s.digits]), fraction < pow10[s.digits]
}
