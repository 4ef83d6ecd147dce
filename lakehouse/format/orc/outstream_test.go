package orc

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestChunksAreKeptUnlessCompressionPays gives bytes that zstd makes a sixth
// smaller, or not quite.
func TestChunksAreKeptUnlessCompressionPays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values int
		kept   bool
	}{{"6 of 8 bits", 64, false}, {"7.5 of 8 bits", 181, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			codec, err := newCompressor(CompressionZstd, 1)
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			want := make([]byte, 100_000)
			for i := range want {
				want[i] = byte(rnd.IntN(c.values))
			}
			out := newOutStream(codec, len(want))
			for part := range slices.Chunk(want, 999) {
				if err := out.write(part); err != nil {
					t.Fatal(err)
				}
			}
			pieces, err := out.finish()
			if err != nil {
				t.Fatal(err)
			}
			b := slices.Concat(pieces...)
			if kept := b[0]&1 == 1; kept != c.kept {
				t.Errorf("kept as it was: %v, %d bytes", kept, len(b))
			}
			if c.kept && !bytes.Equal(b[chunkHeader:], want) {
				t.Error("the chunk is not what was written")
			}
			if out.close(); out.size() != 0 {
				t.Errorf("%d bytes are held after the end", out.size())
			}
		})
	}
}
