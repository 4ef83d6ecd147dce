package mysqlrow

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"leat/internal/columnar"
)

func TestBitsLittleEndian(t *testing.T) {
	t.Parallel()
	typ := columnar.DataType{Kind: columnar.Binary, Nullable: true, Length: 2}
	for _, form := range [][2][]byte{{{8, 1}, nil}, {nil, {8, 1}}} {
		got, err := single(t, col("v", "bit(12)"), typ, Options{BitsLittleEndian: true}, form[0], form[1])
		if want := base64.StdEncoding.EncodeToString([]byte{1, 8}); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// TestLabelsOfTheBinlog takes labels from the table map where it has them, and
// refuses ordinals that no label has.
func TestLabelsOfTheBinlog(t *testing.T) {
	t.Parallel()
	cols := []Column{col("a", "enum('x','?')"), col("b", "set('p')"), col("c", "enum('ü')").charset("latin1")}
	var targets []Target
	for i := range cols {
		targets = append(targets, Target{i, columnar.StringType()})
	}
	plan, err := NewPlan(cols, targets, Options{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	m := tableMap(cols...)
	plain, err := plan.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Enums = [][][]byte{{[]byte("x"), []byte("😀"), []byte("new")}, {[]byte("\xFC")}}
	m.Sets = [][][]byte{{[]byte("p"), []byte("q")}}
	full, err := plan.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	if plain == full {
		t.Error("other labels gave the same layout")
	}
	b := NewBuilder(plan, 1)
	for i, want := range []string{"? p ü", "😀 p ü", "new p,q ü"} {
		layout, image := full, []byte{0, 2, 1, 1}
		switch i {
		case 0:
			layout = plain
		case 2:
			image = []byte{0, 3, 3, 1}
		}
		if _, err := b.AppendImage(layout, columnar.Insert, image); err != nil {
			t.Fatal(err)
		}
		var cells []string
		for k := range b.vecs {
			v := &b.vecs[k]
			cells = append(cells, string(v.data[v.ends[i]:]))
		}
		if got := strings.Join(cells, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, image := range [][]byte{{0, 3, 1, 1}, {0, 1, 2, 1}} {
		if _, err := b.AppendImage(plain, columnar.Insert, image); codeOf(err) == 0 || !strings.Contains(err.Error(), "label") {
			t.Errorf("image %v: got %v, want an unknown label", image, err)
		}
	}
	if b.Len() != 3 {
		t.Errorf("%d rows, want 3", b.Len())
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string][]string{
		`enum('a\\b','x''y','n\nl','tab	','(1,2)','')`: {`a\b`, "x'y", "n\nl", "tab\t", "(1,2)", ""},
		`set('\0','''')`: {"\x00", "'"},
		`enum('open`:     {"open"},
		`enum`:           nil,
	} {
		c := Column{ColumnType: sql}
		if got := c.labels(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}

func TestTimeOfDay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"24:00:00", "-00:00:01", "838:59:59"} {
		_, err := single(t, col("v", "time"), timeOf(0), Options{}, nil, []byte(text))
		if err == nil || !strings.Contains(fmt.Sprint(err), "negative or longer than a day") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
