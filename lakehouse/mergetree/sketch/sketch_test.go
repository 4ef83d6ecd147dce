package sketch

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vector is what Paimon's library answers to a request for sets (command sketch
// of the oracle in e2e): the sets and their union.
type vector struct {
	kind   string
	sets   json.RawMessage
	values [][]byte
	union  []byte
	count  float64
}

var byKind = map[string]Union{"theta": Theta, "hll": HLL, "rbm32": Bitmap32, "rbm64": Bitmap64}

func vectors(t testing.TB) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var out []vector
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	for i := 0; i+1 < len(lines); i += 2 {
		var ask struct {
			Kind string
			Sets json.RawMessage
		}
		var answer struct {
			Hex   []string
			Union string
			Count float64
		}
		for k, v := range []any{&ask, &answer} {
			if err := json.Unmarshal(lines[i+k], v); err != nil {
				t.Fatal(err)
			}
		}
		v := vector{kind: ask.Kind, sets: ask.Sets, union: unhex(answer.Union), count: answer.Count}
		for _, h := range answer.Hex {
			v.values = append(v.values, unhex(h))
		}
		out = append(out, v)
	}
	return out
}

func TestUnions(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		got, err := byKind[v.kind](v.values)
		if err != nil {
			t.Errorf("%s %s: %v", v.kind, v.sets, err)
			continue
		}
		switch v.kind {
		case "rbm32":
			checkBitmaps(t, v, got, decode32)
		case "rbm64":
			checkBitmaps(t, v, got, decode64)
		default:
			if d := cmp.Diff(hex.EncodeToString(v.union), hex.EncodeToString(got)); d != "" {
				t.Errorf("%s %s (-Java +got):\n%s", v.kind, v.sets, d)
			}
		}
	}
}

// checkBitmaps compares the numbers of two bitmaps.
func checkBitmaps(t *testing.T, v vector, got []byte, decode func([]byte) (bitmap, error)) {
	t.Helper()
	want, err := decode(v.union)
	if err != nil {
		t.Errorf("%s %s: reading Java's union: %v", v.kind, v.sets, err)
		return
	}
	mine, err := decode(got)
	if err != nil {
		t.Errorf("%s %s: %v", v.kind, v.sets, err)
		return
	}
	n := 0
	for key, c := range mine {
		n += c.count()
		if d := cmp.Diff(want[key].runs(), c.runs()); d != "" {
			t.Errorf("%s %s, part %x (-Java +got):\n%s", v.kind, v.sets, key, d)
		}
	}
	if len(want) != len(mine) || float64(n) != v.count {
		t.Errorf("%s %s: %d numbers in %d parts, Java has %v in %d", v.kind, v.sets, n, len(mine), v.count, len(want))
	}
}

// TestDamagedValues cuts and changes values: they may be refused, and never break the program.
func TestDamagedValues(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		union := byKind[v.kind]
		for _, value := range v.values {
			if len(value) > 3000 {
				continue
			}
			refused := 0
			for cut := range min(len(value), 40) {
				if _, err := union([][]byte{value[:cut], v.values[0]}); err != nil {
					refused++
				}
			}
			if len(value) > 16 && refused == 0 {
				t.Errorf("%s %s: no cut value is refused", v.kind, v.sets)
			}
			for at := range min(len(value), 60) {
				for _, x := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
					broken := bytes.Clone(value)
					broken[at] ^= x
					if out, err := union([][]byte{broken, v.values[0]}); err == nil && len(out) == 0 {
						t.Errorf("%s %s: nothing comes of a changed byte %d", v.kind, v.sets, at)
					}
				}
			}
		}
	}
}

func FuzzUnions(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.values[0], v.values[1])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for kind, union := range byKind {
			out, err := union([][]byte{a, b})
			if err != nil {
				continue
			}
			if _, err := union([][]byte{out, out}); err != nil {
				t.Errorf("%s: the union cannot be read: %v", kind, err)
			}
		}
	})
}
