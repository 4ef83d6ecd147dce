package format

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestBoundsOfLongTexts compares the bounds that a chunk keeps the start of with
// those of whole values: what the footer gets is the same.
func TestBoundsOfLongTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 3
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 6), 1, 8).Draw(t, "values")
		c := &bytesChunk{stats: true, most: most}
		low, high := values[0], values[0]
		for _, v := range values {
			c.note(v)
			if rapid.Bool().Draw(t, "page ends") {
				if err := c.endBounds(); err != nil {
					t.Fatal(err)
				}
			}
			if bytes.Compare(v, low) < 0 {
				low = v
			}
			if bytes.Compare(v, high) > 0 {
				high = v
			}
		}
		if err := c.endBounds(); err != nil {
			t.Fatal(err)
		}
		for i, want := range [][]byte{low, high} {
			got := [][]byte{c.chunkRange.least, c.chunkRange.most}[i]
			if len(want) > most != (len(got) > most) || len(want) <= most && !bytes.Equal(got, want) {
				t.Fatalf("bound %d of %q is %q, want %q", i, values, got, want)
			}
		}
	})
}
