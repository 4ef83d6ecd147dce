package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

var jsonNames = []string{"a", "b", "é", `q"\`, "x y", ""}

func drawJSON(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.IntRange(-5, 5).Draw(t, "number"))
	case 3, 4:
		return rapid.SampledFrom([]string{"", "x", "{", "]", `"`, `\`, "a\nb", "é世", ",:"}).Draw(t, "text")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	default:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[rapid.SampledFrom(jsonNames).Draw(t, "name")] = drawJSON(t, depth-1)
		}
		return m
	}
}

// TestJSONPathsEqualLookups compares paths through random JSON, however it is written,
// with steps through the decoded values.
func TestJSONPathsEqualLookups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := drawJSON(t, 3)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "blanks") {
			var b bytes.Buffer
			if err := json.Indent(&b, text, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			text = append([]byte(" \n"), b.Bytes()...)
		}
		path, at, there := "$", doc, true
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "element") {
				i := rapid.IntRange(0, 2).Draw(t, "index")
				path += fmt.Sprintf("[%d]", i)
				list, _ := at.([]any)
				if there = there && i < len(list); there {
					at = list[i]
				}
				continue
			}
			name := rapid.SampledFrom(jsonNames[:3]).Draw(t, "name")
			path += rapid.SampledFrom([]string{".%s", `."%s"`, "['%s']"}).Draw(t, "form")
			path = strings.Replace(path, "%s", name, 1)
			m, _ := at.(map[string]any)
			if at, there = m[name], there && m != nil; there {
				_, there = m[name]
			}
		}
		e, err := JSON("JSON_QUERY", Column(0, columnar.StringType()), LitString(path), JSONClauses{Wrapper: "UNCONDITIONAL"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile([]Expr{e, mustCall("JSON_EXISTS", Column(0, columnar.StringType()), LitString(path))}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(string(text))
		out, err := p.Eval(memory.DefaultAllocator, []arrow.Array{b.NewArray()}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if out[1].(*array.Boolean).Value(0) != there || out[0].IsNull(0) == there {
			t.Fatalf("%s of %s: exists %s, value %s, want %t", path, text, out[1], out[0], there)
		}
		if !there {
			return
		}
		var got []any
		if err := json.Unmarshal([]byte(out[0].(*array.String).Value(0)), &got); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], at) {
			t.Fatalf("%s of %s: got %s (%v), want %v", path, text, out[0], err, at)
		}
	})
}

func FuzzJSONPath(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x"}]}`, "$.a[1].b")
	f.Add(`[`, "strict $[*]")
	f.Fuzz(func(_ *testing.T, doc, path string) {
		p, ok := parseJSONPath(path)
		if ok && validJSON(doc) {
			for _, v := range p.find(doc) {
				appendJSON(nil, v)
			}
		}
	})
}
