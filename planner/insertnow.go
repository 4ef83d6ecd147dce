package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// Write is an INSERT over what is there already: constants and lake tables. It is
// carried out at once and becomes one commit.
type Write struct {
	// Target is the definition of the table of the Step.
	Target *connect.Table
	Writer connect.StatementWriter
	// Inputs are queries (StepSelect) whose columns are those of Target in order.
	Inputs []Step
	// NotNull are the columns that must not be NULL, by index.
	NotNull []int
	// Overwrite replaces rows: with Dynamic those of the partitions that rows come
	// to, else those of the partitions in which StaticColumns, by index, have the
	// values Static; without any those of all.
	Overwrite, Dynamic bool
	StaticColumns      []int
	Static             []expr.Expr
	// Change says that the rows of the one input are not inserted but changed or
	// deleted in Target, which they come from. Their columns are those of Target;
	// for Updating the new values of the columns Set, by index, follow.
	Change Change
	Set    []int
	// Merged are the columns of Set whose new values do not always win.
	Merged []Merged
}

// Merged is a column of a table whose new rows complete the older ones.
type Merged struct {
	// At is the index in Set.
	At int
	// Sequence are the columns, by index in Target, of which one has to have a value
	// for the new value to count. Without any the old value stays where the new is NULL.
	Sequence []int
}

// Change is what a statement does with the rows it finds.
type Change uint8

// The changes of rows.
const (
	Inserting Change = iota
	Updating
	Deleting
)

// planWrite plans a statement that writes at once; false for others.
func (s *Session) planWrite(ctx context.Context, st sqlfront.Statement) bool {
	switch v := st.(type) {
	case *sqlfront.Insert:
		return s.insertNow(ctx, v)
	case *sqlfront.Update:
		s.updateStatement(ctx, v)
	case *sqlfront.Delete:
		s.deleteStatement(ctx, v)
	default:
		return false
	}
	return true
}

// onceOnly says that statements that write at once are none of a job's script: a job
// is run again, with all of its script.
func (s *Session) onceOnly() {
	for i := range s.result.Steps {
		st := &s.result.Steps[i]
		if st.Kind != StepWrite {
			continue
		}
		word := map[Change]string{Inserting: "an INSERT over what is there already", Updating: "UPDATE", Deleting: "DELETE"}[st.Write.Change]
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: st.Pos, Msg: word + " does not run in the script of a job, which may be run again",
			Hint: "put it into a script of its own, or run it by leat shell -e '…'",
		})
	}
}

// insertNow plans an INSERT to be carried out at once. It declines, without an
// error, an INSERT that reads from a source of a job, or whose target cannot take it.
func (s *Session) insertNow(ctx context.Context, v *sqlfront.Insert) bool {
	if len(v.Target.Parts) > 3 || !s.bounded(v.Query) || s.catalogOf(v.Target) == nil {
		return false
	}
	before := len(s.errs)
	target := s.findTable(ctx, v.Target)
	if target == nil {
		return true
	}
	writer, ok := target.connector.(connect.StatementWriter)
	if !ok || v.Overwrite && !target.lake {
		return false
	}
	c, db, name, _ := s.resolve(v.Target)
	if !target.lake {
		c = nil // nothing of a warehouse is opened
	}
	st := s.step(StepWrite, v.Pos(), c, db, name)
	st.Write = &Write{Target: target.def, Writer: writer, Overwrite: v.Overwrite, Dynamic: true}
	for i, f := range target.def.Schema.Fields {
		if !f.Type.Nullable {
			st.Write.NotNull = append(st.Write.NotNull, i)
		}
	}
	s.overwriting(v, target, st.Write)
	for _, q := range unionQueries(v.Query) {
		if in, ok := s.bindInput(ctx, v, target, q); ok {
			st.Write.Inputs = append(st.Write.Inputs, in)
		}
	}
	if len(s.errs) == before {
		s.add(st)
	}
	return true
}

// catalogOf gives the catalog of a name without an error; nil if there is none.
func (s *Session) catalogOf(n sqlfront.ObjectName) *namespace {
	if len(n.Parts) == 3 {
		return s.catalogs[n.Parts[0].Text]
	}
	return s.current
}

