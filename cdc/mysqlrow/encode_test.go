package mysqlrow

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// This file writes values the way a server does, in both wire forms, without
// any of the code under test.

// value is a value of a column, in the field that the type of the column uses.
type value struct {
	null  bool
	num   *big.Int // integers; unscaled digits of DECIMAL
	float float64
	bytes []byte // in the character set of the column
	y, m  int
	d     int
	h, mi int
	s, us int
	doc   document
}

// col makes a column from its SQL type.
func col(name, columnType string) Column {
	c := Column{Name: name, ColumnType: columnType, Nullable: true}
	c.DataType = strings.FieldsFunc(columnType, func(r rune) bool { return r == ' ' || r == '(' })[0]
	var args []int
	if _, rest, found := strings.Cut(columnType, "("); found {
		inner, _, _ := strings.Cut(rest, ")")
		for a := range strings.SplitSeq(inner, ",") {
			if n, err := strconv.Atoi(a); err == nil { // labels are no numbers
				args = append(args, n)
			}
		}
	}
	arg := func(i int) int {
		if i < len(args) {
			return args[i]
		}
		return 0
	}
	switch c.family() {
	case famDecimal:
		c.Precision, c.Scale = arg(0), arg(1)
	case famDatetime, famTimestamp, famTime:
		c.FractionDigits = arg(0)
	case famBit:
		c.Precision = max(1, arg(0))
	case famEnum, famSet:
		c.Charset = "utf8mb4"
	case famVector:
		c.Length = int64(4 * arg(0))
	case famText:
		c.Charset, c.Length = "utf8mb4", int64(arg(0))
		if c.unbounded() {
			c.Length = 65535
		}
	case famBytes:
		c.Length = int64(arg(0))
		if c.unbounded() {
			c.Length = 65535
		}
	default:
	}
	return c
}

func (c Column) charset(name string) Column { c.Charset = name; return c }
func (c Column) notNull() Column            { c.Nullable = false; return c }

// wireType gives the type and parameter that a table map has for c.
func wireType(c Column) (byte, uint16) {
	switch c.DataType {
	case "tinyint":
		return mysql.MYSQL_TYPE_TINY, 0
	case "smallint":
		return mysql.MYSQL_TYPE_SHORT, 0
	case "mediumint":
		return mysql.MYSQL_TYPE_INT24, 0
	case "int":
		return mysql.MYSQL_TYPE_LONG, 0
	case "bigint":
		return mysql.MYSQL_TYPE_LONGLONG, 0
	case "float":
		return mysql.MYSQL_TYPE_FLOAT, 4
	case "double":
		return mysql.MYSQL_TYPE_DOUBLE, 8
	case "decimal":
		return mysql.MYSQL_TYPE_NEWDECIMAL, uint16(c.Precision<<8 | c.Scale)
	case "date":
		return mysql.MYSQL_TYPE_DATE, 0
	case "datetime":
		return mysql.MYSQL_TYPE_DATETIME2, uint16(c.FractionDigits)
	case "timestamp":
		return mysql.MYSQL_TYPE_TIMESTAMP2, uint16(c.FractionDigits)
	case "char", "binary":
		n := int(c.maxBytes())
		return mysql.MYSQL_TYPE_STRING, uint16((0xFE^(n>>4&0x30))<<8 | n&0xFF)
	case "varchar", "varbinary":
		return mysql.MYSQL_TYPE_VARCHAR, uint16(c.maxBytes())
	case "tinytext", "tinyblob":
		return mysql.MYSQL_TYPE_BLOB, 1
	case "text", "blob":
		return mysql.MYSQL_TYPE_BLOB, 2
	case "mediumtext", "mediumblob":
		return mysql.MYSQL_TYPE_BLOB, 3
	case "longtext", "longblob":
		return mysql.MYSQL_TYPE_BLOB, 4
	case "json":
		return mysql.MYSQL_TYPE_JSON, 4
	case "uuid", "inet6":
		return mysql.MYSQL_TYPE_STRING, uint16(mysql.MYSQL_TYPE_STRING)<<8 | 16
	case "inet4":
		return mysql.MYSQL_TYPE_STRING, uint16(mysql.MYSQL_TYPE_STRING)<<8 | 4
	case "enum":
		return mysql.MYSQL_TYPE_STRING, 0xF701
	case "set":
		return mysql.MYSQL_TYPE_STRING, uint16(0xF800 | (strings.Count(c.ColumnType, ",")+8)/8)
	case "bit":
		return mysql.MYSQL_TYPE_BIT, uint16(c.Precision/8<<8 | c.Precision%8)
	case "time":
		return mysql.MYSQL_TYPE_TIME2, uint16(c.FractionDigits)
	case "point", "geometry":
		return mysql.MYSQL_TYPE_GEOMETRY, 4
	case "vector":
		return mysql.MYSQL_TYPE_VECTOR, 4
	case "year":
		return mysql.MYSQL_TYPE_YEAR, 0
	default:
		panic("no wire type of " + c.DataType)
	}
}

