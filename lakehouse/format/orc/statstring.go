package orc

import (
	"bytes"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// maxStatBytes is the length from which string statistics are cut to bounds, as in Java.
const maxStatBytes = 1024

const maxDecimalPrecision = 38

// encodeStrings writes minimum and maximum, or bounds, which readers take for
// values beyond all of the column's, where they are longer than maxStatBytes.
// Of CHAR columns the minimum has no padding and the maximum has, so that a
// reader may look for either form.
func (s *fileStat) encodeStrings() []byte {
	var b []byte
	if s.hasRange {
		lo, hi := s.minBytes, s.maxBytes
		loCut, hiCut := false, false
		if s.charLength > 0 {
			hi = paddedBound(hi, s.charLength)
		}
		if len(lo) > maxStatBytes {
			lo, loCut = cutText(lo, maxStatBytes), true
		}
		if len(hi) > maxStatBytes {
			if up, ok := cutUp(hi, maxStatBytes); ok {
				hi, hiCut = up, true
			}
		}
		b = putBytes(b, boundField(1, 4, loCut), lo)
		b = putBytes(b, boundField(2, 5, hiCut), hi)
	}
	return putSint(b, 3, s.sum)
}

func boundField(exact, bound int, cut bool) int {
	if cut {
		return bound
	}
	return exact
}

// paddedBound gives a value that is not below any value <= maxTrimmed padded
// with blanks to n characters.
func paddedBound(maxTrimmed []byte, n int) []byte {
	if i := bytes.IndexFunc(maxTrimmed, func(r rune) bool { return r < ' ' }); i >= 0 {
		maxTrimmed = maxTrimmed[:i]
	}
	return appendPadded(nil, maxTrimmed, n)
}

// appendPadded appends v and blanks up to n characters.
func appendPadded(dst, v []byte, n int) []byte {
	dst = append(dst, v...)
	if missing := n - utf8.RuneCount(v); missing > 0 {
		start := len(dst)
		dst = append(dst, make([]byte, missing)...)
		for i := start; i < len(dst); i++ {
			dst[i] = ' '
		}
	}
	return dst
}

// cutText cuts v to at most n bytes, between characters.
func cutText(v []byte, n int) []byte {
	if len(v) <= n {
		return v
	}
	for n > 0 && !utf8.RuneStart(v[n]) {
		n--
	}
	return v[:n]
}

// cutUp gives a short text that is above every text that starts like v; false
// if there is none.
func cutUp(v []byte, n int) ([]byte, bool) {
	cut := cutText(v, n)
	for len(cut) > 0 {
		r, size := utf8.DecodeLastRune(cut)
		cut = cut[:len(cut)-size]
		if r == utf8.RuneError || r == utf8.MaxRune {
			continue
		}
		r++
		if r == 0xD800 {
			r = 0xE000
		}
		return utf8.AppendRune(bytes.Clone(cut), r), true
	}
	return nil, false
}

// decimalText gives the plain decimal text of v without needless zeros, as Java writes it.
func decimalText(v decimal128.Num, scale int) string {
	digits := v.BigInt().String()
	digits, negative := strings.CutPrefix(digits, "-")
	if scale > 0 {
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale-len(digits)+1) + digits
		}
		point := len(digits) - scale
		digits = strings.TrimRight(digits[:point]+"."+digits[point:], "0")
		digits = strings.TrimSuffix(digits, ".")
	}
	if negative {
		return "-" + digits
	}
	return digits
}

// parseDecimal reads a plain decimal text at the given scale; false if it is
// none, has more digits behind the point, or does not fit.
func parseDecimal(text string, scale int) (decimal128.Num, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > scale || len(whole) > maxDecimalPrecision+1 || scale > maxDecimalPrecision {
		return decimal128.Num{}, false
	}
	for i := range len(fraction) {
		if fraction[i] < '0' || fraction[i] > '9' {
			return decimal128.Num{}, false
		}
	}
	v, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", scale-len(fraction)), 10)
	if !ok || v.BitLen() > 126 {
		return decimal128.Num{}, false
	}
	return decimal128.FromBigInt(v), true
}

// decodeStat reads a ColumnStatistics message.
func decodeStat(m *message) (s fileStat) {
	for m.next() {
		s.decodeField(m)
	}
	return s
}

// fields is that of a file, among other messages.
func (s *fileStat) fields(c *coder) {
	if c.reading() {
		s.decodeField(c.in)
	} else {
		c.out = append(c.out, s.encode()...)
	}
}

func (s *fileStat) decodeField(m *message) {
	switch m.field {
	case 1:
		s.values = m.uint()
	case int(statInt), int(statDouble), int(statString), int(statBool), int(statDecimal),
		int(statDate), int(statBinary), int(statTimestamp), int(statCollection):
		s.kind = statKind(m.field)
		sub := m.sub()
		s.decodeRange(sub)
		m.done(sub)
	case 10:
		s.hasNull = m.bool()
	case 11:
		s.bytesOnDisk = m.uint()
	}
}

// decodeRange reads the message of s.kind.
func (s *fileStat) decodeRange(m *message) {
	var lo, hi bool
	s.noSum, s.tsPerSecond, s.maxSubNanos = true, 1000, nanosPerMilli-1
	for m.next() {
		switch m.field {
		case 1, 2:
			if s.kind == statTimestamp {
				// Of writers before ORC-135, in the zone of the writer: not trusted.
				continue
			}
			s.decodeBound(m, m.field == 1)
			lo, hi = lo || m.field == 1, hi || m.field == 2
		case 3, 4:
			switch s.kind {
			case statTimestamp:
				lo, hi = lo || m.field == 3, hi || m.field == 4
				s.setInt(m.field == 3, m.sint())
			case statInt:
				s.sum, s.noSum = m.sint(), false
			case statString:
				if m.field == 4 {
					s.minBytes, s.minIsBound, lo = m.bytes(), true, true
				} else {
					s.sum, s.noSum = m.sint(), false
				}
			case statDouble:
				s.sumDouble, s.noSum = m.double(), false
				s.nan = s.sumDouble != s.sumDouble
			case statCollection:
				s.sum, s.noSum = int64(m.uint()), false
			default:
			}
		case 5, 6:
			switch {
			case s.kind == statString && m.field == 5:
				s.maxBytes, s.maxIsBound, hi = m.bytes(), true, true
			case s.kind == statTimestamp && m.field == 5:
				s.minSubNanos = int64(m.uint()) - 1
			case s.kind == statTimestamp:
				s.maxSubNanos = int64(m.uint()) - 1
			}
		}
	}
	s.hasRange = lo && hi
}

// decodeBound reads field 1 (the minimum) or 2 of the message of s.kind.
func (s *fileStat) decodeBound(m *message, isMin bool) {
	switch s.kind {
	case statInt, statDate:
		s.setInt(isMin, m.sint())
	case statCollection:
		s.setInt(isMin, int64(m.uint()))
	case statDouble:
		if isMin {
			s.minDouble = m.double()
		} else {
			s.maxDouble = m.double()
		}
	case statString:
		if isMin {
			s.minBytes = m.bytes()
		} else {
			s.maxBytes = m.bytes()
		}
	case statDecimal:
		if isMin {
			s.minText = m.string()
		} else {
			s.maxText = m.string()
		}
	case statBool:
		if counts := m.uints(nil); len(counts) > 0 {
			s.trues = counts[0]
		}
	case statBinary:
		s.sum, s.noSum = m.sint(), false
	case statNone, statTimestamp:
	}
}

func (s *fileStat) setInt(isMin bool, v int64) {
	if isMin {
		s.min = v
	} else {
		s.max = v
	}
}
