package lakehouse_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// histColumn is a value column of a history's table: its type, and the function
// that merges it where the engine asks for one.
type histColumn struct {
	kind          byte // n number, t text, b boolean, l list, m map, r rows
	fn            string
	distinct      bool
	nestedKey     bool
	ignoreRetract bool
}

func (c histColumn) typ() columnar.DataType {
	big := columnar.Of(columnar.BigInt)
	row := columnar.Of(columnar.Row)
	row.Fields = []columnar.Field{{ID: 101, Name: "n", Type: big}, {ID: 102, Name: "v", Type: big}}
	nested := func(k columnar.Kind, key, elem *columnar.DataType) columnar.DataType {
		t := columnar.Of(k)
		t.Key, t.Elem = key, elem
		return t
	}
	switch c.kind {
	case 't':
		return columnar.StringType()
	case 'b':
		return columnar.Of(columnar.Boolean)
	case 'l':
		return nested(columnar.Array, nil, &big)
	case 'm':
		return nested(columnar.Map, &big, &big)
	case 'r':
		return nested(columnar.Array, nil, &row)
	default:
		return big
	}
}

// pair is an entry of a map, or a row of two fields.
type pair struct{ n, v int64 }

// value is what a cell with number v holds in a column.
func (c histColumn) value(v *int64) any {
	switch {
	case v == nil:
		return nil
	case c.kind == 't':
		return fmt.Sprint("t", *v)
	case c.kind == 'b':
		return *v%2 == 0
	case c.kind == 'l':
		return []int64{*v, *v + 100}
	case c.kind == 'm' || c.kind == 'r':
		return []pair{{*v % 3, *v}}
	default:
		return *v
	}
}

