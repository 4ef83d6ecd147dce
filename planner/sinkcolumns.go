package planner

import (
	"fmt"
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// sinkColumns gives one expression a column of the target, coerced to its type.
func (b *builder) sinkColumns(v *sqlfront.Insert, target *table, r *relation) ([]expr.Expr, bool) {
	schema := target.def.Schema
	given := make([]expr.Expr, len(schema.Fields))
	at := make([]diag.Pos, len(schema.Fields))
	before := len(b.s.errs)
	for _, pv := range v.Partition {
		b.staticPartition(target, pv, given, at)
	}
	order, ok := b.insertOrder(v, target, given)
	if !ok || len(b.s.errs) > before {
		return nil, false
	}
	if len(order) != len(r.columns) {
		b.s.fail(countError(v, target, order, r))
		return nil, false
	}
	for i, col := range r.columns {
		given[order[i]], at[order[i]] = col.expr, col.at
	}
	out := make([]expr.Expr, len(schema.Fields))
	for i, f := range schema.Fields {
		out[i] = b.coerce(target, f, given[i], at[i], v)
	}
	return out, len(b.s.errs) == before
}

func (b *builder) coerce(target *table, f columnar.Field, e expr.Expr, at diag.Pos, v *sqlfront.Insert) expr.Expr {
	if e == nil {
		if !f.Type.Nullable {
			b.s.fail(&diag.Error{
				Domain: diag.User, Code: diag.CodeNullability, Pos: v.Target.At, Table: target.full,
				Msg: fmt.Sprintf("column %s gets no value, has no default value and does not allow NULLs", f.Name), Hint: "select a value for it",
			})
			return nil
		}
		return expr.LitNull(f.Type)
	}
	if expr.IsNullLiteral(e) && !f.Type.Nullable {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeNullability, Pos: at, Table: target.full, Msg: fmt.Sprintf("NULL for column %s, which does not allow NULLs", f.Name), Hint: "give it a value, such as COALESCE(…, 0)"})
		return nil
	}
	c, err := expr.Coerce(e, f.Type)
	if err != nil {
		b.s.fail(placed(withColumn(err, target.full, f), at))
		return nil
	}
	return c
}

// withColumn puts the target column in front of a coercion error.
func withColumn(err error, tableName string, f columnar.Field) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		e.Table = tableName
		e.Msg = fmt.Sprintf("column %s %s: %s", f.Name, f.Type, e.Msg)
	}
	return l
}

func (b *builder) staticPartition(target *table, pv sqlfront.PartitionValue, given []expr.Expr, at []diag.Pos) {
	i := target.def.Schema.Index(pv.Column.Text)
	if i < 0 || !slices.Contains(target.def.PartitionKeys, pv.Column.Text) {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: pv.Column.At, Msg: fmt.Sprintf("%s is no partition column of %s", pv.Column.Text, target.full), Notes: []string{"partition columns: " + strings.Join(target.def.PartitionKeys, ", ")}, Hint: "name a partition column"})
		return
	}
	if pv.Value == nil {
		return
	}
	e, err := b.s.bindExpr(pv.Value, nil)
	if err != nil {
		b.s.fail(err)
		return
	}
	given[i], at[i] = e, pv.Value.Pos()
}

// insertOrder gives the target column of each selected column.
func (b *builder) insertOrder(v *sqlfront.Insert, target *table, given []expr.Expr) ([]int, bool) {
	var order []int
	if v.Columns == nil {
		for i := range target.def.Schema.Fields {
			if given[i] == nil {
				order = append(order, i)
			}
		}
		return order, true
	}
	ok := true
	for _, n := range v.Columns {
		i := target.def.Schema.Index(n.Text)
		if i < 0 {
			e := unknownColumn(n.Text, n.At, target.def.Schema.Names())
			e.Table = target.full
			b.s.fail(e)
			ok = false
			continue
		}
		if slices.Contains(order, i) || given[i] != nil {
			b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: n.At, Table: target.full, Msg: fmt.Sprintf("column %s gets two values", n.Text), Hint: "name it once"})
			ok = false
		}
		order = append(order, i)
	}
	return order, ok
}

func countError(v *sqlfront.Insert, target *table, order []int, r *relation) *diag.Error {
	var q, s []string
	for _, c := range r.columns {
		q = append(q, fmt.Sprintf("%s %s", c.name, c.expr.Type().AsNullable()))
	}
	for _, i := range order {
		f := target.def.Schema.Fields[i]
		s = append(s, fmt.Sprintf("%s %s", f.Name, f.Type.AsNullable()))
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeType, Pos: v.Query.At, Table: target.full,
		Msg:   fmt.Sprintf("the query gives %d columns and the table takes %d", len(q), len(s)),
		Notes: []string{"query: " + strings.Join(q, ", "), "table: " + strings.Join(s, ", ")}, Hint: "select one value a column, or name the columns: INSERT INTO t (a, b) SELECT …",
	}
}
