package planner

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/lakehouse/spec"
)

// deadLetterName is what the table of dead letters is called unless it gets a name.
const deadLetterName = "leat_dead_letters"

// deadLetters plans the table that takes rows which cannot be read. A job that
// had one keeps it, also where bad rows are not sent there any more: what the
// last checkpoint holds of it may still have to be committed.
func (y *syncer) deadLetters(ctx context.Context, stored string) {
	s, spec := y.s, y.spec
	source, ok := y.source.(connect.DeadLetterer)
	if !spec.BadRowsKept && stored == "" || !ok || len(s.errs) > 0 || len(s.builder.plan.Sinks) == 0 {
		return
	}
	db, name := y.deadLetterTable(stored)
	full := fullName(y.target, db, name)
	if stored != "" && spec.DeadLetterTable != "" && stored != full {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUsage, Msg: fmt.Sprintf("the job sends rows that it cannot read to %s, not to %s", stored, full),
			Hint: "leave --dead-letter-table out, or begin anew with --fresh --replace",
		})
		return
	}
	if y.target.tables[db+"."+name] != nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Table: full, Msg: "it is the copy of a table, and dead letters cannot go there", Hint: "name another one with --dead-letter-table"})
		return
	}
	to := y.placeLetters(ctx, db, name, source.DeadLetterSchema().Fields)
	if to == nil {
		return
	}
	b := s.builder
	first := b.plan.Sources[0].Tables[0].Table
	from := &connect.Table{Name: full, Schema: to.def.Schema, Metadata: map[string]string{}, Options: maps.Clone(first.Options)}
	src, port := b.port(&scan{table: &table{full: full, def: from}, def: from, source: -1}, y.source)
	st := &b.plan.Sources[src].Tables[port]
	st.TakesDeadLetters = true
	exprs := make([]expr.Expr, len(from.Schema.Fields))
	for i, f := range from.Schema.Fields {
		st.Needed = append(st.Needed, i)
		exprs[i] = expr.NamedColumn(i, f.Name, f.Type)
	}
	sink := newSink(to, s.env.Lake)
	sink.Mode, sink.Keeps = connect.InsertOnly, true
	b.plan.Pipes = append(b.plan.Pipes, Pipe{
		UID: fmt.Sprintf("calc-%d", len(b.plan.Pipes)+1), Source: src, Port: port, Sink: len(b.plan.Sinks), Exprs: exprs, Identity: true, In: connect.InsertOnly,
	})
	b.plan.Sinks = append(b.plan.Sinks, sink)
}

// deadLetterTable gives database and name of the table of dead letters.
func (y *syncer) deadLetterTable(stored string) (db, name string) {
	text := y.spec.DeadLetterTable
	if text == "" && stored != "" {
		text = strings.TrimPrefix(stored, y.target.name+".")
	}
	if text == "" {
		text = deadLetterName
	}
	if db, name, ok := strings.Cut(text, "."); ok {
		return db, name
	}
	if y.spec.Database != "" {
		return y.spec.Database, text
	}
	db, _, _ = strings.Cut(strings.TrimPrefix(y.s.builder.plan.Sinks[0].UID, "sink:"+y.target.name+"."), ".")
	return db, text
}

// placeLetters takes the table of dead letters as it is, or plans a new one:
// an append table without buckets.
func (y *syncer) placeLetters(ctx context.Context, db, name string, fields []columnar.Field) *table {
	s, full := y.s, fullName(y.target, db, name)
	have, err := y.target.lake.Table(ctx, db, name)
	if err != nil {
		s.fail(err)
		return nil
	}
	if have != nil {
		fits := len(have.PrimaryKeys) == 0 && len(have.Fields) >= len(fields)
		for i := range fields {
			fits = fits && have.Fields[i].Name == fields[i].Name && have.Fields[i].Type.EqualIgnoreNull(fields[i].Type)
		}
		if !fits || len(have.Fields) > len(fields) {
			s.fail(&diag.Error{
				Domain: diag.User, Code: diag.CodeLakeShape, Table: full, Msg: "it exists already, and is no table of dead letters",
				Hint: "name another one with --dead-letter-table",
			})
			return nil
		}
		return s.lakeTable(y.target, db, name, have, diag.Pos{}, nil)
	}
	want := &spec.TableSchema{Version: 3, Fields: fields, Options: map[string]string{}, Comment: "rows that could not be carried", HighestFieldID: len(fields) - 1}
	if err := (catalog.Identifier{Database: db, Table: name}).Check(); err != nil {
		s.fail(inTable(err, full))
		return nil
	}
	s.result.Steps = append(s.result.Steps, Step{Catalog: y.target.name, Warehouse: y.target.warehouse, Database: db, Table: name, Schema: want})
	return s.lakeTable(y.target, db, name, want, diag.Pos{}, nil)
}
