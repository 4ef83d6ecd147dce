package cdc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Metadata keys of a mysql-cdc table.
const (
	MetaTable    = "table_name"
	MetaDatabase = "database_name"
	MetaTime     = "op_ts"
	MetaKind     = "row_kind"
)

// MetadataKeys lists the metadata keys with their types.
func MetadataKeys() map[string]columnar.DataType {
	return map[string]columnar.DataType{
		MetaTable: columnar.StringType().NotNull(), MetaDatabase: columnar.StringType().NotNull(),
		MetaKind: columnar.StringType().NotNull(),
	}
}

// table reads one table into one port. Only the goroutine of Run uses it once
// reading began, except for plan, which chunk readers take a copy of.
type table struct {
	def  Table
	port int
	// schema is what is decoded: the emitted columns that the source has, then
	// key columns nobody asked for, which identify rows while chunks are merged.
	schema *columnar.Schema
	// visible maps a column of def.Schema to its column in schema, -1 for metadata.
	visible []int
	src     *sourceTable
	plan    *mysqlrow.Plan
	// key holds the columns of schema that identify a row; empty for a table without key.
	key []int
	seq *sequencer
	// cut is the column of the chunk key, "" if the table is read as one chunk.
	cut string
	// empty says that no row was read yet of a history read from an earlier
	// place: a DROP then takes nothing away.
	empty bool
	// statement is the last DDL on the table, for messages.
	statement string
}

// id names the table in states and maps.
func (t *table) id() string { return t.def.Database + "." + t.def.Name }

// adopt takes over the columns of the source and compiles the decoding. All that
// does not fit is reported at once.
func (t *table) adopt(src *sourceTable, zone *time.Location, zero mysqlrow.ZeroDate) error {
	var errs diag.List
	var targets []mysqlrow.Target
	schema := &columnar.Schema{}
	visible := make([]int, len(t.def.Schema.Fields))
	for i, f := range t.def.Schema.Fields {
		visible[i] = -1
		if t.def.metadata(i) != "" {
			continue
		}
		j := src.index(f.Name)
		if j < 0 {
			errs = append(errs, t.missingColumn(i, f.Name, src))
			continue
		}
		if err := mysqlrow.CheckDeclared(src.columns[j], f.Type); err != nil {
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
	opt := mysqlrow.Options{Table: t.id(), ServerZone: zone, ZeroDate: zero}
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
	cut, err := t.chunkColumn(src)
	if err != nil {
		return err
	}
	opt.ChunkKey = cut
	plan, err := mysqlrow.NewPlan(src.columns, targets, opt)
	if err != nil {
		return t.at(-1, err)
	}
	t.schema, t.visible, t.src, t.plan, t.key, t.cut = schema, visible, src, plan, key, cut
	return nil
}

// chunkColumn chooses the column whose ranges are the chunks, "" for one chunk.
func (t *table) chunkColumn(src *sourceTable) (string, error) {
	want := t.def.ChunkKey
	if want == "" {
		if len(src.primary) == 0 {
			return "", nil
		}
		want = src.primary[0]
	}
	j := src.index(want)
	if j < 0 {
		e := t.missingColumn(-1, want, src)
		e.Option = "scan.incremental.snapshot.chunk.key-column"
		return "", e
	}
	c := src.columns[j]
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		if !c.Nullable {
			return c.Name, nil
		}
	}
	if t.def.ChunkKey != "" {
		return "", &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Table: t.def.Label, Pos: t.def.Pos, Option: "scan.incremental.snapshot.chunk.key-column",
			Msg:  fmt.Sprintf("column '%s' is %s; chunks are cut by an integer column that is NOT NULL", c.Name, strings.ToUpper(c.ColumnType)),
			Hint: "name another column, or leave the option out",
		}
	}
	return "", nil
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

// emit hands a decoded batch to the output port, without the hidden columns and
// with the metadata columns.
func (t *table) emit(ctx context.Context, out dataflow.Collector, b *columnar.Batch) error {
	if b.Rows() == 0 {
		b.Release()
		return nil
	}
	if len(t.visible) == len(b.Cols) && !slices.Contains(t.visible, -1) {
		b.Schema = t.def.Schema
		return out.Emit(ctx, t.port, b)
	}
	cols := make([]arrow.Array, len(t.visible))
	for i, j := range t.visible {
		if j < 0 {
			cols[i] = t.metadata(i, b)
			continue
		}
		b.Cols[j].Retain()
		cols[i] = b.Cols[j]
	}
	e := columnar.NewBatch(t.def.Schema, b.Kinds, cols, b.Rows())
	b.Release()
	return out.Emit(ctx, t.port, e)
}

// metadata makes the metadata column i for the rows of b.
func (t *table) metadata(i int, b *columnar.Batch) arrow.Array {
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	defer sb.Release()
	sb.Reserve(b.Rows())
	text := t.def.Name
	if t.def.metadata(i) == MetaDatabase {
		text = t.def.Database
	}
	for row := range b.Rows() {
		if t.def.metadata(i) == MetaKind {
			text = b.Kind(row).String()
		}
		sb.Append(text)
	}
	return sb.NewArray()
}
