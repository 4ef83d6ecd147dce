package orc

import (
	"math/bits"
	"sync"
)

// The lengths of slabs are the powers of two from minSlab to maxSlab.
const (
	minSlabBits = 12
	maxSlabBits = 20
	minSlab     = 1 << minSlabBits
	maxSlab     = 1 << maxSlabBits
)

// slabs keep the buffers of streams from file to file and from stripe to
// stripe: memory fresh from the system costs more than what is put into it.
var slabs [maxSlabBits - minSlabBits + 1]sync.Pool

// takeSlab gives an empty buffer with room for at least n bytes. It may be kept
// for good; giveSlab makes it available again.
func takeSlab(n int) []byte {
	if n > maxSlab {
		return make([]byte, 0, n)
	}
	class := max(bits.Len(uint(max(n, 1)-1)), minSlabBits) - minSlabBits
	if p, ok := slabs[class].Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 0, minSlab<<class)
}

// giveSlab takes a buffer of takeSlab back, which is used no more.
func giveSlab(b []byte) {
	n := cap(b)
	if n < minSlab || n > maxSlab || n&(n-1) != 0 {
		return
	}
	b = b[:0]
	slabs[bits.Len(uint(n))-1-minSlabBits].Put(&b)
}
