package lakehouse

import (
	"os"
	"path/filepath"
	"testing"

	"leat/lakehouse/spec"
)

// maxFuzzRows is how many rows the data files of fuzzed vectors have: no vector
// may take more memory than these.
const maxFuzzRows = 1 << 16

// FuzzDeletionVector reads vectors of both versions out of any bytes: an error or
// positions of the file, never more, and the same after they were written again.
func FuzzDeletionVector(f *testing.F) {
	for _, wide := range []bool{false, true} {
		set := rowSet{}
		for _, at := range []int64{0, 3, 64, 4095, 5000} {
			set.add(at)
		}
		dense := rowSet{}
		for at := range int64(6000) {
			dense.add(at * 3)
		}
		content, ranges := encodeVectors(vectors{"a": set, "b": dense}, wide)
		for i := range ranges {
			f.Add(content, ranges[i].Offset, ranges[i].Length, wide)
		}
	}
	files, err := filepath.Glob("testdata/golden/deletion_vectors_pk/wh/db.db/*/index/*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int32(1), int32(len(b)), false)
	}
	f.Fuzz(func(t *testing.T, content []byte, offset, length int32, wide bool) {
		set, err := decodeVector(content, &spec.DeletionVectorMeta{DataFile: "a", Offset: offset, Length: length}, maxFuzzRows)
		if err != nil {
			return
		}
		if len(set) > maxFuzzRows/64 {
			t.Fatalf("%d words for %d rows", len(set), maxFuzzRows)
		}
		again, ranges := encodeVectors(vectors{"a": set}, wide)
		second, err := decodeVector(again, &ranges[0], maxFuzzRows)
		if err != nil || second.count() != set.count() || *ranges[0].Cardinality != set.count() {
			t.Fatalf("%d rows became %d: %v", set.count(), second.count(), err)
		}
	})
}

// FuzzBitmap reads the bitmap of a vector without the checksum around it, which
// random bytes hardly have.
func FuzzBitmap(f *testing.F) {
	set := rowSet{}
	for at := range int64(5000) {
		set.add(at * 2)
	}
	f.Add(appendRoaring(nil, set), false)
	f.Add(appendRoaring64(nil, set), true)
	f.Add([]byte{0x3b, 0x30, 0, 0, 1, 0, 0, 9, 0, 1, 0, 0, 0, 9, 0}, false)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		var set rowSet
		var err error
		if wide {
			err = readRoaring64(b, maxFuzzRows, &set)
		} else {
			_, err = readRoaring(b, 0, maxFuzzRows, &set)
		}
		if len(set) > maxFuzzRows/64 {
			t.Fatalf("%d words for %d rows: %v", len(set), maxFuzzRows, err)
		}
	})
}

func FuzzHashIndex(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 255, 255, 255, 255}, int64(2))
	f.Add([]byte{0, 0, 0}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, count int64) {
		hashes, err := parseHashes(b, count)
		if err == nil && (int64(len(hashes)) != count || len(hashes)*4 != len(b)) {
			t.Errorf("%d hashes of %d bytes, %d are said", len(hashes), len(b), count)
		}
	})
}
