package orc

import (
	"encoding/binary"
	"math"
)

// expand moves vals[:count], the values of the rows that are set in valid, to
// their rows, in place; other rows become zero. It goes from the last to the
// first row, because a value never moves down.
func expand[T any](vals []T, count int, valid []byte) {
	var zero T
	j := count
	for i := len(vals) - 1; i >= 0; i-- {
		if i&63 == 63 && j > 0 && binary.LittleEndian.Uint64(valid[i>>3-7:]) == math.MaxUint64 {
			copy(vals[i-63:i+1], vals[j-64:j])
			i, j = i-63, j-64
			continue
		}
		if valid[i>>3]>>(i&7)&1 != 0 {
			j--
			vals[i] = vals[j]
		} else {
			vals[i] = zero
		}
	}
}

// expandInts is expand without a branch a row, for numbers.
func expandInts[T int8 | int16 | int32 | int64 | uint32 | uint64](vals []T, count int, valid []byte) {
	j := count
	i := len(vals) - 1
	for ; i >= 0 && i&7 != 7; i-- {
		b := valid[i>>3] >> (i & 7) & 1
		j -= int(b)
		vals[i] = vals[j] & -T(b)
	}
	for ; i >= 0; i -= 8 {
		b := valid[i>>3]
		if b == 0xff {
			j -= 8
			if j < i-7 {
				copy(vals[i-7:i+1], vals[j:j+8])
			}
			continue
		}
		part := vals[i-7 : i+1 : i+1]
		for k := 7; k >= 0; k-- {
			bit := b >> k & 1
			j -= int(bit)
			part[k] = vals[j] & -T(bit)
		}
	}
}

// narrow puts vals at the set bits of valid in dst, at all rows without valid; others become zero.
func narrow[T int8 | int16 | int32](dst []T, vals []int64, valid []byte) {
	if valid == nil {
		for i, v := range vals {
			dst[i] = T(v)
		}
		return
	}
	for i, v := range vals {
		dst[i] = T(v)
	}
	expandInts(dst, len(vals), valid)
}
