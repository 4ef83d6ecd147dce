package columnar

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// leastPooled is the size below which blocks are left to the collector.
	leastPooled = 1 << 10
	// maxIdle bounds the bytes that lie ready in a Pool.
	maxIdle = 64 << 20
)

// Pool is an allocator that gives memory of released arrays to the next ones: a
// stream of batches then takes the memory of a few, and no work of the collector.
// Arrays of it must not be looked at after their last Release, texts included;
// those never released are collected. Memory comes as it was left: see Zeroed.
// It may be used by several goroutines at once.
type Pool struct {
	mu sync.Mutex
	// free holds blocks by the power of two that is their capacity, idle bytes in all.
	free [bits.UintSize][][]byte
	idle int
	// poison overwrites blocks that are given back, so that tests see who still reads them.
	poison bool
}

// NewPool makes an empty pool.
func NewPool() *Pool { return &Pool{poison: PoisonReleased} }

// PoisonReleased has pools made from now on overwrite what is given back. For tests.
var PoisonReleased bool

// poison begins blocks that nobody may read, and is repeated to their end.
var poison = [8]byte{0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb, 0xdb}

// Allocate gives size bytes of any content.
func (p *Pool) Allocate(size int) []byte {
	if size < leastPooled {
		return make([]byte, size)
	}
	class := bits.Len(uint(size - 1))
	p.mu.Lock()
	if n := len(p.free[class]); n > 0 {
		b := p.free[class][n-1]
		p.free[class] = p.free[class][:n-1]
		p.idle -= cap(b)
		p.mu.Unlock()
		return b[:size]
	}
	p.mu.Unlock()
	return make([]byte, size, 1<<class)
}

// Reallocate gives b with another length, at another place if it has to.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	to := p.Allocate(size)
	copy(to, b)
	p.Free(b)
	return to
}

// Free takes b back.
func (p *Pool) Free(b []byte) {
	size := cap(b)
	if size < leastPooled || size&(size-1) != 0 {
		return
	}
	if p.poison {
		// By copies: the race detector looks at each single store.
		b = b[:size]
		for at := copy(b, poison[:]); at < size; at *= 2 {
			copy(b[at:], b[:at])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle+size > maxIdle {
		return
	}
	class := bits.Len(uint(size - 1))
	p.free[class] = append(p.free[class], b)
	p.idle += size
}

// Zeroed gives the allocator for those who count on zeros.
func (p *Pool) Zeroed() memory.Allocator { return zeroed{p} }

type zeroed struct{ *Pool }

func (z zeroed) Allocate(size int) []byte {
	b := z.Pool.Allocate(size)
	clear(b)
	return b
}

func (z zeroed) Reallocate(size int, b []byte) []byte {
	n := len(b)
	b = z.Pool.Reallocate(size, b)
	if n < size {
		clear(b[n:])
	}
	return b
}
