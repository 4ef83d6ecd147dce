package mysqlrow

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// TestWitnessShowsBothForms shows random rows in both wire forms: the same JSON object.
func TestWitnessShowsBothForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var cols []Column
		var targets []Target
		var vals []value
		for i := range rapid.IntRange(1, 8).Draw(t, "columns") {
			c := genColumn(t, fmt.Sprintf("c%d", i))
			cols, targets, vals = append(cols, c), append(targets, Target{i, genTarget(t, c)}), append(vals, genValue(t, c))
		}
		plan, err := NewPlan(cols, targets, Options{Table: "t", ZeroDate: ZeroDateError})
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWitness(plan)
		if err != nil {
			t.Fatal(err)
		}
		a, b := w.Image(tableMap(cols...), image(cols, vals)), w.Packet(packet(cols, vals))
		if a != b {
			t.Fatalf("binlog\n%s\ntext\n%s", a, b)
		}
		var members map[string]any
		if err := json.Unmarshal([]byte(a), &members); err != nil || len(members) != len(cols) {
			t.Fatalf("%v: %s", err, a)
		}
	})
}

func TestWitnessShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	cols := []Column{col("id", "int").notNull(), col("d", "date").notNull(), col("b", "varbinary(9)"), col("a\"b", "varchar(9)")}
	vals := []value{{num: big.NewInt(-7)}, {y: 2024, m: 2, d: 30}, {bytes: []byte{0, 255}}, {bytes: []byte("<é>\n")}}
	targets := []Target{{0, columnar.Of(columnar.Int).NotNull()}, {1, columnar.Of(columnar.Date).NotNull()}, {2, columnar.BytesType()}, {3, columnar.StringType()}}
	plan, err := NewPlan(cols, targets, Options{Table: "t", ZeroDate: ZeroDateError, Key: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWitness(plan)
	if err != nil {
		t.Fatal(err)
	}
	m, img := tableMap(cols...), image(cols, vals)
	want := `{"id":-7,"d":"2024-02-30","b":"0x00ff","a\"b":"<é>\n"}`
	if got := w.Image(m, img); got != want {
		t.Errorf("image %s, want %s", got, want)
	}
	if got, want := w.Image(m, img[:6]), `"0x00f9ffffff5e"`; got != want {
		t.Errorf("a part of an image %s, want %s", got, want)
	}

	// A row that goes needs its key alone.
	l, err := plan.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(plan, 1)
	if _, err := b.AppendImage(l, columnar.Delete, img); err == nil || b.Len() != 0 {
		t.Fatalf("%d rows, %v", b.Len(), err)
	}
	if n, err := b.AppendGone(l, columnar.Delete, img); err != nil || n != len(img) {
		t.Fatalf("took %d, %v", n, err)
	}
	batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{{Name: "id", Type: targets[0].Type}, {Name: "d", Type: targets[1].Type}, {Name: "b", Type: targets[2].Type}, {Name: "a\"b", Type: targets[3].Type}}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	var got []string
	for _, c := range batch.Cols {
		got = append(got, c.ValueStr(0))
	}
	if diff := cmp.Diff([]string{"-7", "1970-01-01", "AP8=", "<é>\n"}, got); diff != "" {
		t.Error(diff)
	}
}
