package mysqlrow

import (
	"math"
	"slices"
	"testing"

	"leat/internal/columnar"
)

// FuzzGeometry gives hostile geometries.
func FuzzGeometry(f *testing.F) {
	point := slices.Concat([]byte{0, 0, 0, 0, 1, 1, 0, 0, 0}, littleEndian(math.Float64bits(1), 8), littleEndian(math.Float64bits(-2.5), 8))
	f.Add(point)
	f.Add([]byte{0xE6, 0x10, 0, 0, 1, 7, 0, 0, 0, 1, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Add([]byte{0, 0, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := cell{store: storeBytes}
		v := newVec(storeBytes, 0, nil)
		v.reserve(1, 0)
		if st := c.putGeometry(&v, b); st == okay && len(v.data) > 1000+20*len(b) && len(b) < 1000 {
			// A coordinate of eight bytes takes up to 24 letters, a head of nine 50.
			t.Errorf("%d bytes became %d", len(b), len(v.data))
		}
	})
}

func TestDeepGeometry(t *testing.T) {
	t.Parallel()
	deep := func(n int) []byte {
		b := make([]byte, 4)
		for range n {
			b = append(b, 1, 7, 0, 0, 0, 1, 0, 0, 0)
		}
		return append(b, 1, 7, 0, 0, 0, 0, 0, 0, 0)
	}
	c := col("v", "geometry")
	for n, good := range map[int]bool{3: true, maxNesting: true, maxNesting + 1: false, 100_000: false} {
		wire := deep(n)
		wire = append(littleEndian(uint64(len(wire)), 4), wire...)
		got, err := single(t, c, columnar.StringType(), Options{}, wire, nil)
		if (err == nil) != good {
			t.Errorf("%d levels: got %.60q, %v", n, got, err)
		}
	}
}
