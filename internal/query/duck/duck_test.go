package duck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/internal/query/duck"
)

// table is a relation of batches in memory.
type table struct {
	schema  *columnar.Schema
	batches [][]arrow.Array
	// ended tells how a scan ended.
	ended chan error
}

func (t *table) Schema() *columnar.Schema { return t.schema }
func (t *table) Rows() int64              { return -1 }

func (t *table) Scan(ctx context.Context, used []int, each func([]arrow.Array, int) error) (err error) {
	if t.ended != nil {
		defer func() { t.ended <- err }()
	}
	for _, b := range t.batches {
		cols := make([]arrow.Array, len(used))
		for i, c := range used {
			cols[i] = b[c]
		}
		if err := each(cols, b[0].Len()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fromJSON makes a column of t.
func fromJSON(t *testing.T, typ columnar.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(typ), strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return a
}

func schemaOf(types ...columnar.DataType) *columnar.Schema {
	s := &columnar.Schema{}
	for i, t := range types {
		s.Fields = append(s.Fields, columnar.Field{ID: i, Name: fmt.Sprintf("x%d", i), Type: t})
	}
	return s
}

// rows runs a query and gives its rows as text.
func rows(ctx context.Context, q *duck.Query) ([]string, error) {
	var out []string
	err := q.Run(ctx, func(b *columnar.Batch) error {
		for i := range b.Rows() {
			var cells []string
			for _, c := range b.Cols {
				cells = append(cells, c.ValueStr(i))
			}
			out = append(out, strings.Join(cells, " "))
		}
		return nil
	})
	return out, err
}

// everyType gives a type of each form with a column of it; the last row is NULL.
func everyType() []struct {
	t    columnar.DataType
	json string
} {
	of := columnar.Of
	text := columnar.StringType()
	return []struct {
		t    columnar.DataType
		json string
	}{
		{of(columnar.Boolean), `[true, false, true, null]`},
		{of(columnar.TinyInt), `[-128, 0, 127, null]`},
		{of(columnar.SmallInt), `[-32768, 0, 32767, null]`},
		{of(columnar.Int), `[-2147483648, 0, 2147483647, null]`},
		{of(columnar.BigInt), `[-9007199254740993, 0, 9007199254740993, null]`},
		{of(columnar.Float), `[-1.5, 0, 3.25, null]`},
		{of(columnar.Double), `[-1.5, 0, 1e300, null]`},
		{columnar.DecimalOf(4, 2), `["-99.99", "0.01", "99.99", null]`},
		{columnar.DecimalOf(9, 2), `["-9999999.99", "0.01", "9999999.99", null]`},
		{columnar.DecimalOf(18, 2), `["-9999999999999999.99", "0.01", "9999999999999999.99", null]`},
		{columnar.DecimalOf(38, 10), `["-9999999999999999999999999999.9999999999", "0.01", "9999999999999999999999999999.9999999999", null]`},
		{text, `["", "twelve bytes", "thirteen bytes: é", null]`},
		{columnar.BytesType(), `["", "AP8=", "AAECAwQFBgcICQoLDA0ODw==", null]`},
		{of(columnar.Date), `["0001-01-01", "1970-01-01", "9999-12-31", null]`},
		{columnar.DataType{Kind: columnar.Time, Nullable: true, Precision: 3}, `["00:00:00.000", "12:34:56.789", "23:59:59.999", null]`},
		{columnar.TimestampOf(3), `["1969-12-31 23:59:59.999", "1970-01-01 00:00:00.000", "9999-12-31 23:59:59.999", null]`},
		{columnar.TimestampOf(6), `["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999", null]`},
		{columnar.TimestampOf(9), `["1969-12-31 23:59:59.999999999", "1970-01-01 00:00:00.000000000", "2026-12-31 23:59:59.999999999", null]`},
		{columnar.DataType{Kind: columnar.TimestampLTZ, Nullable: true, Precision: 6}, `["1969-12-31 23:59:59.999999Z", "1970-01-01 00:00:00Z", "2026-12-31 23:59:59.999999Z", null]`},
		{columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: new(text)}, `[["a", null], [], ["thirteen bytes: é"], null]`},
		{columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: new(of(columnar.Int))}}, `[[[1], [], null], [], [[2, 3], [4]], null]`},
		{columnar.DataType{Kind: columnar.Map, Nullable: true, Key: new(text.NotNull()), Elem: new(of(columnar.BigInt))}, `[[{"key": "a", "value": 1}, {"key": "b", "value": null}], [], [{"key": "c", "value": 3}], null]`},
		{columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: new(text.NotNull())}, `[[{"key": "a", "value": 2}], [], [{"key": "c", "value": 3}], null]`},
		{columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "a", Type: of(columnar.Int)}, {Name: "A", Type: text}, {Name: "list", Type: columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: new(of(columnar.Int))}}}}, `[{"a": 1, "A": "x", "list": [1, 2]}, {"a": null, "A": null, "list": null}, {"a": 3, "A": "z", "list": []}, null]`},
		{columnar.Of(columnar.Variant), `[{"value": "AA==", "metadata": "AQ=="}, {"value": "AA==", "metadata": "AQ=="}, {"value": "AA==", "metadata": "AQ=="}, null]`},
	}
}

