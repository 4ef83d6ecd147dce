package columnar_test

import (
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// TestPoolGivesReleasedMemoryAgain makes and releases arrays: later ones take the memory of earlier ones.
func TestPoolGivesReleasedMemoryAgain(t *testing.T) {
	t.Parallel()
	p := columnar.NewPool()
	made := map[*byte]bool{}
	for range 50 {
		b := memory.NewResizableBuffer(p)
		b.Resize(3000)
		made[&b.Buf()[0]] = true
		b.Resize(70_000) // moves, and gives the shorter one back
		made[&b.Buf()[0]] = true
		b.Release()
	}
	if len(made) != 2 {
		t.Errorf("%d blocks for one array at a time, want 2", len(made))
	}
}

func TestPoolKeepsContentOnReallocate(t *testing.T) {
	t.Parallel()
	for name, mem := range map[string]memory.Allocator{"pool": columnar.NewPool(), "zeroed": columnar.NewPool().Zeroed()} {
		b := mem.Allocate(2000)
		for i := range b {
			b[i] = byte(i)
		}
		for _, size := range []int{1500, 5000, 100_000, 10} {
			kept := min(size, len(b))
			if b = mem.Reallocate(size, b); len(b) != size {
				t.Fatalf("%s: %d bytes, want %d", name, len(b), size)
			}
			for i := range min(kept, 1500) {
				if b[i] != byte(i) {
					t.Fatalf("%s: byte %d of %d is %d after a move", name, i, size, b[i])
				}
			}
		}
		mem.Free(b)
	}
}

// TestPoolZeroed gives zeros whatever was in the memory before, builders of arrays included.
func TestPoolZeroed(t *testing.T) {
	t.Parallel()
	p := columnar.NewPool()
	b := p.Allocate(4096)
	for i := range b {
		b[i] = 0xff
	}
	p.Free(b)
	mem := p.Zeroed()
	b = mem.Allocate(3000)
	for i, v := range b {
		if v != 0 {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
	for i := range b {
		b[i] = 0xff
	}
	b = mem.Reallocate(4000, mem.Reallocate(100, b))
	for i, v := range b[100:] {
		if v != 0 {
			t.Fatalf("byte %d of the longer one is %d", i, v)
		}
	}
	mem.Free(b)
}

// TestPoolServesSeveral shares a pool among goroutines; nobody sees what another wrote.
func TestPoolServesSeveral(t *testing.T) {
	t.Parallel()
	p := columnar.NewPool()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for range 200 {
				b := array.NewInt64Builder(p.Zeroed())
				for range 500 {
					b.Append(int64(g))
				}
				a := b.NewInt64Array()
				for i := range a.Len() {
					if a.Value(i) != int64(g) {
						t.Errorf("value %d is %d, want %d", i, a.Value(i), g)
						return
					}
				}
				a.Release()
				b.Release()
			}
		})
	}
	all.Wait()
}
