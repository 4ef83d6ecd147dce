package mysqlrow

import (
	"encoding/binary"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// partial makes the image of the columns that are in present.
func partial(cols []Column, vals []value, present []bool) (img, bitmap []byte) {
	var some []Column
	var has []value
	bitmap = make([]byte, (len(cols)+7)/8)
	for i := range cols {
		if present[i] {
			some, has = append(some, cols[i]), append(has, vals[i])
			bitmap[i>>3] |= 1 << (i & 7)
		}
	}
	return image(some, has), bitmap
}

// TestCompletedRowsAreTheWholeOnes takes columns out of images where they can be
// known, and expects the rows of the whole images.
func TestCompletedRowsAreTheWholeOnes(t *testing.T) {
	t.Parallel()
	cols := []Column{
		col("id", "bigint").notNull(), col("a", "int").notNull(), col("b", "varchar(20)").charset("utf8mb4"), col("c", "text").charset("utf8mb4"),
		col("d", "bigint"), col("e", "int"), col("f", "int"), col("g", "bigint"), col("h", "int"),
	}
	// Column d is not read.
	var targets []Target
	schema := &columnar.Schema{}
	for i, c := range cols {
		if c.Name == "d" {
			continue
		}
		typ, err := NaturalType(c)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, Target{Column: i, Type: typ})
		schema.Fields = append(schema.Fields, columnar.Field{Name: c.Name, Type: typ})
	}
	p, err := NewPlan(cols, targets, Options{Table: "db.t", Key: []int{0}, ChunkKey: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Bind(tableMap(cols...))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Repeat([]bool{true}, len(cols))
	rapid.Check(t, func(t *rapid.T) {
		draw := func() []value {
			vals := make([]value, len(cols))
			for i, c := range cols {
				switch {
				case c.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0:
					vals[i] = value{null: true}
				case c.Charset != "":
					vals[i] = value{bytes: []byte(rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "text"))}
				default:
					vals[i] = value{num: big.NewInt(rapid.Int64Range(-9, 9).Draw(t, "int"))}
				}
			}
			return vals
		}
		op := Op(rapid.IntRange(0, 2).Draw(t, "op"))
		var some, whole []byte
		hasBefore, hasAfter := slices.Clone(all), slices.Clone(all)
		before := []int(nil) // all old values are used
		if rapid.Bool().Draw(t, "only key") {
			before = []int{2}
		}
		for i := range cols {
			used := i == 0 || before == nil && i != 4 || before != nil && i == 2
			hasBefore[i] = used || rapid.Bool().Draw(t, "in before")
			hasAfter[i] = !hasBefore[i] && i != 4 || op == OpInsert && i != 4 || rapid.Bool().Draw(t, "in after")
		}
		r := Rows{Op: op, Columns: len(cols)}
		full := Rows{Op: op, Columns: len(cols)}
		put := func(vals []value, has []bool) {
			img, bitmap := partial(cols, vals, has)
			some = append(some, img...)
			if r.Present == nil {
				r.Present = bitmap
			} else if op == OpUpdate && r.PresentAfter == nil {
				r.PresentAfter = bitmap
			}
			img, full.Present = partial(cols, vals, all)
			whole = append(whole, img...)
		}
		for range rapid.IntRange(1, 3).Draw(t, "rows") {
			was, now := draw(), draw()
			if op != OpInsert {
				put(was, hasBefore)
			}
			if op == OpDelete {
				continue
			}
			for i := range now {
				if op == OpUpdate && !hasAfter[i] && hasBefore[i] {
					now[i] = was[i] // unchanged
				}
			}
			put(now, hasAfter)
		}
		r.Data, full.Data, full.PresentAfter = some, whole, full.Present
		if op != OpUpdate {
			full.PresentAfter = nil
		}
		got, lax, err := l.Complete(r, before)
		if err != nil {
			t.Fatal(err)
		}
		rows := func(l *Layout, r Rows) *columnar.Batch {
			b := NewBuilder(p, 8)
			if err := b.AppendRows(l, r); err != nil {
				t.Fatal(err)
			}
			batch, err := b.Finish(schema)
			if err != nil {
				t.Fatal(err)
			}
			return batch
		}
		a, b := rows(l, full), rows(lax, got)
		for i := range a.Rows() {
			if a.Kind(i) != b.Kind(i) {
				t.Fatalf("row %d is %v, want %v", i, b.Kind(i), a.Kind(i))
			}
			for j, target := range targets {
				want, have := a.Cols[j].ValueStr(i), b.Cols[j].ValueStr(i)
				unknown := a.Kind(i).Retracts() && !hasBefore[target.Column]
				if want != have && !(unknown && b.Cols[j].IsNull(i)) {
					t.Fatalf("row %d, column %s: %s, want %s", i, schema.Fields[j].Name, have, want)
				}
			}
		}
	})
}

func TestMissingColumnsAreNamed(t *testing.T) {
	t.Parallel()
	cols := []Column{col("id", "bigint").notNull(), col("a", "int"), col("b", "int"), col("c", "int")}
	num := columnar.Of(columnar.Int)
	p, err := NewPlan(cols, []Target{{0, columnar.Of(columnar.BigInt)}, {1, num}, {2, num}}, Options{Table: "db.t", Key: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Bind(tableMap(cols...))
	if err != nil {
		t.Fatal(err)
	}
	vals := []value{{num: big.NewInt(1)}, {num: big.NewInt(2)}, {num: big.NewInt(3)}, {num: big.NewInt(4)}}
	key := []bool{true, false, false, false}
	for _, tt := range []struct {
		name   string
		op     Op
		was    []bool
		now    []bool
		before []int
		want   *Missing
	}{
		{"insert", OpInsert, nil, []bool{true, true, false, false}, nil, &Missing{Columns: []string{"b"}}},
		{"delete by key, all used", OpDelete, key, nil, nil, &Missing{Columns: []string{"a", "b"}, Before: true}},
		{"delete by key, a used", OpDelete, key, nil, []int{1}, &Missing{Columns: []string{"a"}, Before: true}},
		{"delete by key, none used", OpDelete, key, nil, []int{}, nil},
		{"update that changes a", OpUpdate, key, []bool{false, true, false, false}, []int{}, &Missing{Columns: []string{"b"}}},
		{"update that changes both", OpUpdate, key, []bool{false, true, true, false}, []int{}, nil},
		{"update of the key alone", OpUpdate, []bool{true, true, true, false}, key, nil, nil},
		{"no key", OpDelete, []bool{false, true, true, true}, nil, []int{}, &Missing{Columns: []string{"id"}, Before: true}},
	} {
		r := Rows{Op: tt.op, Columns: 4}
		var img []byte
		if tt.was != nil {
			img, r.Present = partial(cols, vals, tt.was)
			r.Data = append(r.Data, img...)
		}
		if tt.now != nil {
			var bitmap []byte
			img, bitmap = partial(cols, vals, tt.now)
			r.Data = append(r.Data, img...)
			if tt.op == OpUpdate {
				r.PresentAfter = bitmap
			} else {
				r.Present = bitmap
			}
		}
		_, _, err := l.Complete(r, tt.before)
		var got *Missing
		if errors.As(err, &got); tt.want == nil && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		// Bytes that end early are an error, whatever is missing.
		for n := range len(r.Data) {
			if n == 0 {
				continue
			}
			r := r
			r.Data = r.Data[:n]
			if _, _, err := l.Complete(r, tt.before); err == nil && tt.op == OpUpdate {
				t.Errorf("%s: %d bytes are taken", tt.name, n)
			}
		}
	}
}

// text gives a document as its column shows it.
func text(t testing.TB, doc []byte) string {
	t.Helper()
	r := jsonReader{limit: 1 << 20}
	if !r.value(doc[0], doc[1:], 0) {
		t.Fatalf("malformed document %x", doc)
	}
	return string(r.dst)
}

// TestJSONKeepsItsTextThroughTheTree writes documents anew.
func TestJSONKeepsItsTextThroughTheTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument(t, 0)
		doc := append([]byte{d.kind}, d.wire...)
		n, good := parseJSON(doc)
		if !good {
			t.Fatalf("%x is not read", doc)
		}
		r, s := jsonReader{limit: 1 << 20}, jsonReader{limit: 1 << 20}
		again := n.encode([]byte{n.kind})
		if !r.value(doc[0], doc[1:], 0) || !s.value(again[0], again[1:], 0) || string(r.dst) != string(s.dst) {
			t.Fatalf("%s became %s", r.dst, s.dst)
		}
	})
}

