package spec

import (
	"encoding/binary"
	"math/bits"
)

const (
	murmurSeed = 42
	murmurC1   = 0xcc9e2d51
	murmurC2   = 0x1b873593
)

// Hash is murmur3_x86_32 with seed 42 over the row's little-endian words. row
// is the bare row without arity prefix; its length is a multiple of 8.
func Hash(row []byte) int32 {
	h := uint32(murmurSeed)
	n := len(row) &^ 3
	for i := 0; i < n; i += 4 {
		h = mixWord(h, binary.LittleEndian.Uint32(row[i:]))
	}
	return finishHash(h, n)
}

// Bucket gives the bucket of a hash among n: |hash rem n| with the truncated remainder.
func Bucket(hash int32, n int) int {
	b := int(hash) % n
	if b < 0 {
		return -b
	}
	return b
}

func mixWord(h, k uint32) uint32 {
	k *= murmurC1
	k = bits.RotateLeft32(k, 15)
	k *= murmurC2
	h ^= k
	h = bits.RotateLeft32(h, 13)
	return h*5 + 0xe6546b64
}

func finishHash(h uint32, length int) int32 {
	h ^= uint32(length)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}

// hashOneInteger is Hash of the row of one integer field: null bits, zero, low word, high word.
func hashOneInteger(nullWord, low, high uint32) int32 {
	h := mixWord(murmurSeed, nullWord)
	h = mixWord(h, 0)
	h = mixWord(h, low)
	h = mixWord(h, high)
	return finishHash(h, 2*slotBytes)
}
