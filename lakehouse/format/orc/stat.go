package orc

import (
	"bytes"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// statKind says which of the type-specific messages a fileStat has.
type statKind uint8

const (
	statNone       statKind = 0
	statInt        statKind = 2
	statDouble     statKind = 3
	statString     statKind = 4
	statBool       statKind = 5
	statDecimal    statKind = 6
	statDate       statKind = 7
	statBinary     statKind = 8
	statTimestamp  statKind = 9
	statCollection statKind = 12
)

// fileStat is the ColumnStatistics of a row group, a stripe or a file, while it
// is collected and as it is read. kind says which fields count.
type fileStat struct {
	kind        statKind
	values      uint64
	hasNull     bool
	bytesOnDisk uint64
	// hasRange says that minimum and maximum are there.
	hasRange bool

	// min and max are integers, days, timestamps in units of tsPerSecond, or the
	// least and greatest number of children. sum is of integers, bytes or children.
	min, max, sum int64
	// noSum says that the sum has overflowed or is not in the file.
	noSum bool

	minDouble, maxDouble, sumDouble float64
	// nan says that a value was NaN, which voids the range.
	nan bool

	// minBytes and maxBytes are strings. A read bound that is not exact is marked.
	minBytes, maxBytes       []byte
	minIsBound, maxIsBound   bool
	minDecimal, maxDecimal   decimal128.Num
	sumDecimal               decimal128.Num
	minText, maxText         string
	scale                    int
	trues                    uint64
	tsPerSecond              int64
	charLength               int
	minSubNanos, maxSubNanos int64
}

// reset empties s and keeps kind, scale, unit and length.
func (s *fileStat) reset() {
	*s = fileStat{kind: s.kind, scale: s.scale, tsPerSecond: s.tsPerSecond, charLength: s.charLength, minBytes: s.minBytes[:0], maxBytes: s.maxBytes[:0]}
}

// count notes rows, nulls of which were null.
func (s *fileStat) count(rows, nulls int) {
	s.values += uint64(rows - nulls)
	if nulls > 0 {
		s.hasNull = true
	}
}

func (s *fileStat) widen(lo, hi int64) {
	if !s.hasRange {
		s.hasRange, s.min, s.max = true, lo, hi
		return
	}
	s.min, s.max = min(s.min, lo), max(s.max, hi)
}

func rangeOf(vals []int64) (lo, hi int64) {
	lo, hi = vals[0], vals[0]
	for _, v := range vals {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func (s *fileStat) addSum(v int64) {
	sum := s.sum + v
	if (s.sum^sum)&(v^sum) < 0 {
		s.noSum = true
	}
	s.sum = sum
}

func (s *fileStat) addInts(vals []int64) {
	if len(vals) == 0 {
		return
	}
	lo, hi := rangeOf(vals)
	s.widen(lo, hi)
	if lo > -1<<40 && hi < 1<<40 && len(vals) < 1<<20 {
		var sum int64
		for _, v := range vals {
			sum += v
		}
		s.addSum(sum)
		return
	}
	for _, v := range vals {
		s.addSum(v)
	}
}

func (s *fileStat) addDates(vals []int64) {
	if len(vals) > 0 {
		s.widen(rangeOf(vals))
	}
}

// addTimestamps takes values in units of tsPerSecond. Those of the last second
// before 1970 are read back one second late (see splitSeconds): the range
// covers both.
func (s *fileStat) addTimestamps(vals []int64) {
	if len(vals) == 0 {
		return
	}
	lo, hi := rangeOf(vals)
	s.widen(lo, hi)
	if lo < 0 && hi >= -s.tsPerSecond {
		for _, v := range vals {
			if v < 0 && v > -s.tsPerSecond {
				s.widen(v, v+s.tsPerSecond)
			}
		}
	}
}

func (s *fileStat) addDoubles(vals []float64) {
	lo, hi, sum := math.Inf(1), math.Inf(-1), s.sumDouble
	for _, v := range vals {
		sum += v
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		if v != v {
			s.nan = true
		}
	}
	s.sumDouble = sum
	s.widenDouble(lo, hi)
}

func (s *fileStat) widenDouble(lo, hi float64) {
	switch {
	case lo > hi:
	case !s.hasRange:
		s.hasRange, s.minDouble, s.maxDouble = true, lo, hi
	default:
		s.minDouble, s.maxDouble = min(s.minDouble, lo), max(s.maxDouble, hi)
	}
}

func (s *fileStat) addString(v []byte) {
	if !s.hasRange {
		s.hasRange = true
		s.minBytes = append(s.minBytes[:0], v...)
		s.maxBytes = append(s.maxBytes[:0], v...)
		return
	}
	if bytes.Compare(v, s.minBytes) < 0 {
		s.minBytes = append(s.minBytes[:0], v...)
	} else if bytes.Compare(v, s.maxBytes) > 0 {
		s.maxBytes = append(s.maxBytes[:0], v...)
	}
}

func (s *fileStat) addDecimals(vals []decimal128.Num) {
	if len(vals) == 0 {
		return
	}
	lo, hi := vals[0], vals[0]
	for _, v := range vals {
		if v.Less(lo) {
			lo = v
		}
		if hi.Less(v) {
			hi = v
		}
		s.addDecimalSum(v)
	}
	s.widenDecimal(lo, hi)
}

func (s *fileStat) addDecimalSum(v decimal128.Num) {
	lo, carry := bits.Add64(s.sumDecimal.LowBits(), v.LowBits(), 0)
	a, b := s.sumDecimal.HighBits(), v.HighBits()
	hi := a + b + int64(carry)
	if (a^hi)&(b^hi) < 0 {
		s.noSum = true
	}
	s.sumDecimal = decimal128.New(hi, lo)
}

func (s *fileStat) widenDecimal(lo, hi decimal128.Num) {
	if !s.hasRange {
		s.hasRange, s.minDecimal, s.maxDecimal = true, lo, hi
		return
	}
	if lo.Less(s.minDecimal) {
		s.minDecimal = lo
	}
	if s.maxDecimal.Less(hi) {
		s.maxDecimal = hi
	}
}

// merge adds o, collected for the same column, to s.
func (s *fileStat) merge(o *fileStat) {
	s.values += o.values
	s.hasNull = s.hasNull || o.hasNull
	s.bytesOnDisk += o.bytesOnDisk
	s.trues += o.trues
	s.nan = s.nan || o.nan
	s.sumDouble += o.sumDouble
	s.noSum = s.noSum || o.noSum
	if s.kind == statDecimal {
		s.addDecimalSum(o.sumDecimal)
	} else {
		s.addSum(o.sum)
	}
	if !o.hasRange {
		return
	}
	switch s.kind {
	case statDouble:
		s.widenDouble(o.minDouble, o.maxDouble)
	case statString:
		s.addString(o.minBytes)
		s.addString(o.maxBytes)
	case statDecimal:
		s.widenDecimal(o.minDecimal, o.maxDecimal)
	default:
		s.widen(o.min, o.max)
	}
}

// encode gives the ColumnStatistics message.
func (s *fileStat) encode() []byte {
	b := putUint(nil, 1, s.values)
	switch s.kind {
	case statInt:
		b = putBytes(b, int(s.kind), s.encodeInts(!s.noSum))
	case statDate:
		b = putBytes(b, int(s.kind), s.encodeInts(false))
	case statDouble:
		b = putBytes(b, int(s.kind), s.encodeDoubles())
	case statString:
		b = putBytes(b, int(s.kind), s.encodeStrings())
	case statBool:
		b = putBytes(b, int(s.kind), putPacked(nil, 1, []uint64{s.trues}))
	case statDecimal:
		b = putBytes(b, int(s.kind), s.encodeDecimals())
	case statBinary:
		b = putBytes(b, int(s.kind), putSint(nil, 1, s.sum))
	case statTimestamp:
		b = putBytes(b, int(s.kind), s.encodeTimestamps())
	case statCollection:
		var c []byte
		if s.hasRange {
			c = putUint(putUint(c, 1, uint64(s.min)), 2, uint64(s.max))
		}
		b = putBytes(b, int(s.kind), putUint(c, 3, uint64(s.sum)))
	case statNone:
	}
	b = putBool(b, 10, s.hasNull)
	if s.bytesOnDisk > 0 {
		b = putUint(b, 11, s.bytesOnDisk)
	}
	return b
}

func (s *fileStat) encodeInts(sum bool) []byte {
	var b []byte
	if s.hasRange {
		b = putSint(putSint(b, 1, s.min), 2, s.max)
	}
	if sum {
		b = putSint(b, 3, s.sum)
	}
	return b
}

// encodeDoubles leaves the range out if there was a NaN; the sum is then NaN,
// by which Java knows not to prune. Zeros count as both zeros.
func (s *fileStat) encodeDoubles() []byte {
	var b []byte
	if s.hasRange && !s.nan {
		lo, hi := s.minDouble, s.maxDouble
		if lo == 0 {
			lo = math.Copysign(0, -1)
		}
		if hi == 0 {
			hi = 0
		}
		b = putDouble(putDouble(b, 1, lo), 2, hi)
	}
	return putDouble(b, 3, s.sumDouble)
}

func (s *fileStat) encodeDecimals() []byte {
	var b []byte
	if s.hasRange {
		b = putBytes(b, 1, decimalText(s.minDecimal, s.scale))
		b = putBytes(b, 2, decimalText(s.maxDecimal, s.scale))
	}
	if !s.noSum && s.sumDecimal.FitsInPrecision(maxDecimalPrecision) {
		b = putBytes(b, 3, decimalText(s.sumDecimal, s.scale))
	}
	return b
}

// nanosPerMilli is where Java's default of the greatest sub-millisecond part ends.
const nanosPerMilli = 1_000_000

// encodeTimestamps writes the UTC fields: milliseconds, and the nanoseconds
// below them plus one where they differ from the widest range.
func (s *fileStat) encodeTimestamps() []byte {
	if !s.hasRange {
		return nil
	}
	loMillis, loNanos := millisOf(s.min, s.tsPerSecond)
	hiMillis, hiNanos := millisOf(s.max, s.tsPerSecond)
	b := putSint(putSint(nil, 3, loMillis), 4, hiMillis)
	if loNanos != 0 {
		b = putUint(b, 5, uint64(loNanos+1))
	}
	if hiNanos != nanosPerMilli-1 {
		b = putUint(b, 6, uint64(hiNanos+1))
	}
	return b
}

// millisOf splits v units into whole milliseconds, rounded down, and nanoseconds.
func millisOf(v, perSecond int64) (millis, nanos int64) {
	perMilli := perSecond / 1000
	millis, rest := v/perMilli, v%perMilli
	if rest < 0 {
		millis, rest = millis-1, rest+perMilli
	}
	return millis, rest * (nanosPerMilli / perMilli)
}