// show renders a value as readers do.
func (c histColumn) show(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "null"
	case []int64:
		for _, n := range v {
			parts = append(parts, strconv.FormatInt(n, 10))
		}
	case []pair:
		for _, p := range v {
			if c.kind == 'm' {
				parts = append(parts, fmt.Sprintf("%d=%d", p.n, p.v))
			} else {
				parts = append(parts, fmt.Sprintf("(n:%d,v:%d)", p.n, p.v))
			}
		}
	default:
		return fmt.Sprint(v)
	}
	if c.kind == 'm' {
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// add is the function of the column on one more value.
func (c histColumn) add(acc, in any) any {
	switch c.fn {
	case "last_value":
		return in
	case "first_value":
		return acc
	}
	if in == nil || acc != nil && c.fn == "first_non_null_value" {
		return acc
	}
	if acc == nil {
		return in
	}
	switch in := in.(type) {
	case int64:
		return c.number(acc.(int64), in)
	case string:
		if c.fn == "listagg" {
			return acc.(string) + "," + in
		}
		if c.fn == "max" && acc.(string) > in || c.fn == "min" && acc.(string) < in {
			return acc
		}
	case bool:
		switch c.fn {
		case "bool_and":
			return acc.(bool) && in
		case "bool_or":
			return acc.(bool) || in
		}
	case []int64:
		out := slices.Clone(acc.([]int64))
		for _, n := range in {
			if !c.distinct || !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return out
	case []pair:
		out := slices.Clone(acc.([]pair))
		for _, p := range in {
			at := slices.IndexFunc(out, func(o pair) bool { return o.n == p.n })
			if at >= 0 && (c.fn == "merge_map" || c.nestedKey) {
				out[at] = p
			} else {
				out = append(out, p)
			}
		}
		return out
	}
	return in
}

func (c histColumn) number(acc, in int64) any {
	switch {
	case c.fn == "sum":
		return acc + in
	case c.fn == "product":
		return acc * in
	case c.fn == "max" && acc > in, c.fn == "min" && acc < in:
		return acc
	default:
		return in
	}
}

// retract takes a value back.
func (c histColumn) retract(acc, in any) any {
	switch {
	case c.ignoreRetract:
		return acc
	case c.fn == "last_value":
		return nil
	case in == nil:
		return acc
	}
	switch c.fn {
	case "sum":
		if acc == nil {
			return -in.(int64)
		}
		return acc.(int64) - in.(int64)
	case "product":
		if acc == nil {
			return in
		}
		return acc.(int64) / in.(int64)
	case "collect":
		if acc == nil {
			return nil
		}
		out := slices.Clone(acc.([]int64))
		for _, n := range in.([]int64) {
			if at := slices.Index(out, n); at >= 0 {
				out = slices.Delete(out, at, at+1)
			}
		}
		return out
	case "merge_map", "nested_update":
		if acc == nil {
			return nil
		}
		byKey := c.fn == "merge_map" || c.nestedKey
		return slices.DeleteFunc(slices.Clone(acc.([]pair)), func(o pair) bool {
			return slices.ContainsFunc(in.([]pair), func(p pair) bool { return o == p || byKey && o.n == p.n })
		})
	default:
		return nil // last_non_null_value
	}
}

// histRow is a row of the source: what the place holds is made of numbers, nil is null.
type histRow struct {
	part  string
	key   int64
	cells []*int64
}

type histChange struct {
	kind columnar.RowKind
	row  histRow
}

// history is the changes of one source in epochs, and what a table of its
// engine holds after each. Whatever the other options of the table are, and
// however the changes are cut, compacted and repeated, the rows are these.
type history struct {
	engine  string
	options map[string]string
	columns []histColumn
	textKey bool
	// whole says that the rows of the table are those of the source, so that it
	// does not matter whether the partition is part of the key.
	whole bool
	// sources is how many rows of the source make one row of the table.
	sources int64
	// minus says that the source updates and deletes; late that its rows come in any order.
	minus, late bool
	epochs      [][]histChange
	states      []map[string]string
}

// merged gives the row that the table holds after one more change; nil is none.
func (h *history) merged(old []any, c histChange) []any {
	in := make([]any, len(h.columns))
	for i, col := range h.columns {
		in[i] = col.value(c.row.cells[i])
	}
	retracts := c.kind.Retracts()
	switch h.engine {
	case "first-row":
		if old == nil && !retracts {
			return in
		}
		return old
	case "deduplicate":
		if h.late && old != nil && h.compare(in[0], old[0]) < 0 {
			return old
		}
		if retracts {
			return nil
		}
		return in
	case "aggregation":
		return h.aggregated(old, in, c.kind)
	default:
		return h.updated(old, in, c.kind)
	}
}

// compare orders by the sequence field: null is least in both directions.
func (h *history) compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	d := int(a.(int64) - b.(int64))
	if h.options["sequence.field.sort-order"] == "descending" {
		return -d
	}
	return d
}

func (h *history) aggregated(old, in []any, kind columnar.RowKind) []any {
	switch {
	case kind == columnar.Delete && h.options["aggregation.remove-record-on-delete"] == "true", old == nil && kind.Retracts():
		return nil
	case old == nil:
		return in
	}
	row := slices.Clone(old)
	for i, c := range h.columns {
		if kind.Retracts() {
			row[i] = c.retract(row[i], in[i])
		} else {
			row[i] = c.add(row[i], in[i])
		}
	}
	return row
}

// updated is partial-update. With groups, column 0 orders column 1, and column 2 what
// column 3 aggregates.
func (h *history) updated(old, in []any, kind columnar.RowKind) []any {
	groups := h.options["fields.c0.sequence-group"] != ""
	retracts := kind.Retracts()
	switch {
	case kind == columnar.Delete && h.options["partial-update.remove-record-on-delete"] == "true":
		return nil
	case retracts && (!groups || old == nil):
		return old
	}
	row := make([]any, len(in))
	copy(row, old)
	for i := range in {
		if (!groups || i > 3) && in[i] != nil && !retracts {
			row[i] = in[i]
		}
	}
	if !groups {
		return row
	}
	if in[0] != nil && h.compare(in[0], row[0]) >= 0 {
		if kind == columnar.Delete && h.options["partial-update.remove-record-on-sequence-group"] == "c0" {
			return nil
		}
		if row[0], row[1] = in[0], in[1]; retracts {
			row[1] = nil
		}
	}
	if in[2] != nil {
		if h.compare(in[2], row[2]) >= 0 {
			row[2] = in[2]
		}
		if retracts {
			row[3] = h.columns[3].retract(row[3], in[3])
		} else {
			row[3] = h.columns[3].add(row[3], in[3])
		}
	}
	return row
}

// histFuncs are the functions that columns of a kind can have.
var histFuncs = map[byte][]string{
	'n': {"sum", "product", "max", "min", "last_value", "last_non_null_value", "first_value", "first_non_null_value"},
	't': {"listagg", "max", "min", "last_value", "last_non_null_value", "first_value", "first_non_null_value"},
	'b': {"bool_and", "bool_or", "last_value", "last_non_null_value"},
	'l': {"collect"},
	'm': {"merge_map"},
	'r': {"nested_update"},
}

var retractable = []string{"sum", "product", "last_value", "last_non_null_value", "collect", "merge_map", "nested_update"}

func drawColumn(rt *rapid.T, minus bool) histColumn {
	c := histColumn{kind: rapid.SampledFrom([]byte("nnntblmr")).Draw(rt, "kind")}
	c.fn = rapid.SampledFrom(histFuncs[c.kind]).Draw(rt, "function")
	c.distinct = c.fn == "collect" && rapid.Bool().Draw(rt, "distinct")
	c.nestedKey = c.fn == "nested_update" && rapid.Bool().Draw(rt, "nested key")
	if minus {
		c.ignoreRetract = !slices.Contains(retractable, c.fn) || rapid.IntRange(0, 3).Draw(rt, "ignore retract") == 0
	}
	return c
}

// drawHistory makes an engine and changes for it.
func drawHistory(rt *rapid.T) *history {
	h := &history{options: map[string]string{}, textKey: rapid.Bool().Draw(rt, "text key"), minus: true, sources: 1}
	with := func(kinds string) (columns []histColumn) {
		for _, k := range []byte(kinds) {
			columns = append(columns, histColumn{kind: k})
		}
		return columns
	}
	switch what := rapid.SampledFrom([]string{
		"plain", "late", "late descending", "ordered", "first-row", "partial", "partial remove", "groups", "groups remove", "aggregation", "aggregation", "aggregation remove", "aggregation many",
	}).Draw(rt, "engine"); what {
	case "plain", "ordered", "late", "late descending":
		h.engine, h.columns, h.whole = "deduplicate", with("nntl"), true
		if what != "plain" {
			h.options["sequence.field"] = "c0"
		}
		if h.late = strings.HasPrefix(what, "late"); h.late {
			h.minus = false
		}
		if what == "late descending" {
			h.options["sequence.field.sort-order"] = "descending"
		}
	case "first-row":
		h.engine, h.columns, h.options["ignore-delete"] = what, with("nnm"), "true"
	case "partial", "partial remove":
		h.engine, h.columns = "partial-update", with("nntr")
		h.options[map[string]string{"partial": "ignore-delete", "partial remove": "partial-update.remove-record-on-delete"}[what]] = "true"
	case "groups", "groups remove":
		h.engine, h.columns = "partial-update", with("nnnnt")
		h.options["fields.c0.sequence-group"], h.options["fields.c2.sequence-group"] = "c1", "c3"
		h.columns[3].fn = rapid.SampledFrom([]string{"sum", "max", "min"}).Draw(rt, "function")
		h.columns[3].ignoreRetract = h.columns[3].fn != "sum"
		if what == "groups remove" {
			h.options["partial-update.remove-record-on-sequence-group"] = "c0"
		}
	default:
		h.engine = "aggregation"
		if what == "aggregation remove" {
			h.options["aggregation.remove-record-on-delete"] = "true"
		}
		many := what == "aggregation many"
		if h.minus = rapid.IntRange(0, 3).Draw(rt, "minus") > 0; many {
			h.sources = 3
		}
		for range 4 {
			c := drawColumn(rt, h.minus && what != "aggregation remove")
			if many && !slices.Contains([]string{"sum", "last_value"}, c.fn) {
				c.ignoreRetract = h.minus
			}
			if what == "aggregation remove" && h.minus {
				c.ignoreRetract = false
				if !slices.Contains(retractable, c.fn) {
					c = histColumn{kind: 'n', fn: "sum"}
				}
			}
			h.columns = append(h.columns, c)
		}
	}
	h.engineOptions()
	h.drawEpochs(rt)
	return h
}

func (h *history) engineOptions() {
	h.options["merge-engine"] = h.engine
	for i, c := range h.columns {
		name := fmt.Sprintf("fields.c%d.", i)
		if c.fn != "" {
			h.options[name+"aggregate-function"] = c.fn
		}
		for option, on := range map[string]bool{"ignore-retract": c.ignoreRetract, "distinct": c.distinct} {
			if on {
				h.options[name+option] = "true"
			}
		}
		if c.nestedKey {
			h.options[name+"nested-key"] = "n"
		}
	}
	if h.engine == "aggregation" {
		h.options["fields.at.aggregate-function"], h.options["fields.default-aggregate-function"] = "last_value", "last_value"
		h.options["fields.at.ignore-retract"] = "true"
		if h.options["aggregation.remove-record-on-delete"] == "true" {
			delete(h.options, "fields.at.ignore-retract")
		}
	}
}

// source is a row of the source by its key.
type source struct{ key, no int64 }

// drawEpochs makes changes as a source makes them: it updates and deletes what
// is there. A row that changes its partition leaves one place for another.
func (h *history) drawEpochs(rt *rapid.T) {
	last := map[source]histRow{}
	now := map[place][]any{}
	clock := int64(0)
	cell := rapid.Custom(func(t *rapid.T) *int64 {
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			return nil
		}
		return new(rapid.Int64Range(1, 9).Draw(t, "value"))
	})
	keys := rapid.Int64Range(5, 60).Draw(rt, "keys")
	for range rapid.IntRange(1, 6).Draw(rt, "epochs") {
		var changes []histChange
		emit := func(kind columnar.RowKind, row histRow) {
			changes = append(changes, histChange{kind, row})
			if h.engine == "deduplicate" && kind == columnar.UpdateBefore {
				kind = columnar.Delete // its place is left, or taken by the +U that follows
			}
			h.apply(now, histChange{kind, row})
		}
		for range rapid.IntRange(0, 45).Draw(rt, "changes") {
			clock++
			id := source{rapid.Int64Range(0, keys).Draw(rt, "key"), rapid.Int64Range(0, h.sources-1).Draw(rt, "no")}
			row := histRow{key: id.key, part: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "part")}
			if !h.whole || h.late {
				row.part = map[int64]string{0: "a", 1: "b"}[id.key%2]
			}
			for range h.columns {
				row.cells = append(row.cells, cell.Draw(rt, "cell"))
			}
			h.settle(row.cells, clock)
			old, there := last[id]
			op := rapid.IntRange(0, 3).Draw(rt, "op")
			if there && op > 1 && h.engine == "aggregation" {
				op = 0 // sources of aggregations give the old rows of all updates
			}
			if moves := h.minus && h.sources == 1 && rapid.IntRange(0, 5).Draw(rt, "move") == 0; there && moves {
				op, row.part = 0, map[string]string{"a": "b", "b": "c", "c": "a"}[old.part]
			} else if there {
				row.part = old.part
			}
			switch {
			case !there || !h.minus:
				emit(columnar.Insert, row)
			case op == 1:
				emit(columnar.Delete, old)
				delete(last, id)
				continue
			case op == 0 && old.part != row.part:
				h.move(&changes, now, old, row)
			case op == 0 && h.engine != "partial-update":
				emit(columnar.UpdateBefore, old)
				emit(columnar.UpdateAfter, row)
			default:
				emit(columnar.UpdateAfter, row)
			}
			last[id] = row
		}
		h.epochs = append(h.epochs, changes)
		h.states = append(h.states, h.state(now))
	}
}

