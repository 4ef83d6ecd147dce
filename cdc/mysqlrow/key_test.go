package mysqlrow

import (
	"bytes"
	"cmp"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// printed is what the server prints for a column of KeySelect.
func printed(c Column, v value) string {
	switch c.family() {
	case famText, famBytes:
		raw := v.bytes
		if c.DataType == "binary" {
			raw = append(bytes.Clone(raw), make([]byte, max(0, int(c.Length)-len(raw)))...)
		}
		return fmt.Sprintf("%X", raw)
	case famBit, famEnum, famSet:
		if v.num == nil {
			return fmt.Sprint(bitNumber(v.bytes))
		}
		return v.num.String()
	default:
		return string(textValue(c, v))
	}
}

// TestKeysOfBothPathsAgree takes the same keys from row images and from what the
// server prints.
func TestKeysOfBothPathsAgree(t *testing.T) {
	t.Parallel()
	collations := map[string]string{"utf8mb4": "utf8mb4_unicode_ci", "latin1": "latin1_swedish_ci", "utf16": "utf16_general_ci", "ujis": "ujis_japanese_ci"}
	rapid.Check(t, func(rt *rapid.T) {
		var cols []Column
		var vals [2][]value
		var opt Options
		for range rapid.IntRange(1, 4).Draw(rt, "columns") {
			c := genColumn(rt, string(rune('a'+len(cols))))
			c.Collation = collations[c.Charset]
			if ok, _ := c.ordered(); !ok {
				continue
			}
			opt.ChunkKey = append(opt.ChunkKey, len(cols))
			cols = append(cols, c)
			for i := range vals {
				v := genValue(rt, c)
				for v.null {
					v = genValue(rt, c)
				}
				if i == 1 && rapid.Bool().Draw(rt, "same") {
					v = vals[0][len(cols)-1]
				}
				vals[i] = append(vals[i], v)
			}
		}
		if len(cols) == 0 {
			return
		}
		p, err := NewPlan(cols, nil, opt)
		if err != nil {
			rt.Fatal(err)
		}
		l, err := p.Bind(tableMap(cols...))
		if err != nil {
			rt.Fatal(err)
		}
		var edges [2]Edge
		for i := range vals {
			texts := make([]string, len(cols))
			for j, c := range cols {
				texts[j] = printed(c, vals[i][j])
			}
			if edges[i], err = p.ParseEdge(texts); err != nil {
				rt.Fatal(err)
			}
			key, err := l.AppendChunkKey([]byte("x"), image(cols, vals[i]))
			if err != nil || string(key[1:]) != edges[i].Order {
				rt.Fatalf("%v: image %x (%v), text %x", texts, key[1:], err, edges[i].Order)
			}
		}
		// Column by column is the order of the whole.
		want := 0
		for j := range cols {
			if want == 0 {
				want = cmp.Compare(edges[0].parts[j], edges[1].parts[j])
			}
		}
		if got := cmp.Compare(edges[0].Order, edges[1].Order); got != want {
			rt.Fatalf("%q and %q compare as %d, want %d", edges[0].parts, edges[1].parts, got, want)
		}
	})
}

func TestTerminateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 2, 255}), 0, 6)
		a, b := gen.Draw(rt, "a"), gen.Draw(rt, "b")
		x, y := terminate(append([]byte("p"), a...), 1), terminate(append([]byte("p"), b...), 1)
		if bytes.Compare(x, y) != bytes.Compare(a, b) || len(a) != len(b) && bytes.HasPrefix(x, y) {
			rt.Fatalf("%x and %x became %x and %x", a, b, x, y)
		}
	})
}

func TestColumnsThatDoNotCut(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Column{
		"column 'c' may be NULL":              col("c", "int"),
		"column 'c' is JSON":                  col("c", "json").notNull(),
		"column 'c' is BLOB":                  col("c", "blob").notNull(),
		"the order of collation big5_bin is ": {Name: "c", DataType: "char", ColumnType: "char(1)", Charset: "big5", Collation: "big5_bin"},
	} {
		if ok, why := CutBy(c); ok || !bytes.Contains([]byte(why), []byte(want)) {
			t.Errorf("%s: %t, %q", want, ok, why)
		}
	}
}
