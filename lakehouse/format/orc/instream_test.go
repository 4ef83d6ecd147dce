package orc

import (
	"slices"
	"testing"
)

// TestDamagedChunksReturnMemoryOnce damages a chunk behind bytes not yet taken, for
// which the stream needs longer memory: what it had is given back by then.
func TestDamagedChunksReturnMemoryOnce(t *testing.T) {
	t.Parallel()
	codec, err := newCompressor(CompressionZstd, 1)
	if err != nil {
		t.Fatal(err)
	}
	const block = 10_000
	out := newOutStream(codec, block)
	if err := out.write(make([]byte, 2*block)); err != nil {
		t.Fatal(err)
	}
	pieces, err := out.finish()
	if err != nil {
		t.Fatal(err)
	}
	b := slices.Concat(pieces...)
	second := chunkHeader + int(b[0])>>1 + int(b[1])<<7 + int(b[2])<<15
	b[second+chunkHeader] ^= 0xff
	in := plainIn(b)
	in.block = block
	if in.codec, err = newDecompressor(CompressionZstd); err != nil {
		t.Fatal(err)
	}
	if _, err := in.peek(1); err != nil {
		t.Fatalf("the first chunk: %v", err)
	}
	if _, err := in.peek(2 * block); err == nil {
		t.Fatal("a damaged chunk gives no error")
	}
	if in.own != nil || len(in.buf) != 0 {
		t.Errorf("the stream still holds %d bytes that others may get", cap(in.own))
	}
	in.close()
	if _, err := in.need(1); err == nil {
		t.Error("a closed stream has bytes")
	}
}
