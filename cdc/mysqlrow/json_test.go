package mysqlrow

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// document is a JSON document with its two forms on the wire, written without
// the code under test.
type document struct {
	kind    byte
	wire    []byte // behind the type
	text    string // as the server prints it
	members []document
	keys    []string
}

func scalarDocument(t *rapid.T) document {
	switch rapid.IntRange(0, 6).Draw(t, "scalar") {
	case 0:
		n := rapid.IntRange(0, 2).Draw(t, "literal")
		return document{kind: jsonLiteral, wire: []byte{byte(n)}, text: []string{"null", "true", "false"}[n]}
	case 1:
		n := rapid.Int64().Draw(t, "int64") >> rapid.SampledFrom([]int{0, 32, 48}).Draw(t, "shift")
		switch {
		case n == int64(int16(n)):
			return document{kind: jsonInt16, wire: littleEndian(uint64(n), 2), text: strconv.FormatInt(n, 10)}
		case n == int64(int32(n)):
			return document{kind: jsonInt32, wire: littleEndian(uint64(n), 4), text: strconv.FormatInt(n, 10)}
		}
		return document{kind: jsonInt64, wire: littleEndian(uint64(n), 8), text: strconv.FormatInt(n, 10)}
	case 2:
		n := rapid.Uint64().Draw(t, "uint64")
		return document{kind: jsonUint64, wire: littleEndian(n, 8), text: strconv.FormatUint(n, 10)}
	case 3:
		x := rapid.SampledFrom([]float64{0.5, -3, 1e100, 1e15, 12345.6789, 1e-15, 2e-16, 5e-324, 1003142633832537.8}).Draw(t, "double")
		text := map[float64]string{0.5: "0.5", -3: "-3.0", 1e100: "1e100", 1e15: "1e15", 12345.6789: "12345.6789", 1e-15: "0.000000000000001", 2e-16: "2e-16", 5e-324: "5e-324", 1003142633832537.8: "1003142633832537.8"}[x]
		return document{kind: jsonDouble, wire: littleEndian(math.Float64bits(x), 8), text: text}
	case 4:
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "blob")
		return document{
			kind: jsonOpaque, wire: append([]byte{252}, withLength(b)...),
			text: `"base64:type252:` + base64.StdEncoding.EncodeToString(b) + `"`,
		}
	default:
		s := textWord(t)
		return document{kind: jsonString, wire: withLength([]byte(s)), text: quoted(s)}
	}
}

