package datagen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// collector keeps the rows it gets as text and stops after a number of them.
type collector struct {
	stopAt int
	rows   []string
	status dataflow.SourceStatus
	due    chan struct{}
}

func (c *collector) Emit(_ context.Context, _ int, b *columnar.Batch) error {
	for i := range b.Rows() {
		vals := make([]string, len(b.Cols))
		for j, a := range b.Cols {
			vals[j] = a.ValueStr(i)
		}
		c.rows = append(c.rows, strings.Join(vals, ","))
	}
	b.Release()
	return nil
}

func (c *collector) BarrierDue() bool     { return false }
func (c *collector) Due() <-chan struct{} { return c.due }
func (c *collector) InTransaction(int64)  {}

// Cut and Change are for tables that are followed, which these tests have none of.
func (c *collector) Cut(context.Context) <-chan error { return nil }

func (c *collector) Change(context.Context, int, *dataflow.Change) error {
	return errors.New("a table changed that is not followed")
}

func (c *collector) Report(s dataflow.SourceStatus) { c.status = s }

func (c *collector) Edge(context.Context) error {
	if c.stopAt > 0 && len(c.rows) >= c.stopAt {
		return dataflow.ErrStopped
	}
	return nil
}

func table(fields []columnar.Field, options ...string) *connect.Table {
	v := configs.Values{}
	for i := 0; i < len(options); i += 2 {
		v[options[i]] = configs.Value{Text: options[i+1], KeyPos: diag.Pos{Line: i + 1, Col: 1}}
	}
	return &connect.Table{Name: "gen", Schema: &columnar.Schema{Fields: fields}, Options: v}
}

func reader(t testing.TB, tab *connect.Table, catchUp bool) dataflow.SourceReader {
	t.Helper()
	needed := make([]int, len(tab.Schema.Fields))
	for i := range needed {
		needed[i] = i
	}
	r, err := New().NewSource(connect.SourceSpec{
		Tables: []connect.SourceTable{{Table: tab, Needed: needed}}, Env: connect.Env{CatchUp: catchUp},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func everyType() []columnar.Field {
	types := []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int),
		columnar.Of(columnar.BigInt), columnar.Of(columnar.Float), columnar.Of(columnar.Double), columnar.DecimalOf(20, 4),
		{Kind: columnar.Char, Length: 3, Nullable: true},
		columnar.StringType(),
		{Kind: columnar.Binary, Length: 4, Nullable: true},
		columnar.BytesType(), columnar.Of(columnar.Date), columnar.Of(columnar.Time), columnar.TimestampOf(3), columnar.TimestampOf(6),
		columnar.TimestampOf(9),
		{Kind: columnar.TimestampLTZ, Precision: 3, Nullable: true},
	}
	var out []columnar.Field
	for i, dt := range types {
		out = append(out, columnar.Field{Name: fmt.Sprintf("c%d", i), Type: dt})
	}
	return out
}

// TestResumedRowsEqualTheFirstRun stops at a random row, restores and expects the same rows as without a stop.
func TestResumedRowsEqualTheFirstRun(t *testing.T) {
	t.Parallel()
	tab := table(everyType(), "number-of-rows", "500", "rows-per-second", "1000000", "fields.c3.null-rate", "0.5",
		"fields.c9.length", "7", "fields.c9.var-len", "true", "fields.c14.max-past", "1 d")
	awake := make(chan struct{}) // wakes the source from every pause
	close(awake)
	rapid.Check(t, func(rt *rapid.T) {
		first := reader(t, tab, false)
		if err := first.Open(t.Context(), nil); err != nil {
			rt.Fatal(err)
		}
		start, err := first.SnapshotState(t.Context(), 1)
		if err != nil {
			rt.Fatal(err)
		}
		whole := &collector{due: awake}
		if err := first.Run(t.Context(), whole); err != nil {
			rt.Fatal(err)
		}
		var got []string
		data := start.Data
		for len(got) < 500 {
			r := reader(t, tab, false)
			if err := r.Open(t.Context(), data); err != nil {
				rt.Fatal(err)
			}
			c := &collector{due: awake, stopAt: rapid.IntRange(1, 500).Draw(rt, "stop")}
			if err := r.Run(t.Context(), c); err != nil && !errors.Is(err, dataflow.ErrStopped) {
				rt.Fatal(err)
			}
			got = append(got, c.rows...)
			state, err := r.SnapshotState(t.Context(), 2)
			if err != nil {
				rt.Fatal(err)
			}
			data = json.RawMessage(string(state.Data))
		}
		if diff := cmp.Diff(whole.rows, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestSequenceEndsTheTable(t *testing.T) {
	t.Parallel()
	tab := table([]columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt)}, {Name: "code", Type: columnar.StringType()}, {Name: "d", Type: columnar.DecimalOf(5, 1)},
	}, "fields.id.kind", "sequence", "fields.id.start", "7", "fields.id.end", "9",
		"fields.code.kind", "sequence", "fields.code.start", "1", "fields.code.end", "100",
		"fields.d.min", "2", "fields.d.max", "2")
	if !New().Bounded(tab) {
		t.Fatal("a sequence has an end")
	}
	r, c := reader(t, tab, true), &collector{}
	if err := r.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"7,1,2", "8,2,2", "9,3,2"}, c.rows); diff != "" {
		t.Fatal(diff)
	}
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tab := table([]columnar.Field{{Name: "a", Type: columnar.Of(columnar.Int)}}, "rows-per-second", "5", "number-of-rows", "51")
		r, c := reader(t, tab, false), &collector{due: make(chan struct{})}
		if err := r.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := r.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d < 10*time.Second || d > 10500*time.Millisecond {
			t.Fatalf("51 rows at 5 a second took %v", d)
		}
		if c.status.Rows != 51 || c.status.Position != "row 51" {
			t.Fatalf("got %+v", c.status)
		}
	})
}

