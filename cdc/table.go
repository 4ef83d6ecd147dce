package cdc

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// noColumn marks a column of the target that the source does not have.
const noColumn = -2

// table reads one table into one port. Only the goroutine of Run uses it once
// reading began, except for plan, which chunk readers take a copy of.
type table struct {
	def  Table
	port int
	// shard says that the name comes from a pattern.
	shard bool
	// from are the transactions of the rows in the builder of seq.
	from origins
	// schema is what is decoded: the emitted columns that the source has, then
	// key columns nobody asked for, which identify rows while chunks are merged.
	schema *columnar.Schema
	// visible maps a column of def.Schema to its column in schema, -1 for metadata,
	// noColumn for one that the source does not have.
	visible []int
	src     *sourceTable
	plan    *mysqlrow.Plan
	// key holds the columns of schema that identify a row; empty for a table without key.
	key []int
	seq *sequencer
	// before lists the source columns whose old values are needed besides the key; nil for all.
	before []int
	// cut holds the columns of the chunk key; if there are none, the table is read
	// as one chunk, and uncut says why.
	cut   []string
	uncut string
	// cuttings counts changes of the chunk key or its order.
	cuttings atomic.Int32
	// empty says that no row was read yet of a history read from an earlier
	// place: a DROP then takes nothing away.
	empty bool
	// dropped counts, by lower-case name, how often the source dropped a column
	// that the target keeps.
	dropped map[string]int
	// leaving are columns of a stored version that the source has no more: where the
	// target does not have them either, the statement was carried out before a crash.
	leaving map[string]bool
	// reread asks for the table to be read again; healing for it to be emptied first.
	reread, healing bool
	// told says that the log told of updates or deletes that became further rows.
	told bool
	// bad counts the rows that went to dead letters.
	bad int64
	// absent says that the source has no such table now.
	absent atomic.Bool
	// described is the end of the log when the columns were last looked up.
	described mark
	// floor is up to where the table was read before the edge went back; nil for the edge.
	floor *Position
	// was is the version of the columns before src, nil for none.
	was *sourceTable
	// behind says that it is read beside the others, which are ahead of it.
	behind bool
	// statement is the last DDL on the table; strict says that its session refused
	// values that do not fit.
	statement string
	strict    bool
}

// id names the table in states and maps.
func (t *table) id() string { return t.def.Database + "." + t.def.Name }

// adopt takes over the columns of the source and compiles the decoding. All that
// does not fit is reported at once.
func (t *table) adopt(src *sourceTable, cells mysqlrow.Options) error {
	var errs diag.List
	var targets []mysqlrow.Target
	schema := &columnar.Schema{}
	visible := make([]int, len(t.def.Schema.Fields))
	for i, f := range t.def.Schema.Fields {
		visible[i] = -1
		if t.def.metadata(i) != "" {
			continue
		}
		j := src.index(t.def.origin(i))
		if j < 0 && t.def.Follow && f.Type.Nullable {
			visible[i] = noColumn
			continue
		}
		if j < 0 {
			errs = append(errs, t.missingColumn(i, t.def.origin(i), src))
			continue
		}
		if err := t.def.Evolution.Types.Check(src.columns[j], f.Type); err != nil {
			errs.Add(t.at(i, err))
			continue
		}
		visible[i] = len(targets)
		targets = append(targets, mysqlrow.Target{Column: j, Type: f.Type})
		schema.Fields = append(schema.Fields, f)
	}
	if len(errs) > 0 {
		return errs
	}
	opt := cells
	opt.Table, opt.Mapping = t.id(), t.def.Evolution.Types
	var key []int
	for _, name := range src.primary {
		j := src.index(name)
		opt.Key = append(opt.Key, j)
		at := slices.IndexFunc(targets, func(x mysqlrow.Target) bool { return x.Column == j })
		if at < 0 {
			typ, err := mysqlrow.NaturalType(src.columns[j])
			if err != nil {
				return t.at(-1, err)
			}
			at = len(targets)
			targets = append(targets, mysqlrow.Target{Column: j, Type: typ})
			schema.Fields = append(schema.Fields, columnar.Field{Name: src.columns[j].Name, Type: typ})
		}
		key = append(key, at)
	}
	for _, name := range t.def.PrimaryKey {
		if j := src.index(name); j >= 0 && !slices.Contains(opt.Key, j) {
			opt.Key = append(opt.Key, j)
		}
	}
	cut, uncut, err := t.chunkColumns(src)
	if err != nil {
		return err
	}
	for _, name := range cut {
		opt.ChunkKey = append(opt.ChunkKey, src.index(name))
	}
	plan, err := mysqlrow.NewPlan(src.columns, targets, opt)
	if err != nil {
		return t.at(-1, err)
	}
	t.schema, t.visible, t.src, t.plan, t.key, t.cut, t.uncut = schema, visible, src, plan, key, cut, uncut
	t.before = t.usedBefore(src)
	return nil
}