// move is -U and +U in two partitions: a delete in one, an insert in the other.
func (h *history) move(changes *[]histChange, now map[place][]any, old, row histRow) {
	*changes = append(*changes, histChange{columnar.UpdateBefore, old}, histChange{columnar.UpdateAfter, row})
	h.apply(now, histChange{columnar.Delete, old})
	h.apply(now, histChange{columnar.Insert, row})
}

func (h *history) apply(now map[place][]any, c histChange) {
	at := place{c.row.part, c.row.key}
	if row := h.merged(now[at], c); row != nil {
		now[at] = row
	} else {
		delete(now, at)
	}
}

// settle makes cells that mean the same however they are merged.
func (h *history) settle(cells []*int64, clock int64) {
	switch {
	case h.options["sequence.field"] != "" && !h.late:
		cells[0] = new(clock)
	case h.options["fields.c0.sequence-group"] != "":
		// A row alone keeps what a group without sequence would leave out.
		for _, i := range []int{0, 2} {
			if cells[i] == nil {
				cells[i+1] = nil
			}
		}
	}
}

func (h *history) keyOf(k int64) string {
	if h.textKey {
		return keyText(k)
	}
	return strconv.FormatInt(k, 10)
}

// Times of rows: one in four keys has expired long ago.
const (
	expiredTime = 1_000
	lastingTime = 4_102_444_800
)