func TestValuesStayInRange(t *testing.T) {
	t.Parallel()
	g, err := compile(table([]columnar.Field{{Name: "a", Type: columnar.Of(columnar.Int)}}, "fields.a.min", "-2", "fields.a.max", "2"))
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	g.fields[0].fill(b, numbers{seed: 1}, 1000)
	seen := map[int32]int{}
	for _, v := range b.NewInt32Array().Int32Values() {
		seen[v]++
	}
	for v := int32(-2); v <= 2; v++ {
		if seen[v] < 100 {
			t.Errorf("%d comes %d times in 1000", v, seen[v])
		}
	}
	if len(seen) != 5 {
		t.Errorf("got %v", seen)
	}
}

func TestUnboundedTableEndsAtOnceWhenCatchingUp(t *testing.T) {
	t.Parallel()
	r, c := reader(t, table(everyType()), true), &collector{}
	if err := r.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), c); err != nil || len(c.rows) != 0 || !c.status.CaughtUp {
		t.Fatalf("got %v, %d rows, %+v", err, len(c.rows), c.status)
	}
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	fields := []columnar.Field{
		{Name: "amount", Type: columnar.Of(columnar.TinyInt).NotNull()}, {Name: "name", Type: columnar.DataType{Kind: columnar.VarChar, Length: 5, Nullable: true}},
	}
	for _, c := range []struct {
		key, value, want, hint string
	}{
		{"fields.amuont.min", "1", "1:1: error LEAT-2105: table gen: option 'fields.amuont.min': the table has no column amuont", "did you mean 'fields.amount.…'?"},
		{"fields.amount.low", "1", "1:1: error LEAT-2105: table gen: option 'fields.amount.low': a column of type TINYINT that is made this way does not take it", ""},
		{"fields.amount.max", "300", "1:1: error LEAT-2107: table gen: option 'fields.amount.max': -128 to 300 is not a range of TINYINT", ""},
		{"fields.amount.min", "x", "1:1: error LEAT-2107: table gen: option 'fields.amount.min': 'x' is not", ""},
		{"fields.amount.null-rate", "0.1", "option 'fields.amount.null-rate': 0.1 cannot be", ""},
		{"fields.amount.kind", "serial", "option 'fields.amount.kind': 'serial' is not a kind", "write 'random' or 'sequence'"},
		{"fields.amount.kind", "sequence", "option 'fields.amount.start': a sequence needs it", ""},
		{"fields.name.length", "6", "option 'fields.name.length': VARCHAR(5) does not hold 6", ""},
	} {
		t.Run(c.key+" "+c.value, func(t *testing.T) {
			t.Parallel()
			err := New().CheckTable(table(fields, c.key, c.value))
			var list diag.List
			if !errors.As(err, &list) || !strings.Contains(err.Error(), c.want) || list[0].Hint == "" || c.hint != "" && list[0].Hint != c.hint {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
		})
	}
	nested := columnar.Of(columnar.Int)
	err := New().CheckTable(table([]columnar.Field{{Name: "l", Type: columnar.DataType{Kind: columnar.Array, Elem: &nested}}}))
	if err == nil || !strings.Contains(err.Error(), "datagen makes no values of type ARRAY<INT> for column l") {
		t.Fatalf("got %v", err)
	}
}

func BenchmarkBatch(b *testing.B) {
	tab := table([]columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt)},
		{Name: "amount", Type: columnar.DecimalOf(10, 2)},
		{Name: "at", Type: columnar.TimestampOf(3)},
		{Name: "name", Type: columnar.StringType()},
	}, "fields.name.length", "16")
	r, ok := reader(b, tab, false).(*source)
	if !ok {
		b.Fatal("no source")
	}
	b.ReportAllocs()
	for b.Loop() {
		r.batch(&r.ports[0], maxBatch).Release()
	}
	b.ReportMetric(maxBatch*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