// TestValuesPassUnchanged sends values of every type through a table function, a
// result and a scalar function, in batches that are slices of larger arrays and
// longer than a vector of DuckDB.
func TestValuesPassUnchanged(t *testing.T) {
	t.Parallel()
	for _, c := range everyType() {
		t.Run(c.t.String(), func(t *testing.T) {
			t.Parallel()
			small := fromJSON(t, c.t, c.json)
			parts := make([]arrow.Array, 1200)
			for i := range parts {
				parts[i] = small
			}
			long, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			rel := &table{schema: schemaOf(columnar.Of(columnar.Int), c.t), batches: [][]arrow.Array{
				{fromJSON(t, columnar.Of(columnar.Int), "[1, 2]"), array.NewSlice(small, 1, 3)},
				{array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32, long.Len()-3), array.NewSlice(long, 3, int64(long.Len()))},
			}}
			var want []string
			for _, b := range rel.batches {
				for i := range b[1].Len() {
					want = append(want, b[1].ValueStr(i))
				}
			}
			for _, text := range []string{"SELECT c1 FROM leat_table_0()", "SELECT leat_function_0(c1) FROM leat_table_0()"} {
				q := &duck.Query{SQL: text, Relations: []duck.Relation{rel}, Columns: schemaOf(c.t), Settings: duck.Settings{Threads: 1}}
				q.Functions = []duck.Function{{Args: []columnar.DataType{c.t}, Expr: expr.Column(0, c.t)}}
				got, err := rows(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s", text, diff[:min(len(diff), 2000)])
				}
			}
		})
	}
}

func numbers(n, batches int) *table {
	rel := &table{schema: schemaOf(columnar.Of(columnar.BigInt))}
	for k := range batches {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range n {
			b.Append(int64(k*n + i))
		}
		rel.batches = append(rel.batches, []arrow.Array{b.NewArray()})
	}
	return rel
}

func TestSameRelationIsReadTwice(t *testing.T) {
	t.Parallel()
	q := &duck.Query{
		SQL:       "SELECT COUNT(*), CAST(SUM(a.c0) AS BIGINT) FROM leat_table_0() a JOIN leat_table_0() b ON a.c0 = b.c0 + 1 WHERE a.c0 > 7",
		Relations: []duck.Relation{numbers(3000, 3)}, Columns: schemaOf(columnar.Of(columnar.BigInt), columnar.Of(columnar.BigInt)),
	}
	got, err := rows(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"8992 40495472"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnoughRowsEndTheScan(t *testing.T) {
	t.Parallel()
	rel := numbers(10000, 100)
	rel.ended = make(chan error, 1)
	got, err := rows(t.Context(), &duck.Query{SQL: "SELECT c0 FROM leat_table_0() LIMIT 3", Relations: []duck.Relation{rel}, Columns: schemaOf(columnar.Of(columnar.BigInt))})
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	if err := <-rel.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the scan ended with %v", err)
	}
}

func TestErrorsComeThrough(t *testing.T) {
	t.Parallel()
	div, err := expr.Call("/", expr.LitInt(1), expr.Column(0, columnar.Of(columnar.BigInt)))
	if err != nil {
		t.Fatal(err)
	}
	q := &duck.Query{SQL: "SELECT leat_function_0(c0) FROM leat_table_0()", Relations: []duck.Relation{numbers(10, 1)}, Columns: schemaOf(columnar.Of(columnar.BigInt))}
	q.Functions = []duck.Function{{Args: []columnar.DataType{columnar.Of(columnar.BigInt)}, Expr: div}}
	if _, err := rows(t.Context(), q); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("error %v", err)
	}
	broken := errors.New("the disk is gone")
	q = &duck.Query{SQL: "SELECT COUNT(*) FROM leat_table_0()", Relations: []duck.Relation{failing{numbers(10, 1), broken}}, Columns: schemaOf(columnar.Of(columnar.BigInt))}
	if got, err := rows(t.Context(), q); !errors.Is(err, broken) {
		t.Errorf("rows %v, error %v", got, err)
	}
}

type failing struct {
	*table
	err error
}

func (f failing) Scan(ctx context.Context, used []int, each func([]arrow.Array, int) error) error {
	return errors.Join(f.table.Scan(ctx, used, each), f.err)
}

func TestCancellationEndsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	rel := numbers(10000, 10)
	q := &duck.Query{SQL: "SELECT COUNT(*) FROM leat_table_0() a, leat_table_0() b, leat_table_0() c WHERE a.c0 + b.c0 < c.c0", Relations: []duck.Relation{rel}, Columns: schemaOf(columnar.Of(columnar.BigInt)), Settings: duck.Settings{Threads: 1}}
	done := make(chan error, 1)
	go func() {
		_, err := rows(ctx, q)
		done <- err
	}()
	time.Sleep(200 * time.Millisecond)
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the query goes on")
	}
}

// TestSpillsBeyondItsMemory sorts what the limit does not hold.
func TestSpillsBeyondItsMemory(t *testing.T) {
	t.Parallel()
	q := &duck.Query{
		SQL:       "SELECT COUNT(*), CAST(MAX(d) AS BIGINT) FROM (SELECT c0 - LAG(c0) OVER (ORDER BY c0) AS d FROM leat_table_0())",
		Relations: []duck.Relation{numbers(20000, 100)}, Columns: schemaOf(columnar.Of(columnar.BigInt), columnar.Of(columnar.BigInt)),
		Settings: duck.Settings{Memory: 48 << 20, Threads: 1, TempDir: t.TempDir()},
	}
	got, err := rows(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2000000 1"}, got); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(q.TempDir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// Without a place to spill to, the same rows do not fit.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	q.TempDir = file
	if got, err := rows(t.Context(), q); err == nil {
		t.Errorf("rows %v without spilling: the limit was not met", got)
	}
}