// bounded reports whether a query reads constants and lake tables only.
func (s *Session) bounded(q *sqlfront.Query) bool {
	with := map[string]bool{}
	ok := true
	sqlfront.WalkQuery(q, sqlfront.Visitor{
		Query: func(q *sqlfront.Query) bool {
			for _, c := range q.With {
				with[c.Name.Text] = true
			}
			for _, body := range unionBranches(q.Body) {
				if t, is := body.(*sqlfront.TableQuery); is {
					ok = ok && s.isLake(t.Name)
				}
			}
			return ok
		},
		Table: func(ref sqlfront.TableRef) bool {
			if t, is := ref.(*sqlfront.TableName); is {
				ok = ok && (len(t.Name.Parts) == 1 && with[t.Name.Parts[0].Text] || s.isLake(t.Name))
			}
			return ok
		},
	})
	return ok
}

// isLake reports whether a name, if it is one of a table, is that of a lake table.
func (s *Session) isLake(n sqlfront.ObjectName) bool {
	if v := s.viewOf(n); v != nil {
		done, err := s.expand(v, n.At)
		if err != nil {
			return true // the query says so where it is bound
		}
		defer done()
		return s.bounded(v.query)
	}
	c := s.catalogOf(n)
	if c == nil || c.lake == nil || len(n.Parts) > 3 {
		return false
	}
	_, db, name, ok := s.resolve(n)
	t := c.tables[db+"."+name]
	return ok && (t == nil || t.lake)
}

// unionQueries gives the queries whose rows UNION ALL puts together.
func unionQueries(q *sqlfront.Query) []*sqlfront.Query {
	bodies := unionBranches(q.Body)
	if len(bodies) == 1 || len(q.With) > 0 || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil {
		return []*sqlfront.Query{q}
	}
	out := make([]*sqlfront.Query, len(bodies))
	for i, body := range bodies {
		out[i] = &sqlfront.Query{At: q.At, Body: body}
	}
	return out
}

// unionBranches gives the parts of UNION ALL in order.
func unionBranches(body sqlfront.QueryBody) []sqlfront.QueryBody {
	if v, ok := body.(*sqlfront.SetOperation); ok && v.Op == "UNION" && v.All {
		return append(unionBranches(v.Left), unionBranches(v.Right)...)
	}
	return []sqlfront.QueryBody{body}
}

// overwriting takes over what an INSERT OVERWRITE replaces.
func (s *Session) overwriting(v *sqlfront.Insert, target *table, w *Write) {
	options := maps.Clone(target.def.Options)
	maps.Copy(options, s.writeHints(v.Hints, target, "INSERT", configs.DynamicOverwrite.Key))
	w.Dynamic = len(target.def.PartitionKeys) > 0 && configs.DynamicOverwrite.Get(options)
	for _, p := range v.Partition {
		i := target.def.Schema.Index(p.Column.Text)
		if p.Value == nil || i < 0 {
			continue
		}
		// What is wrong with a value is said where it becomes a column.
		e, err := s.bindExpr(p.Value, nil)
		if err == nil {
			e, err = expr.Coerce(e, target.def.Schema.Fields[i].Type)
		}
		if err == nil {
			w.StaticColumns, w.Static = append(w.StaticColumns, i), append(w.Static, e)
		}
	}
}

// writeHints gives the options of the hints of a statement, and says which of them
// have no effect: all but used.
func (s *Session) writeHints(hints []sqlfront.Hint, target *table, statement string, used ...string) configs.Values {
	all := configs.Values{}
	for _, h := range hints {
		if h.Name != "OPTIONS" {
			s.notice(configs.Notice{Pos: h.At, Key: "hint " + h.Name, Msg: "hint " + h.Name + " has no effect here"})
			continue
		}
		given := optionValues(h.Options)
		notices, errs := configs.LakeTable.Check(given, configs.CheckOptions{Table: target.full})
		for _, n := range notices {
			s.notice(n)
		}
		s.fail(errs.Err())
		maps.Copy(all, given)
		for k, o := range given {
			if !slices.Contains(used, k) {
				s.notice(configs.Notice{Pos: o.KeyPos, Key: "insert hint " + k, Msg: fmt.Sprintf("option '%s' has no effect on one %s", k, statement)})
			}
		}
	}
	return all
}