func number(n int16) []byte { return binary.LittleEndian.AppendUint16([]byte{jsonInt16}, uint16(n)) }

func TestJSONPatches(t *testing.T) {
	t.Parallel()
	diff := func(op byte, path string, value []byte) []byte {
		b := append([]byte{op, byte(len(path))}, path...)
		if op == jsonRemove {
			return b
		}
		return append(append(b, byte(len(value))), value...)
	}
	object := (&jsonNode{kind: jsonLargeObject}).encode([]byte{jsonLargeObject})
	array := (&jsonNode{kind: jsonLargeArray}).encode([]byte{jsonLargeArray})
	start := slices.Concat(diff(jsonInsert, "$.a", number(1)), diff(jsonInsert, "$.bb", array), diff(jsonInsert, "$.bb[0]", number(5)), diff(jsonInsert, "$.bb[9]", number(6)))
	for _, tt := range []struct{ path, want string }{
		{"", `{"a":1,"bb":[5,6]}`},
		{"r $.a", `{"a":7,"bb":[5,6]}`},
		{"r $", `7`},
		{"r $.bb[0]", `{"a":1,"bb":[7,6]}`},
		{"r $.bb[last]", `{"a":1,"bb":[5,7]}`},
		{"r $.bb[last-1]", `{"a":1,"bb":[7,6]}`},
		{"r $.a[0]", `{"a":7,"bb":[5,6]}`},
		{`i $."b \"c"`, `{"a":1,"bb":[5,6],"b \"c":7}`},
		{"i $.0", `{"0":7,"a":1,"bb":[5,6]}`},
		{"i $.bb[1]", `{"a":1,"bb":[5,7,6]}`},
		{"d $.a", `{"bb":[5,6]}`},
		{"d $.bb[1]", `{"a":1,"bb":[5]}`},
		{"d $", ""},
		{"i $", ""},
		{"i $.a", ""},
		{"r $.x", ""},
		{"r $.x.y", ""},
		{"d $.bb[2]", ""},
		{"i $.a[1]", ""},
		{"i $.bb.x", ""},
		{"r a", ""},
		{"r $[", ""},
		{"r $[x]", ""},
		{"r $x", ""},
		{`r $."a`, ""},
	} {
		diffs := start
		if tt.path != "" {
			op := map[byte]byte{'r': jsonReplace, 'i': jsonInsert, 'd': jsonRemove}[tt.path[0]]
			diffs = slices.Concat(start, diff(op, tt.path[2:], number(7)))
		}
		out, good := patchJSON(object, diffs)
		switch {
		case good != (tt.want != ""):
			t.Errorf("%s: %t", tt.path, good)
		case good && text(t, out) != tt.want:
			t.Errorf("%s gives %s, want %s", tt.path, text(t, out), tt.want)
		}
		for n := range diffs {
			patchJSON(object, diffs[:n]) // any answer, no panic
		}
	}
}

func FuzzJSONPatch(f *testing.F) {
	f.Add([]byte{jsonLargeArray, 0, 0, 0, 0, 8, 0, 0, 0}, []byte{jsonInsert, 4, '$', '[', '0', ']', 3, jsonInt16, 1, 0})
	f.Fuzz(func(t *testing.T, doc, diffs []byte) {
		if out, good := patchJSON(doc, diffs); good {
			if _, again := parseJSON(out); !again {
				t.Errorf("%x with %x gives %x, which is not read", doc, diffs, out)
			}
		}
	})
}
