package mysqlrow

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
)

func TestBindNamesTheDifference(t *testing.T) {
	t.Parallel()
	cols := []Column{
		col("id", "bigint unsigned"), col("price", "decimal(10,2)"), col("at", "datetime(3)"),
		col("code", "varchar(10)"), col("flag", "char(2)"), col("extra", "json"),
	}
	var targets []Target
	for i, c := range cols[:5] {
		typ, err := NaturalType(c)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, Target{i, typ})
	}
	for _, tc := range []struct {
		name   string
		change func(m *TableMap)
		want   string
	}{
		{"same", func(*TableMap) {}, ""},
		{"narrower text", func(m *TableMap) { m.Meta[3] = 20 }, ""},
		{"same names", func(m *TableMap) { m.Names = names("ID", "price", "at", "code", "flag", "extra") }, ""},
		{"unused column of another type", func(m *TableMap) { m.Types[5], m.Meta[5] = mysql.MYSQL_TYPE_BLOB, 2 }, ""},
		{"signedness", func(m *TableMap) { m.Signedness = []byte{0x80} }, ""},
		{"fewer", func(m *TableMap) { m.Types, m.Meta = m.Types[:5], m.Meta[:5] }, "5 columns instead of 6"},
		{"renamed", func(m *TableMap) { m.Names = names("id", "cost", "at", "code", "flag", "extra") }, "column 2 is 'cost' instead of 'price'"},
		{"integer type", func(m *TableMap) { m.Types[0] = mysql.MYSQL_TYPE_LONG }, "column 'id' has the type 3, which is not that of BIGINT UNSIGNED"},
		{"not unsigned", func(m *TableMap) { m.Signedness = []byte{0x00} }, "column 'id' differs in UNSIGNED"},
		{"decimal", func(m *TableMap) { m.Meta[1] = 12<<8 | 2 }, "column 'price' is DECIMAL(12,2) instead of DECIMAL(10,2)"},
		{"digits", func(m *TableMap) { m.Meta[2] = 6 }, "column 'at' has 6 fraction digits instead of DATETIME(3)"},
		{"longer text", func(m *TableMap) { m.Meta[3] = 44 }, "column 'code' holds up to 44 bytes, more than VARCHAR(10)"},
		{"enum", func(m *TableMap) { m.Meta[4] = 0xF701 }, "column 'flag' has the type 254, which is not that of CHAR(2)"},
		{"unknown type", func(m *TableMap) { m.Types[5] = 150 }, "column 'extra' has the unknown type 150"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			plan, err := NewPlan(cols, targets, Options{Table: "shop.orders"})
			if err != nil {
				t.Fatal(err)
			}
			m := tableMap(cols...)
			tc.change(&m)
			_, err = plan.Bind(m)
			if tc.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if codeOf(err) != diag.CodeSourceChanged || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want a changed source with %q", err, tc.want)
			}
		})
	}
}

// TestYearsWithAndWithoutASign binds table maps of servers that give YEAR
// columns a bit of signedness and of older ones that do not.
func TestYearsWithAndWithoutASign(t *testing.T) {
	t.Parallel()
	cols := []Column{col("a", "int unsigned"), col("b", "int"), col("y", "year"), col("c", "int unsigned"), col("d", "int")}
	plan, err := NewPlan(cols, []Target{{3, columnar.Of(columnar.BigInt)}}, Options{Table: "shop.years"})
	if err != nil {
		t.Fatal(err)
	}
	for signedness, good := range map[byte]bool{0b10110000: true, 0b10100000: true, 0b10000000: false, 0b11110000: false, 0b10111000: false} {
		m := tableMap(cols...)
		m.Signedness = []byte{signedness}
		if _, err := plan.Bind(m); good && err != nil || !good && codeOf(err) != diag.CodeSourceChanged {
			t.Errorf("signedness %08b: %v", signedness, err)
		}
	}
}

func names(s ...string) [][]byte {
	var out [][]byte
	for _, n := range s {
		out = append(out, []byte(n))
	}
	return out
}

func TestBindKeepsTheLayout(t *testing.T) {
	t.Parallel()
	plan, layout, cols := orders(t, columnar.BigInt)
	m := tableMap(cols...)
	again, err := plan.Bind(m)
	if err != nil || again != layout {
		t.Errorf("the same map gave another layout, %v", err)
	}
	m.Meta[1] = 40
	if other, err := plan.Bind(m); err != nil || other == layout {
		t.Errorf("another map gave the same layout, %v", err)
	}
}

func bigint(n int64) value { return value{num: big.NewInt(n)} }

func word(s string) value { return value{bytes: []byte(s)} }