// chunkColumns chooses the columns whose ranges are the chunks: those of the key
// that lead it and whose order is known, or the one that the user wants, and what
// of the key follows it. None means one chunk, and why says the reason.
func (t *table) chunkColumns(src *sourceTable) (cut []string, why string, err error) {
	names := src.primary
	if want := t.def.ChunkKey; want != "" {
		j := src.index(want)
		if j < 0 {
			e := t.missingColumn(-1, want, src)
			e.Option = "scan.incremental.snapshot.chunk.key-column"
			return nil, "", e
		}
		if len(names) == 0 || !strings.EqualFold(names[0], want) {
			names = []string{src.columns[j].Name}
		}
	}
	for _, name := range names {
		ok, reason := mysqlrow.CutBy(src.columns[src.index(name)])
		if !ok {
			why = reason
			break
		}
		cut = append(cut, name)
	}
	if len(names) == 0 {
		why = "it has no primary key"
	}
	return cut, why, nil
}

// unique reports whether no two rows of the table share a chunk key.
func (t *table) unique() bool {
	for _, name := range t.src.primary {
		if !slices.ContainsFunc(t.cut, func(c string) bool { return strings.EqualFold(c, name) }) {
			return false
		}
	}
	return len(t.src.primary) > 0
}

// at fills table and place into an error about a column; column -1 is the whole table.
func (t *table) at(column int, err error) error {
	var list diag.List
	list.Add(err)
	for _, e := range list {
		if e.Table == "" || e.Table == t.id() {
			e.Table = t.def.Label
		}
		if e.Pos.IsZero() {
			e.Pos = t.def.Pos
			if column >= 0 && column < len(t.def.ColumnPos) {
				e.Pos = t.def.ColumnPos[column]
			}
		}
	}
	return list
}

// keyless looks at a change of a table whose copy has no key: it refuses one that
// the copy has no place for, and tells of the first that becomes a further row.
func (r *Reader) keyless(t *table, op mysqlrow.Op) error {
	if op == mysqlrow.OpInsert || !t.def.Follow || !t.def.AppendOnly {
		return nil
	}
	if !t.def.InsertsOnly {
		if !t.told {
			t.told = true
			r.log.Warn("rows of a table without a key are updated or deleted: its copy gets every change as a further row, and no longer equals it", "table", t.id())
		}
		return nil
	}
	what := "updated"
	if op == mysqlrow.OpDelete {
		what = "deleted"
	}
	return t.alone(&diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label,
		Msg:  "a row of source table " + t.id() + " was " + what + ", and its copy has no key by which the row could be found",
		Hint: "give the copy a key (--primary-keys) and read it anew, take every change as a further row with --keyless append, or leave the table out",
	})
}

// emit hands a decoded batch to the output port, without the hidden columns and
// with the metadata columns. from are the transactions of its rows, nil for rows
// of a snapshot.
func (t *table) emit(ctx context.Context, out dataflow.Collector, b *columnar.Batch, from []origin) error {
	if b.Rows() == 0 {
		b.Release()
		return nil
	}
	if len(t.visible) == len(b.Cols) && !slices.ContainsFunc(t.visible, func(j int) bool { return j < 0 }) {
		b.Schema = t.def.Schema
		if t.def.AppendOnly {
			b.Kinds = nil
		}
		return out.Emit(ctx, t.port, b)
	}
	cols := make([]arrow.Array, len(t.visible))
	for i, j := range t.visible {
		if j == noColumn {
			cols[i] = array.MakeArrayOfNull(memory.DefaultAllocator, columnar.ArrowType(t.def.Schema.Fields[i].Type), b.Rows())
			continue
		}
		if j < 0 {
			cols[i] = t.metadataColumn(i, b, from)
			continue
		}
		b.Cols[j].Retain()
		cols[i] = b.Cols[j]
	}
	kinds := b.Kinds
	if t.def.AppendOnly {
		kinds = nil
	}
	e := columnar.NewBatch(t.def.Schema, kinds, cols, b.Rows())
	b.Release()
	return out.Emit(ctx, t.port, e)
}
