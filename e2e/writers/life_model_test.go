package writers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// column is a column of the model: uid stays when it is renamed, moved or
// widened, and a column that comes again under an old name has another one.
type column struct {
	uid  int
	name string
	kind columnar.Kind
}

// modelRow is the values of a row by column uid; nil pointers do not occur.
type modelRow map[int]int64

// rowKey is partition and key of a row.
type rowKey struct {
	part string
	k    int64
}

// state is what one snapshot has to give.
type state struct {
	columns []column
	rows    map[rowKey]modelRow
}

func (s state) clone() state {
	out := state{columns: slices.Clone(s.columns), rows: make(map[rowKey]modelRow, len(s.rows))}
	for k, r := range s.rows {
		out.rows[k] = maps.Clone(r)
	}
	return out
}

// lines gives the rows as text, part and k first, in order.
func (s state) lines() []string {
	var out []string
	for k, r := range s.rows {
		cells := []string{k.part, strconv.FormatInt(k.k, 10)}
		for _, c := range s.columns {
			v, ok := r[c.uid]
			cells = append(cells, c.name+"="+text(c.kind, v, ok))
		}
		out = append(out, strings.Join(cells, "|"))
	}
	slices.Sort(out)
	return out
}

// text is a value as the model and the readers write it.
func text(kind columnar.Kind, v int64, ok bool) string {
	switch {
	case !ok:
		return "null"
	case kind == columnar.VarChar:
		return "v" + strconv.FormatInt(v, 10)
	default:
		return strconv.FormatInt(v, 10)
	}
}

// wider is what a column may become without loss.
var wider = map[columnar.Kind][]columnar.Kind{
	columnar.TinyInt: {columnar.SmallInt, columnar.Int, columnar.BigInt}, columnar.SmallInt: {columnar.Int, columnar.BigInt}, columnar.Int: {columnar.BigInt},
}

var kinds = []columnar.Kind{columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.VarChar}

func typeOf(k columnar.Kind) columnar.DataType {
	if k == columnar.VarChar {
		return columnar.StringType()
	}
	return columnar.Of(k)
}

var parts = []string{"2026-01-01", "2026-01-02", "2026-01-03"}

// find gives the index of a column, -1 if there is none.
func (s state) find(name string) int {
	return slices.IndexFunc(s.columns, func(c column) bool { return c.name == name })
}

// drop removes the partitions for which gone holds.
func (s state) drop(gone func(part string) bool) {
	maps.DeleteFunc(s.rows, func(k rowKey, _ modelRow) bool { return gone(k.part) })
}

func (s state) String() string { return fmt.Sprint(len(s.rows), " rows of ", s.columns) }