func TestAppendRowsGivesKinds(t *testing.T) {
	t.Parallel()
	plan, layout, cols := orders(t, columnar.BigInt)
	row := func(id int64, note string) []byte { return image(cols, []value{bigint(id), word(note)}) }
	full := []byte{3}
	b := NewBuilder(plan, 1)
	for _, r := range []Rows{
		{Op: OpInsert, Data: slices.Concat(row(1, "a"), row(-2, "b"))},
		{Op: OpUpdate, Data: slices.Concat(row(1, "a"), row(1, "c"), row(-2, "b"), row(3, "b"))},
		{Op: OpDelete, Data: row(3, "b")},
	} {
		r.Columns, r.Present, r.PresentAfter = 2, full, full
		if err := b.AppendRows(layout, r); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()}, {Name: "note", Type: columnar.StringType()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	var got []string
	for i := range batch.Rows() {
		got = append(got, batch.Kind(i).String()+" "+show(batch.Cols[0], i)+" "+show(batch.Cols[1], i))
	}
	want := []string{"+I 1 a", "+I -2 b", "-U 1 a", "+U 1 c", "-D -2 b", "+I 3 b", "-D 3 b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b.Len() != 0 {
		t.Errorf("the builder holds %d rows after Finish", b.Len())
	}
}

func TestAppendRowsUndoesHalfAnEvent(t *testing.T) {
	t.Parallel()
	plan, layout, cols := orders(t, columnar.BigInt)
	row := image(cols, []value{bigint(1), word("abc")})
	full := []byte{3}
	b := NewBuilder(plan, 1)
	if err := b.AppendRows(layout, Rows{Op: OpInsert, Columns: 2, Present: full, Data: row}); err != nil {
		t.Fatal(err)
	}
	size := b.Bytes()
	cut := slices.Concat(row, row, row[:len(row)-1])
	err := b.AppendRows(layout, Rows{Op: OpDelete, Columns: 2, Present: full, Data: cut})
	if !errors.Is(err, ErrMalformed) || b.Len() != 1 || b.Bytes() > size+1 { // the kind
		t.Errorf("got %d rows, %d bytes and %v, want 1 row of %d bytes and a malformed row", b.Len(), b.Bytes(), err, size+1)
	}
}

func TestImagesWithoutAllColumnsAreRefused(t *testing.T) {
	t.Parallel()
	_, layout, _ := orders(t, columnar.BigInt)
	for _, r := range []Rows{
		{Op: OpInsert, Columns: 2, Present: []byte{1}},
		{Op: OpUpdate, Columns: 2, Present: []byte{3}, PresentAfter: []byte{2}},
	} {
		err := layout.Check(r)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.CodeSourceBinlog || !strings.Contains(e.Hint, "binlog_row_image = 'FULL'") {
			t.Errorf("got %v, want the remedy binlog_row_image", err)
		}
	}
	if err := layout.Check(Rows{Columns: 3, Present: []byte{7}}); codeOf(err) != diag.CodeSourceChanged {
		t.Errorf("got %v, want a changed source", err)
	}
}

func TestAllSet(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		bitmap := make([]byte, (n+7)/8)
		for i := range n {
			bitmap[i/8] |= 1 << (i % 8)
		}
		if !allSet(bitmap, n) {
			t.Errorf("%d bits of %d are set", n, n)
		}
		if n > 0 {
			bitmap[n/2/8] &^= 1 << (n / 2 % 8)
			if allSet(bitmap, n) {
				t.Errorf("bit %d of %d is not set", n/2, n)
			}
		}
	}
}

