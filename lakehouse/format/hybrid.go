package format

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendHybrid appends vals in Parquet's hybrid of runs and bit-packed groups of
// eight, each value below 1<<width.
func appendHybrid[T int16 | uint32](dst []byte, vals []T, width int) []byte {
	for i := 0; i < len(vals); {
		if run := runOf(vals[i:]); run >= 8 || run == len(vals)-i {
			dst = binary.AppendUvarint(dst, uint64(run)<<1)
			for b := 0; b < width; b += 8 {
				dst = append(dst, byte(uint64(vals[i])>>b))
			}
			i += run
			continue
		}
		to := i + 8
		for to+8 <= len(vals) && runOf(vals[to:to+8]) < 8 {
			to += 8
		}
		if to > len(vals) {
			to = len(vals)
		}
		dst = binary.AppendUvarint(dst, uint64(to-i+7)/8<<1|1)
		dst = appendPacked(dst, vals[i:to], 0, width, 8)
		i = to
	}
	return dst
}

// runOf is how often the first value stands at the start of vals.
func runOf[T comparable](vals []T) int {
	n := 1
	for n < len(vals) && vals[n] == vals[0] {
		n++
	}
	return n
}

// appendPacked appends vals less base, width bits each, least bits first; zeros
// fill up to a multiple of group values, which take whole bytes.
func appendPacked[T int16 | uint32 | int32 | int64](dst []byte, vals []T, base T, width, group int) []byte {
	if width == 0 {
		return dst
	}
	from, size := len(dst), (len(vals)+group-1)/group*group*width/8
	dst = slices.Grow(dst, size+8)[:from+size+8] // room for the last word
	out, mask := dst[from:], uint64(1)<<width-1
	clear(out)
	if width == 64 {
		mask = ^uint64(0)
	}
	var word uint64
	at, used := 0, 0
	for _, v := range vals {
		x := uint64(v-base) & mask
		word |= x << used
		if used += width; used >= 64 {
			binary.LittleEndian.PutUint64(out[at:], word)
			at += 8
			used -= 64
			word = x >> (width - used)
		}
	}
	if used > 0 {
		binary.LittleEndian.PutUint64(out[at:], word)
	}
	return dst[:from+size]
}

// The shape of the blocks of DELTA_BINARY_PACKED: 128 values in four parts.
const (
	deltaBlock = 128
	deltaParts = 4
	deltaPart  = deltaBlock / deltaParts
)

// appendDelta appends vals in DELTA_BINARY_PACKED. Differences wrap as T does.
func appendDelta[T int32 | int64](dst []byte, vals []T) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaParts)
	dst = binary.AppendUvarint(dst, uint64(len(vals)))
	if len(vals) == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendVarint(dst, int64(vals[0]))
	var block [deltaBlock]T
	for prev, rest := vals[0], vals[1:]; len(rest) > 0; {
		n := min(len(rest), deltaBlock)
		least := rest[0] - prev
		for i, v := range rest[:n] {
			d := v - prev
			block[i], prev, least = d, v, min(least, d)
		}
		rest = rest[n:]
		dst = binary.AppendVarint(dst, int64(least))
		widths := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for p := 0; p*deltaPart < n; p++ {
			part := block[p*deltaPart : min((p+1)*deltaPart, n)]
			var all T
			for _, d := range part {
				all |= d - least
			}
			width := deltaWidth(all)
			dst[widths+p] = byte(width)
			dst = appendPacked(dst, part, least, width, deltaPart)
		}
	}
	return dst
}

// deltaWidth is how many bits the largest difference takes.
func deltaWidth[T int32 | int64](all T) int {
	if v, ok := any(all).(int32); ok {
		return bits.Len32(uint32(v))
	}
	return bits.Len64(uint64(all))
}