func tableMap(cols ...Column) TableMap {
	var m TableMap
	for _, c := range cols {
		t, meta := wireType(c)
		m.Types, m.Meta = append(m.Types, t), append(m.Meta, meta)
	}
	return m
}

// image writes a whole row image.
func image(cols []Column, vals []value) []byte {
	out := make([]byte, (len(cols)+7)/8)
	for i, v := range vals {
		if v.null {
			out[i/8] |= 1 << (i % 8)
		} else {
			out = append(out, wireValue(cols[i], v)...)
		}
	}
	return out
}

// packet writes a row of the text protocol.
func packet(cols []Column, vals []value) []byte {
	var out []byte
	for i, v := range vals {
		if v.null {
			out = append(out, 0xFB)
		} else {
			out = append(out, mysql.PutLengthEncodedString(textValue(cols[i], v))...)
		}
	}
	return out
}

func littleEndian(n uint64, size int) []byte {
	return binary.LittleEndian.AppendUint64(nil, n)[:size]
}

func bigEndian(n uint64, size int) []byte { return binary.BigEndian.AppendUint64(nil, n)[8-size:] }

func wireValue(c Column, v value) []byte {
	switch c.family() {
	case famInt:
		n := new(big.Int).And(v.num, new(big.Int).SetUint64(math.MaxUint64)) // two's complement
		return littleEndian(n.Uint64(), c.intBytes())
	case famDecimal:
		return packDecimal(c, v.num)
	case famFloat:
		if c.DataType == "float" {
			return littleEndian(uint64(math.Float32bits(float32(v.float))), 4)
		}
		return littleEndian(math.Float64bits(v.float), 8)
	case famDate:
		return littleEndian(uint64(v.y<<9|v.m<<5|v.d), 3)
	case famDatetime:
		x := uint64(v.y*13+v.m)<<22 | uint64(v.d)<<17 | uint64(v.h)<<12 | uint64(v.mi)<<6 | uint64(v.s)
		return append(bigEndian(x|1<<39, 5), packFraction(c, v.us)...)
	case famTimestamp:
		if v.y == 0 {
			return make([]byte, 4+(c.FractionDigits+1)/2)
		}
		return append(bigEndian(uint64(v.time().Unix()), 4), packFraction(c, v.us)...)
	case famTime:
		n := (c.FractionDigits + 1) / 2
		x := int64(v.h<<12|v.mi<<6|v.s)<<(8*n) | int64(uint64(v.us)/[]uint64{1_000_000, 10_000, 100, 1}[n])
		if v.d == 1 {
			x = -x
		}
		return bigEndian(uint64(x+1<<(8*n+23)), 3+n)
	case famYear:
		return []byte{byte(max(0, v.y-1900))}
	case famBit:
		return v.bytes
	case famEnum:
		return littleEndian(v.num.Uint64(), 1)
	case famSet:
		_, meta := wireType(c)
		return littleEndian(v.num.Uint64(), int(meta&0xFF))
	case famJSON:
		return slices.Concat(littleEndian(uint64(len(v.doc.wire)+1), 4), []byte{v.doc.kind}, v.doc.wire)
	case famVector, famGeometry:
		return append(littleEndian(uint64(len(v.bytes)), 4), v.bytes...)
	case famText, famBytes:
		b := v.bytes
		if c.DataType == "binary" {
			b = []byte(strings.TrimRight(string(b), "\x00"))
		}
		_, meta := wireType(c)
		prefix := int(meta)
		if !c.unbounded() {
			prefix = 1
			if c.maxBytes() > 255 {
				prefix = 2
			}
		}
		return append(littleEndian(uint64(len(b)), prefix), b...)
	default:
		panic("no value of " + c.DataType)
	}
}