func TestForEachAndKeys(t *testing.T) {
	t.Parallel()
	plan, layout, cols := orders(t, columnar.BigInt)
	row := func(id int64) []byte { return image(cols, []value{bigint(id), {null: true}}) }
	r := Rows{Op: OpUpdate, Columns: 2, Present: []byte{3}, PresentAfter: []byte{3}, Data: slices.Concat(row(-5), row(7))}
	var keys []string
	err := layout.ForEach(r, func(before, after []byte) error {
		for _, img := range [][]byte{before, after} {
			k, err := layout.AppendChunkKey(nil, img)
			if err != nil {
				return err
			}
			keys = append(keys, string(k))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 || keys[0] >= keys[1] {
		t.Errorf("got %v, want the keys of -5 and 7 in order", keys)
	}
	for i, text := range []string{"-5", "7"} {
		if e, err := plan.ParseEdge([]string{text}); err != nil || e.Order != keys[i] {
			t.Errorf("ParseEdge(%s) = %q, %v, want %q", text, e.Order, err, keys[i])
		}
	}
	if layout.SameKey(row(1), row(2)) || !layout.SameKey(row(1), image(cols, []value{bigint(1), word("x")})) {
		t.Error("SameKey looks at other columns than the key")
	}
}

func TestSelectList(t *testing.T) {
	t.Parallel()
	cols := []Column{col("a`b", "int"), col("f", "float"), col("t", "timestamp")}
	plan, err := NewPlan(cols, []Target{{1, columnar.Of(columnar.Float)}, {0, columnar.Of(columnar.Int)}, {2, ltz(0)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"`f`+0e0", "`a``b`", "`t`"}, plan.SelectList()); diff != "" {
		t.Error(diff)
	}
}

func TestOldTimes(t *testing.T) {
	t.Parallel()
	// Tables made before MySQL 5.6.4 keep these forms until they are rebuilt.
	cols := []Column{col("d", "datetime"), col("t", "timestamp")}
	plan, err := NewPlan(cols, []Target{{0, columnar.TimestampOf(0)}, {1, columnar.TimestampOf(0)}}, Options{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := plan.Bind(TableMap{Types: []byte{mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_TIMESTAMP}, Meta: []uint16{0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(plan, 2)
	for _, img := range [][]byte{
		slices.Concat([]byte{0}, littleEndian(20240102030405, 8), littleEndian(1704164645, 4)),
		make([]byte, 13),
	} {
		if _, err := b.AppendImage(layout, columnar.Insert, img); err != nil {
			t.Fatal(err)
		}
	}
	if odd := b.Oddities(); odd.ZeroDates != 2 {
		t.Errorf("got %d zero dates, want 2", odd.ZeroDates)
	}
	batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{
		{Name: "d", Type: columnar.TimestampOf(0)}, {Name: "t", Type: columnar.TimestampOf(0)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	for _, a := range batch.Cols {
		if show(a, 0) != "2024-01-02 03:04:05.000" || show(a, 1) != "NULL" {
			t.Errorf("got %s and %s", show(a, 0), show(a, 1))
		}
	}
}

func TestNewPlanRefuses(t *testing.T) {
	t.Parallel()
	cols := []Column{col("id", "int"), col("name", "varchar(5)")}
	id := Target{0, columnar.Of(columnar.Int)}
	for _, tc := range []struct {
		name    string
		targets []Target
		opt     Options
		want    string
	}{
		{"type", []Target{{0, columnar.Of(columnar.TinyInt)}}, Options{}, "table shop.orders: column 'id' is INT"},
		{"twice", []Target{id, id}, Options{}, "target 1 takes source column 0"},
		{"missing", []Target{{2, columnar.Of(columnar.Int)}}, Options{}, "target 0 takes source column 2"},
		{"key", []Target{id}, Options{Key: []int{5}}, "key column 5 is missing"},
		{"chunk key", []Target{id}, Options{ChunkKey: []int{1}}, "there are no chunks, because the order of collation"},
	} {
		tc.opt.Table = "shop.orders"
		if _, err := NewPlan(cols, tc.targets, tc.opt); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestOddities(t *testing.T) {
	t.Parallel()
	cols := []Column{col("b", "tinyint(1)"), col("s", "varchar(9)"), col("d", "date")}
	plan, err := NewPlan(cols, []Target{{0, columnar.Of(columnar.Boolean)}, {1, columnar.StringType()}, {2, columnar.Of(columnar.Date)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(plan, 1)
	for _, fields := range [][][]byte{
		{[]byte("1"), []byte("x"), []byte("2024-01-01")},
		{[]byte("2"), []byte("\xFF"), []byte("0000-00-00")},
		{nil, nil, nil},
	} {
		if err := b.AppendFields(columnar.Insert, fields); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Oddities{ZeroDates: 1, InvalidText: 1, OddBooleans: 1}, b.Oddities()); diff != "" {
		t.Error(diff)
	}
}

func TestNextField(t *testing.T) {
	t.Parallel()
	long := func(head []byte, n int) []byte { return slices.Concat(head, make([]byte, n)) }
	for _, tc := range []struct {
		name   string
		in     []byte
		size   int
		isNull bool
		taken  int
	}{
		{"empty text", []byte{0, 9}, 0, false, 1},
		{"NULL", []byte{0xFB}, 0, true, 1},
		{"one byte of length", long([]byte{250}, 250), 250, false, 251},
		{"two", long([]byte{0xFC, 0x00, 0x01}, 256), 256, false, 259},
		{"three", long([]byte{0xFD, 0x00, 0x00, 0x01}, 1<<16), 1 << 16, false, 1<<16 + 4},
		{"eight", long([]byte{0xFE, 2, 0, 0, 0, 0, 0, 0, 0}, 2), 2, false, 11},
		{"nothing", nil, 0, false, 0},
		{"an error packet", []byte{0xFF, 1, 2}, 0, false, 0},
		{"half a length", []byte{0xFC, 1}, 0, false, 0},
		{"half a text", []byte{3, 1, 2}, 0, false, 0},
		{"a huge length", []byte{0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 0, false, 0},
	} {
		field, isNull, n := nextField(tc.in)
		if len(field) != tc.size || isNull != tc.isNull || n != tc.taken {
			t.Errorf("%s: got %d bytes, NULL %v, %d taken, want %d, %v, %d", tc.name, len(field), isNull, n, tc.size, tc.isNull, tc.taken)
		}
	}
}

func TestHeadersOfRowsEvents(t *testing.T) {
	t.Parallel()
	if _, err := ParseRows(&replication.RowsEvent{Version: 2}, []byte{1, 2}); err == nil {
		t.Error("two bytes are taken for a header")
	}
}
