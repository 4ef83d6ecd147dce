package orc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func plainIn(b []byte) *inStream {
	return &inStream{file: newFile(b), end: int64(len(b))}
}

func decodeInts(t *testing.T, b []byte, enc encodingKind, signed bool, n int) []int64 {
	t.Helper()
	got := make([]int64, n)
	in := plainIn(b)
	if err := newIntDecoder(in, enc, signed).read(got); err != nil {
		t.Fatal(err)
	}
	if rest, err := in.peek(1); err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes left, error %v", len(rest), err)
	}
	return got
}

func repeated(v int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// TestSpecificationExamples decodes the examples of the format's specification.
func TestSpecificationExamples(t *testing.T) {
	t.Parallel()
	down := make([]int64, 100)
	for i := range down {
		down[i] = int64(100 - i)
	}
	cases := []struct {
		name  string
		enc   encodingKind
		bytes []byte
		want  []int64
	}{
		{"v1 run", encodingDirect, []byte{0x61, 0x00, 0x07}, repeated(7, 100)},
		{"v1 falling run", encodingDirect, []byte{0x61, 0xff, 0x64}, down},
		{"v1 literals", encodingDirect, []byte{0xfb, 0x02, 0x03, 0x04, 0x07, 0xb}, []int64{2, 3, 4, 7, 11}},
		{"v2 short repeat", encodingDirectV2, []byte{0x0a, 0x27, 0x10}, repeated(10000, 5)},
		{"v2 direct", encodingDirectV2, []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, []int64{23713, 43806, 57005, 48879}},
		{"v2 patched base", encodingDirectV2, []byte{
			0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
			0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
		}, []int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		{"v2 delta", encodingDirectV2, []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, decodeInts(t, c.bytes, c.enc, false, len(c.want))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func encodeInts(t fatalizer, signed bool, vals []int64) []byte {
	t.Helper()
	w := intWriter{out: newOutStream(nil, 0), signed: signed}
	if err := w.write(vals); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := w.flush(); err != nil {
		t.Fatalf("flush: %v", err)
	}
	return slices.Concat(w.out.pieces...)
}

// TestIntWriterPicksEncodings looks at the first run that typical sequences become.
func TestIntWriterPicksEncodings(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	fill := func(n int, f func(i int) int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	level := int64(0)
	cases := []struct {
		name string
		vals []int64
		want int
		// size is the greatest length allowed.
		size int
	}{
		{"few equal", repeated(-5, 7), rleShortRepeat, 2},
		{"many equal", repeated(1<<40, 512), rleDelta, 10},
		{"sequence", fill(512, func(i int) int64 { return int64(i) * 3 }), rleDelta, 4},
		{"rising", fill(512, func(int) int64 { level += 1 + rnd.Int64N(3); return level }), rleDelta, 140},
		{"random", fill(512, func(int) int64 { return rnd.Int64N(1 << 30) }), rleDirect, 2 + 4*512},
		{"outliers", fill(512, func(i int) int64 {
			if i%40 == 7 {
				return 1 << 35
			}
			return 1000 + rnd.Int64N(200)
		}), rlePatchedBase, 2 + 512 + 100},
		{"negative outliers", fill(512, func(i int) int64 {
			if i == 400 {
				return 1 << 50
			}
			return -70000 - rnd.Int64N(15)
		}), rlePatchedBase, 2 + 256 + 40},
		{"far from zero", fill(512, func(int) int64 { return 1_700_000_000 + rnd.Int64N(100) }), rlePatchedBase, 4 + 5 + 512 + 1},
		{"close to the minimum", fill(512, func(int) int64 { return -1<<54 + rnd.Int64N(100) }), rlePatchedBase, 4 + 8 + 512 + 1},
		{"slowly rising", fill(512, func(i int) int64 { return 1e9 + int64(i/12) }), rleDelta, 2 + 5 + 1 + 128},
		{"slowly falling", fill(512, func(i int) int64 { return 1e9 - int64((i+11)/12) }), rleDelta, 2 + 5 + 1 + 128},
		{"falling behind equal ones", []int64{1e9, 1e9, 1e9 - 1, 1e9 - 3, 1e9 - 5}, rleDirect, 2 + 5*4},
		{"extremes", []int64{math.MaxInt64, math.MinInt64, 0, math.MinInt64}, rleDirect, 2 + 4*8},
		{"one", []int64{3}, rleDirect, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := encodeInts(t, true, c.vals)
			if got := int(b[0] >> 6); got != c.want {
				t.Errorf("the first run has encoding %d, want %d", got, c.want)
			}
			if len(b) > c.size {
				t.Errorf("%d bytes, want at most %d", len(b), c.size)
			}
			if d := cmp.Diff(c.vals, decodeInts(t, b, encodingDirectV2, true, len(c.vals))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// genInts draws sequences with stretches of every shape.
func genInts(t *rapid.T, signed bool) []int64 {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	var vals []int64
	for range rapid.IntRange(1, 6).Draw(t, "stretches") {
		n, bits := rnd.IntN(900), rnd.IntN(63)
		last := rnd.Int64() >> rnd.IntN(64)
		for kind := rapid.IntRange(0, 5).Draw(t, "shape"); n > 0; n-- {
			v := last
			switch kind {
			case 0:
				v = rnd.Int64() >> rnd.IntN(64)
			case 1:
			case 2:
				last += rnd.Int64N(1 << rnd.IntN(8))
			case 3:
				last -= 7
			case 4:
				if v = rnd.Int64N(1000); rnd.IntN(25) == 0 {
					v <<= bits
				}
			default:
				if rnd.IntN(15) == 0 {
					last++
				}
			}
			if signed && rnd.IntN(40) == 0 {
				v = -v
			}
			if !signed && v < 0 {
				v = ^v
			}
			vals = append(vals, v)
		}
	}
	return vals
}

func TestIntRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		signed := rapid.Bool().Draw(t, "signed")
		vals := genInts(t, signed)
		b := encodeInts(t, signed, vals)
		r := newIntDecoder(plainIn(b), encodingDirectV2, signed)
		got := make([]int64, len(vals))
		for at := 0; at < len(got); {
			n := min(rapid.IntRange(1, 2000).Draw(t, "n"), len(got)-at)
			if rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
				if err := r.skip(int64(n)); err != nil {
					t.Fatalf("skip: %v", err)
				}
				copy(got[at:at+n], vals[at:])
			} else if err := r.read(got[at : at+n]); err != nil {
				t.Fatalf("read: %v", err)
			}
			at += n
		}
		if d := cmp.Diff(vals, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

func TestPackEveryWidth(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, w := range widthCodes {
		width := int(w)
		if got := int(widthCodes[codeOfWidth(width)]); got != width {
			t.Errorf("the code of width %d means %d", width, got)
		}
		for n := range 40 {
			vals, want, zigzag := make([]uint64, n), make([]int64, n), make([]int64, n)
			for i := range vals {
				vals[i] = rnd.Uint64() >> (64 - width)
				want[i], zigzag[i] = int64(vals[i]), unzigzag(vals[i])
			}
			got, packed := make([]int64, n), pack(nil, vals, width)
			unpack(got, packed, width, false)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d values of width %d (-want +got):\n%s", n, width, d)
			}
			unpackBits(got, packed, width)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d values of width %d by the plain way (-want +got):\n%s", n, width, d)
			}
			unpack(got, packed, width, true)
			if d := cmp.Diff(zigzag, got); d != "" {
				t.Fatalf("%d signed values of width %d (-want +got):\n%s", n, width, d)
			}
		}
	}
}

// TestExpandPutsValuesAtTheirRows compares both forms with the plain way.
func TestExpandPutsValuesAtTheirRows(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for n := range 300 {
		few := rnd.IntN(30)
		valid, want := make([]byte, (n+7)/8), make([]int64, n)
		var vals []int64
		for i := range n {
			if rnd.IntN(30) < few || i/64 == 1 {
				valid[i>>3] |= 1 << (i & 7)
				want[i] = rnd.Int64()
				vals = append(vals, want[i])
			}
		}
		ints, any := make([]int64, n), make([]int64, n)
		for i := range n {
			ints[i], any[i] = -1, -1
		}
		copy(ints, vals)
		copy(any, vals)
		expandInts(ints, len(vals), valid)
		expand(any, len(vals), valid)
		if d := cmp.Diff([][]int64{want, want}, [][]int64{ints, any}); d != "" {
			t.Fatalf("%d rows (-want +got):\n%s", n, d)
		}
	}
}

// TestByteAndBoolRoundTrip also seeks to recorded positions, with and without compression.
func TestByteAndBoolRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Compression{CompressionNone, CompressionSnappy}).Draw(t, "codec")
		codec, err := newCompressor(kind, 1)
		if err != nil {
			t.Fatalf("codec: %v", err)
		}
		w := boolWriter{bytes: byteWriter{out: newOutStream(codec, 100)}}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var want []byte
		type mark struct {
			at  int
			pos []uint64
		}
		var marks []mark
		for range rapid.IntRange(1, 20).Draw(t, "parts") {
			marks = append(marks, mark{len(want), w.position(nil)})
			n := rnd.IntN(3000)
			odds := []int{1, 2, 50}[rnd.IntN(3)]
			part := make([]byte, n/8+2)
			off := rnd.IntN(8)
			for i := range n {
				b := byte(1)
				if odds > 1 && rnd.IntN(odds) == 0 {
					b = 0
				}
				part[(off+i)>>3] |= b << ((off + i) & 7)
				want = append(want, b)
			}
			if odds == 1 {
				err = w.ones(n)
			} else {
				err = w.bitmap(part, off, n)
			}
			if err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		if err := w.flush(); err != nil {
			t.Fatalf("flush: %v", err)
		}
		pieces, err := w.bytes.out.finish()
		if err != nil {
			t.Fatalf("finish: %v", err)
		}
		dec, err := newDecompressor(kind)
		if err != nil {
			t.Fatalf("codec: %v", err)
		}
		in := plainIn(slices.Concat(pieces...))
		in.codec, in.block = dec, 100
		r := boolReader{bytes: byteReader{in: in}}
		for _, m := range marks {
			if err := r.seek(&positions{list: m.pos}); err != nil {
				t.Fatalf("seek: %v", err)
			}
			n := min(len(want)-m.at, rapid.IntRange(0, 5000).Draw(t, "n"))
			bits, ones := make([]byte, n/8+1), 0
			set, err := r.read(bits, n)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			for i := range n {
				if bits[i>>3]>>(i&7)&1 != want[m.at+i] {
					t.Fatalf("bit %d behind %d is wrong", i, m.at)
				}
				ones += int(want[m.at+i])
			}
			if set != ones {
				t.Fatalf("%d bits set, want %d", set, ones)
			}
		}
	})
}

// TestOldRuns reads version 1 in pieces, signed.
func TestOldRuns(t *testing.T) {
	t.Parallel()
	// Three groups: 1000, 999, … (130 values); -1, 300; 5 five times.
	b := []byte{127, 0xff, 0xd0, 0x0f, 0xfe, 0x01, 0xd8, 0x04, 2, 0, 10}
	var want []int64
	for i := range int64(130) {
		want = append(want, 1000-i)
	}
	want = append(want, -1, 300, 5, 5, 5, 5, 5)
	for _, step := range []int{1, 7, 137} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			r := newIntDecoder(plainIn(b), encodingDirect, true)
			got := make([]int64, len(want))
			for at := 0; at < len(got); at += step {
				if err := r.read(got[at:min(at+step, len(got))]); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