func (v value) time() time.Time {
	return time.Date(v.y, time.Month(v.m), v.d, v.h, v.mi, v.s, v.us*1000, time.UTC)
}

func packFraction(c Column, us int) []byte {
	n := (c.FractionDigits + 1) / 2
	return bigEndian(uint64(us)/[]uint64{1_000_000, 10_000, 100, 1}[n], n)
}

// decimalText gives the digits of a DECIMAL: those of the whole part without
// zeros in front, and all of the fraction.
func decimalText(c Column, n *big.Int) (whole, frac string) {
	s := new(big.Int).Abs(n).String()
	if len(s) <= c.Scale {
		s = strings.Repeat("0", c.Scale-len(s)+1) + s
	}
	return s[:len(s)-c.Scale], s[len(s)-c.Scale:]
}

func packDecimal(c Column, n *big.Int) []byte {
	whole, frac := decimalText(c, n)
	w := c.Precision - c.Scale
	whole = strings.Repeat("0", max(0, w-len(whole))) + whole
	whole = whole[len(whole)-w:]
	var out []byte
	for _, g := range slices.Concat(cut(whole, w%9), cut(frac, 9)) {
		x, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			panic(err)
		}
		out = append(out, bigEndian(x, []int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}[len(g)])...)
	}
	if n.Sign() < 0 {
		for i := range out {
			out[i] ^= 0xFF
		}
	}
	out[0] ^= 0x80
	return out
}

// cut splits digits in groups of nine behind a first one.
func cut(s string, first int) []string {
	var out []string
	if first > 0 && first < 9 {
		out, s = append(out, s[:first]), s[first:]
	}
	for len(s) > 0 {
		n := min(9, len(s))
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func textValue(c Column, v value) []byte {
	switch c.family() {
	case famInt:
		return []byte(v.num.String())
	case famDecimal:
		whole, frac := decimalText(c, v.num)
		if c.Scale > 0 {
			whole += "." + frac
		}
		if v.num.Sign() < 0 {
			whole = "-" + whole
		}
		return []byte(whole)
	case famFloat:
		x := v.float
		if c.DataType == "float" {
			x = float64(float32(x))
		}
		return strconv.AppendFloat(nil, x, 'g', -1, 64)
	case famDate:
		return fmt.Appendf(nil, "%04d-%02d-%02d", v.y, v.m, v.d)
	case famDatetime, famTimestamp:
		out := fmt.Appendf(nil, "%04d-%02d-%02d %02d:%02d:%02d.%06d", v.y, v.m, v.d, v.h, v.mi, v.s, v.us)
		if c.FractionDigits == 0 {
			return out[:19]
		}
		return out[:20+c.FractionDigits]
	case famTime:
		out := fmt.Appendf(nil, "%s%02d:%02d:%02d.%06d", []string{"", "-"}[v.d], v.h, v.mi, v.s, v.us)
		if c.FractionDigits == 0 {
			return out[:len(out)-7]
		}
		return out[:len(out)-6+c.FractionDigits]
	case famYear:
		return fmt.Appendf(nil, "%04d", v.y)
	case famEnum:
		return []byte([]string{"", "a", "it's", ""}[v.num.Int64()])
	case famSet:
		var out []byte
		for i, l := range []string{"a", "b c", "", "d", "e", "f", "g", "h", "i"} {
			if v.num.Bit(i) == 1 {
				if len(out) > 0 {
					out = append(out, ',')
				}
				out = append(out, l...)
			}
		}
		return out
	case famJSON:
		return []byte(v.doc.text)
	case famBytes:
		if c.DataType == "binary" {
			return append(slices.Clone(v.bytes), make([]byte, int(c.Length)-len(v.bytes))...)
		}
		return v.bytes
	default:
		return v.bytes
	}
}