func timeOf(key int64) int64 {
	if key%4 == 3 {
		return expiredTime
	}
	return lastingTime
}

// state renders the rows by place.
func (h *history) state(now map[place][]any) map[string]string {
	out := map[string]string{}
	for at, row := range now {
		var cells []string
		for i, c := range h.columns {
			cells = append(cells, c.show(row[i]))
		}
		where := h.keyOf(at.key) + "|" + at.part
		out[where] = strings.Join(append(cells, strconv.FormatInt(timeOf(at.key), 10), where), "|")
	}
	return out
}

// same reports whether an epoch leaves the rows as they were.
func (h *history) same(epoch int) bool {
	if epoch == 0 {
		return len(h.states[0]) == 0
	}
	return maps.Equal(h.states[epoch], h.states[epoch-1])
}

// size counts the changes.
func (h *history) size() (n int64) {
	for _, e := range h.epochs {
		n += int64(len(e))
	}
	return n
}

// want gives the rows of a state, sorted; expired ones are left out where rows expire.
func (h *history) want(epoch int, expires bool) []string {
	rows := []string{}
	if epoch >= 0 {
		rows = slices.AppendSeq(rows, maps.Values(h.states[epoch]))
	}
	if expires {
		rows = slices.DeleteFunc(rows, hasExpired)
	}
	slices.Sort(rows)
	return rows
}

func hasExpired(row string) bool {
	return strings.Contains(row, fmt.Sprintf("|%d|", expiredTime))
}