func textWord(t *rapid.T) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune(" :,\"\\\n\u0001aé😀{}[]")), 0, 200, -1).Draw(t, "text")
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\u0001", `\u0001`).Replace(s) + `"`
}

// withLength puts a length of seven bits a byte in front.
func withLength(b []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

func genDocument(t *rapid.T, depth int) document {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return scalarDocument(t)
	}
	d := document{}
	n := rapid.IntRange(0, 4).Draw(t, "members")
	for range n {
		d.members = append(d.members, genDocument(t, depth-1))
	}
	large := rapid.Bool().Draw(t, "large")
	if kind == 3 {
		for len(d.keys) < n {
			if k := textWord(t); !slices.Contains(d.keys, k) {
				d.keys = append(d.keys, k)
			}
		}
	}
	d.finish(kind == 3, large)
	return d
}

// finish writes both forms of an object or array.
func (d *document) finish(object, large bool) {
	width := 2
	d.kind = jsonSmallArray
	if large {
		width, d.kind = 4, jsonLargeArray
	}
	if object {
		d.kind -= 2
	}
	head := 2*width + len(d.members)*(1+width) + len(d.keys)*(2+width)
	var keys, values, keyEntries, valueEntries []byte
	for _, k := range d.keys {
		keyEntries = append(keyEntries, littleEndian(uint64(head+len(keys)), width)...)
		keyEntries = append(keyEntries, littleEndian(uint64(len(k)), 2)...)
		keys = append(keys, k...)
	}
	texts := make([]string, len(d.members))
	for i, m := range d.members {
		valueEntries = append(valueEntries, m.kind)
		texts[i] = m.text
		if object {
			texts[i] = quoted(d.keys[i]) + ": " + m.text
		}
		if m.kind == jsonLiteral || m.kind == jsonInt16 || m.kind == jsonInt32 && large {
			valueEntries = append(valueEntries, append(slices.Clone(m.wire), 0, 0, 0, 0)[:width]...)
			continue
		}
		valueEntries = append(valueEntries, littleEndian(uint64(head+len(keys)+len(values)), width)...)
		values = append(values, m.wire...)
	}
	rest := slices.Concat(keyEntries, valueEntries, keys, values)
	d.wire = append(littleEndian(uint64(len(d.members)), width), littleEndian(uint64(2*width+len(rest)), width)...)
	d.wire = append(d.wire, rest...)
	d.text = "[" + strings.Join(texts, ", ") + "]"
	if object {
		d.text = "{" + strings.Join(texts, ", ") + "}"
	}
}

// TestJSONDocuments reads random documents in both forms, with blanks and without.
func TestJSONDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument(t, 4)
		spaced := cell{store: storeBytes, spaced: true}
		v := newVec(storeBytes, 0, nil)
		v.reserve(1, 0)
		if st := spaced.putJSON(&v, append([]byte{d.kind}, d.wire...)); st != okay || string(v.data) != d.text {
			t.Fatalf("got %q, status %d, want %q", v.data, st, d.text)
		}
		compact := cell{store: storeBytes}
		if st := compact.putJSON(&v, append([]byte{d.kind}, d.wire...)); st != okay {
			t.Fatalf("status %d", st)
		}
		if st := textJSON(&compact, &v, []byte(d.text)); st != okay {
			t.Fatalf("status %d", st)
		}
		fromImage, fromText := v.data[v.ends[1]:v.ends[2]], v.data[v.ends[2]:v.ends[3]]
		if string(fromImage) != string(fromText) {
			t.Fatalf("binlog %q, text %q", fromImage, fromText)
		}
	})
}

// FuzzJSON gives hostile documents; what is read must be within bounds.
func FuzzJSON(f *testing.F) {
	f.Add([]byte{jsonSmallArray, 1, 0, 7, 0, jsonLiteral, 1, 0})
	f.Add([]byte{jsonSmallObject, 1, 0, 13, 0, 11, 0, 1, 0, jsonInt16, 7, 0, 'a', 0})
	f.Add([]byte{jsonSmallArray, 2, 0, 10, 0, jsonSmallArray, 0, 0, jsonSmallArray, 0, 0}) // an array within itself
	f.Add(append([]byte{jsonOpaque, 246, 4}, 3, 1, 0x81, 5))
	f.Add(append([]byte{jsonOpaque, 12, 8}, 0, 0, 0, 0xB3, 0x2A, 0xB2, 0x99, 0x19))
	f.Add([]byte{jsonDouble, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F})
	f.Fuzz(func(t *testing.T, doc []byte) {
		c := cell{store: storeBytes}
		v := newVec(storeBytes, 0, nil)
		v.reserve(1, 0)
		if st := c.putJSON(&v, doc); st == okay && len(v.data) > 2*(64+maxJSONGrowth*len(doc)) {
			t.Errorf("%d bytes became %d", len(doc), len(v.data))
		}
		v.data = appendCompactJSON(v.data[:0], doc)
		if len(v.data) > len(doc) {
			t.Errorf("%d bytes became %d", len(doc), len(v.data))
		}
	})
}

func TestJSONSpaces(t *testing.T) {
	t.Parallel()
	for _, spaced := range []bool{false, true} {
		want := `{"a": [1, "b: c, d\" , "], "é": null}`
		if !spaced {
			want = `{"a":[1,"b: c, d\" , "],"é":null}`
		}
		got, err := single(t, col("v", "json"), columnar.StringType(), Options{SpacedJSON: spaced}, nil, []byte(`{"a": [1, "b: c, d\" , "], "é": null}`))
		if err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
