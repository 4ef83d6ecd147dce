package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// createAs plans CREATE TABLE … AS: the table with the columns of the query, then
// an INSERT of its rows.
func (s *Session) createAs(ctx context.Context, v *sqlfront.CreateTable) {
	before := len(s.errs)
	if len(v.Columns) > 0 || v.Watermark != nil || v.PrimaryKey != nil {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Name.At, Msg: "CREATE TABLE … AS takes its columns from the query, not from a list",
			Hint: "leave the list out; the key is the option 'primary-key' = 'a,b'",
		})
		return
	}
	if there, ok := s.replacing(ctx, v); !ok || there {
		return
	}
	columns, ok := s.columnsOf(ctx, v.AsQuery)
	if !ok || len(s.errs) > before {
		return
	}
	full := *v
	full.AsQuery = nil
	for _, f := range columns {
		f.Type = storable(f.Type)
		full.Columns = append(full.Columns, sqlfront.Column{Name: sqlfront.Name{Text: f.Name, At: v.AsQuery.At}, Type: f.Type, TypePos: v.AsQuery.At})
	}
	takeKeys(&full)
	s.createTable(ctx, &full)
	if len(s.errs) > before {
		return
	}
	s.statement(ctx, &sqlfront.Insert{Span: v.Span, Target: v.Name, Query: v.AsQuery})
}

// storable is the type of a column that holds values of t: the empty text has none of
// its own length.
func storable(t columnar.DataType) columnar.DataType {
	if t.IsText() && t.Length <= 0 {
		length := columnar.StringType()
		length.Nullable = t.Nullable
		return length
	}
	return t
}

// takeKeys makes clauses of the options by which CREATE TABLE … AS names the
// primary key and the partitions, for which it has no place.
func takeKeys(v *sqlfront.CreateTable) {
	names := func(o sqlfront.Option) []sqlfront.Name {
		var out []sqlfront.Name
		for _, n := range columnList(o.Value) {
			out = append(out, sqlfront.Name{Text: n, At: o.ValuePos})
		}
		return out
	}
	v.Options = slices.DeleteFunc(slices.Clone(v.Options), func(o sqlfront.Option) bool {
		switch o.Key {
		case "primary-key":
			v.PrimaryKey = &sqlfront.PrimaryKey{At: o.KeyPos, Columns: names(o)}
		case "partition":
			v.PartitionedBy = names(o)
		default:
			return false
		}
		return true
	})
}

// replacing plans what comes before a table is made from a query: the drop of one
// that is to be replaced. A table that is there already is an error, or, with IF
// NOT EXISTS, all that is wanted.
func (s *Session) replacing(ctx context.Context, v *sqlfront.CreateTable) (there, ok bool) {
	c, db, name, ok := s.resolve(v.Name)
	if !ok {
		return false, false
	}
	exists, err := s.exists(ctx, c, db, name)
	if err != nil {
		s.fail(placed(err, v.Name.At))
		return false, false
	}
	full := fullName(c, db, name)
	// The script of a job is run again, and finds the table.
	ofJob := s.script && !s.bounded(v.AsQuery)
	switch {
	case v.OrReplace && ofJob:
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "a table is not replaced in the script of a job, which may be run again",
			Hint: "replace it once: leat shell -e 'CREATE OR REPLACE TABLE …'",
		})
		return false, false
	case !exists, ofJob:
		return false, true
	case v.OrReplace:
		return false, s.dropReplaced(ctx, v, full)
	case v.IfNotExists:
		s.notice(configs.Notice{Pos: v.Name.At, Key: "exists " + full, Msg: "table " + full + " exists already: nothing was made and no row written"})
		return true, true
	default:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.Name.At, Msg: fmt.Sprintf("table %s exists already", full), Hint: "write CREATE OR REPLACE TABLE … AS, or choose another name"})
		return false, false
	}
}

// dropReplaced plans the drop of a table that the query does not read.
func (s *Session) dropReplaced(ctx context.Context, v *sqlfront.CreateTable, full string) bool {
	reads := false
	sqlfront.WalkQuery(v.AsQuery, sqlfront.Visitor{Table: func(ref sqlfront.TableRef) bool {
		if t, ok := ref.(*sqlfront.TableName); ok {
			if c, db, name, ok := s.resolve(t.Name); ok && fullName(c, db, strings.SplitN(name, "$", 2)[0]) == full {
				reads = true
			}
		}
		return true
	}})
	if reads {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.AsQuery.At, Msg: "the query reads the table that is to be replaced, which is dropped first",
			Hint: "make a table with another name, then drop this one and rename that: ALTER TABLE … RENAME TO",
		})
		return false
	}
	before := len(s.errs)
	s.notice(configs.Notice{Pos: v.Pos(), Key: "replace " + full, Msg: "table " + full + " is dropped with its snapshots and made anew"})
	s.dropTable(ctx, &sqlfront.Drop{Span: v.Span, Kind: sqlfront.DropTable, Name: v.Name})
	return len(s.errs) == before
}

// columnsOf gives the columns of the result of a query of an INSERT.
func (s *Session) columnsOf(ctx context.Context, q *sqlfront.Query) ([]columnar.Field, bool) {
	if rows, at, ok := constantRows(q); ok {
		return s.constantColumns(q, rows, at)
	}
	if s.bounded(q) {
		body := unionBranches(q.Body)[0]
		one := q
		if body != q.Body {
			one = &sqlfront.Query{At: q.At, Body: body}
		}
		st, ok := s.bindSelect(ctx, q.At, one)
		if !ok {
			return nil, false
		}
		return st.Select.Columns.Fields, true
	}
	rels, ok := newBuilder(s).query(ctx, q)
	if !ok || len(rels) == 0 {
		return nil, false
	}
	out := make([]columnar.Field, len(rels[0].columns))
	for i, c := range rels[0].columns {
		out[i] = columnar.Field{Name: c.name, Type: c.expr.Type()}
	}
	return out, true
}

// constantColumns gives names and common types of rows of constants.
func (s *Session) constantColumns(q *sqlfront.Query, rows [][]sqlfront.Expr, at diag.Pos) ([]columnar.Field, bool) {
	before := len(s.errs)
	var out []columnar.Field
	for i := range rows[0] {
		var all []expr.Expr
		for _, row := range rows {
			if i >= len(row) {
				s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: "the rows have different numbers of columns", Hint: "give each row a value a column"})
				return nil, false
			}
			e, err := s.bindExpr(row[i], nil)
			if err != nil {
				s.fail(err)
				continue
			}
			all = append(all, e)
		}
		if len(s.errs) > before {
			return nil, false
		}
		common := all[0]
		if len(all) > 1 {
			var err error
			if common, err = expr.Call("COALESCE", all...); err != nil {
				s.fail(placed(err, at))
				return nil, false
			}
		}
		t := common.Type()
		if t.Kind == columnar.Invalid {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: rows[0][i].Pos(), Msg: "NULL has no type here", Hint: "write CAST(NULL AS type)"})
			return nil, false
		}
		t.Nullable = slices.ContainsFunc(all, func(e expr.Expr) bool { return e.Type().Nullable })
		name := fmt.Sprintf("EXPR$%d", i)
		if sel, ok := q.Body.(*sqlfront.Select); ok {
			name = itemName(sel.Items[i], i)
		}
		out = append(out, columnar.Field{Name: name, Type: t})
	}
	return out, true
}