// bindInput binds one query of an INSERT, with the target's columns as its result.
func (s *Session) bindInput(ctx context.Context, v *sqlfront.Insert, target *table, q *sqlfront.Query) (Step, bool) {
	if rows, at, ok := constantRows(q); ok {
		return s.bindConstants(v, target, rows, at)
	}
	in, ok := s.bindSelect(ctx, v.Pos(), q)
	if !ok {
		return in, false
	}
	if in.Select.Count {
		if in, ok = s.bindLakeQuery(ctx, v.Pos(), q); !ok {
			return in, false
		}
	}
	r := &relation{}
	for i, f := range in.Select.Columns.Fields {
		r.columns = append(r.columns, relColumn{name: f.Name, expr: in.Select.Exprs[i], at: q.At})
	}
	exprs, ok := s.builder.sinkColumns(v, target, r)
	in.Select.Exprs, in.Select.Columns = exprs, target.def.Schema
	return in, ok
}

// constantRows gives the rows of VALUES, and the one of a SELECT without FROM.
func constantRows(q *sqlfront.Query) (rows [][]sqlfront.Expr, at diag.Pos, ok bool) {
	if len(q.With) > 0 || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil {
		return nil, at, false
	}
	switch v := q.Body.(type) {
	case *sqlfront.Values:
		return v.Rows, v.At, true
	case *sqlfront.Select:
		if v.From != nil || v.Where != nil || v.Distinct || v.GroupBy != nil || v.Having != nil {
			return nil, at, false
		}
		row := make([]sqlfront.Expr, len(v.Items))
		for i := range v.Items {
			row[i] = v.Items[i].Expr
		}
		return [][]sqlfront.Expr{row}, v.At, true
	}
	return nil, at, false
}

func (s *Session) bindConstants(v *sqlfront.Insert, target *table, rows [][]sqlfront.Expr, at diag.Pos) (Step, bool) {
	st := Step{Kind: StepSelect, Pos: at, Select: &Query{Columns: target.def.Schema, Limit: -1}}
	before := len(s.errs)
	for _, row := range rows {
		r := &relation{}
		for i, x := range row {
			e, err := s.bindNoticed(x, nil)
			if err != nil {
				s.fail(err)
				continue
			}
			r.columns = append(r.columns, relColumn{name: fmt.Sprintf("EXPR$%d", i), expr: e, at: x.Pos()})
		}
		if len(r.columns) < len(row) {
			continue
		}
		exprs, ok := s.builder.sinkColumns(v, target, r)
		if !ok {
			continue
		}
		st.Select.Values = append(st.Select.Values, exprs)
	}
	return st, len(s.errs) == before
}

// explain gives the plan of a write as text.
func (w *Write) explain() string {
	var b strings.Builder
	for i := range w.Inputs {
		if rows := w.Inputs[i].Select.Values; rows != nil {
			fmt.Fprintf(&b, "== Physical Plan ==\nValues [%d]\n", len(rows))
			for _, row := range rows {
				texts := make([]string, len(row))
				for k, e := range row {
					texts[k] = expr.String(e)
				}
				fmt.Fprintf(&b, "  %s\n", strings.Join(texts, ", "))
			}
			continue
		}
		b.WriteString(w.Inputs[i].explain())
	}
	what := "Append to"
	switch {
	case w.Change == Updating:
		names := make([]string, len(w.Set))
		for i, c := range w.Set {
			names[i] = w.Target.Schema.Fields[c].Name
		}
		fmt.Fprintf(&b, "Update %s of %s, one commit\n", strings.Join(names, ", "), w.Target.Name)
		return b.String()
	case w.Change == Deleting:
		fmt.Fprintf(&b, "Delete from %s, one commit\n", w.Target.Name)
		return b.String()
	case w.Overwrite && w.Dynamic:
		what = "Replace the partitions of these rows in"
	case w.Overwrite && len(w.Static) > 0:
		parts := make([]string, len(w.Static))
		for i, e := range w.Static {
			parts[i] = w.Target.Schema.Fields[w.StaticColumns[i]].Name + " = " + expr.String(e)
		}
		what = "Replace the partitions with " + strings.Join(parts, ", ") + " of"
	case w.Overwrite:
		what = "Replace all rows of"
	}
	fmt.Fprintf(&b, "%s %s [%s], one commit\n", what, w.Target.Name, strings.Join(w.Target.Schema.Names(), ", "))
	return b.String()
}
