package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// rowChange is an UPDATE or a DELETE being planned.
type rowChange struct {
	word   string
	at     diag.Pos
	name   sqlfront.ObjectName
	hints  []sqlfront.Hint
	alias  sqlfront.Name
	where  sqlfront.Expr
	change Change

	target *table
	rel    *relation
	step   Step
}

func (s *Session) updateStatement(ctx context.Context, v *sqlfront.Update) {
	before := len(s.errs)
	c := &rowChange{word: "UPDATE", at: v.Pos(), name: v.Target, hints: v.Hints, alias: v.Alias, where: v.Where, change: Updating}
	if !s.startChange(ctx, c) {
		return
	}
	for i := range v.Set {
		s.assign(c, &v.Set[i])
	}
	if c.target.option(configs.MergeEngine) == "partial-update" {
		s.mergedColumns(c)
	}
	s.finishChange(c, before)
}

func (s *Session) deleteStatement(ctx context.Context, v *sqlfront.Delete) {
	before := len(s.errs)
	c := &rowChange{word: "DELETE", at: v.Pos(), name: v.Target, hints: v.Hints, alias: v.Alias, where: v.Where, change: Deleting}
	if !s.startChange(ctx, c) {
		return
	}
	if gone := columnList(configs.GroupRemove.Get(c.target.def.Options)); len(gone) > 0 && c.target.option(configs.MergeEngine) == "partial-update" {
		c.step.Write.Merged = []Merged{{Sequence: c.target.schema.Indexes(gone)}}
	}
	s.finishChange(c, before)
}

// startChange finds the table and makes the query that reads its rows.
func (s *Session) startChange(ctx context.Context, c *rowChange) bool {
	c.target = s.findTable(ctx, c.name)
	if c.target == nil {
		return false
	}
	writer, ok := c.target.connector.(connect.StatementWriter)
	if !c.target.lake || !ok {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: c.name.At, Table: c.target.full,
			Msg: fmt.Sprintf("%s works on Paimon tables, and this one has connector '%s'", c.word, c.target.connector.Name()), Hint: "change the rows where they come from",
		})
		return false
	}
	if e := c.refusal(); e != nil {
		s.fail(e)
		return false
	}
	s.writeHints(c.hints, c.target, c.word)
	cat, db, name, _ := s.resolve(c.name)
	c.step = s.step(StepWrite, c.at, cat, db, name)
	c.step.Write = &Write{Target: c.target.def, Writer: writer, Change: c.change}
	in := s.step(StepSelect, c.at, cat, db, name)
	schema := c.target.def.Schema
	in.Select = &Query{Options: map[string]string{}, Input: schema, Columns: &columnar.Schema{Fields: slices.Clone(schema.Fields)}, Limit: -1, Whole: true}
	c.rel = &relation{alias: c.alias.Text}
	if c.rel.alias == "" {
		c.rel.alias = name
	}
	for i, f := range schema.Fields {
		x := expr.NamedColumn(i, f.Name, f.Type)
		c.rel.columns = append(c.rel.columns, relColumn{name: f.Name, expr: x})
		in.Select.Exprs = append(in.Select.Exprs, x)
		if !f.Type.Nullable {
			c.step.Write.NotNull = append(c.step.Write.NotNull, i)
		}
	}
	if c.where != nil {
		out := &relation{}
		s.builder.where(c.where, &scope{rel: c.rel}, out)
		in.Select.Filter = out.filter
	}
	c.step.Write.Inputs = []Step{in}
	return true
}

func (s *Session) finishChange(c *rowChange, before int) {
	if len(s.errs) == before {
		s.add(c.step)
	}
}

// option gives the value of an option of a lake table, or its default.
func (t *table) option(o configs.Option[string]) string { return strings.ToLower(o.Get(t.def.Options)) }

// refusal says why Paimon takes no such change in a table; nil if it does.
func (c *rowChange) refusal() *diag.Error {
	t, engine := c.target, c.target.option(configs.MergeEngine)
	e := &diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Pos: c.name.At, Table: t.full}
	switch {
	case len(t.def.PrimaryKey) == 0:
		e.Code, e.Msg, e.Hint = diag.CodeNoPrimaryKey, c.word+" needs a primary key by which rows are found, and this table has none", c.rewrite()
	case configs.IgnoreDelete.Get(t.def.Options) && c.change == Deleting:
		e.Msg, e.Hint = "this table drops deletes: 'ignore-delete' is set", "keep the rows, or make the table anew without it"
	case configs.RowKindField.Get(t.def.Options) != "":
		e.Msg, e.Hint = fmt.Sprintf("column %s says what kind of change a row is ('rowkind.field')", configs.RowKindField.Get(t.def.Options)), "INSERT rows with the kind that is meant"
	case c.change == Updating && engine != "deduplicate" && engine != "partial-update":
		e.Msg, e.Hint = fmt.Sprintf("a table with 'merge-engine' = '%s' takes no UPDATE: its rows come about by merging; deduplicate and partial-update take it", engine), "INSERT rows that merge to what is meant"
	case c.change == Updating && engine == "partial-update" && aggregates(t.def.Options):
		e.Msg, e.Hint = "columns of this table are aggregated: an UPDATE would add the values of its rows to them again", "INSERT rows that merge to what is meant"
	case c.change == Deleting && engine == "partial-update" && !configs.PartialRemove.Get(t.def.Options) && configs.GroupRemove.Get(t.def.Options) == "":
		e.Msg, e.Hint = "a partial-update table takes no DELETE by itself", "set 'partial-update.remove-record-on-delete' = 'true' on it, or with sequence groups 'partial-update.remove-record-on-sequence-group'"
	case c.change == Deleting && engine == "aggregation" && !configs.AggregateRemove.Get(t.def.Options):
		e.Msg, e.Hint = "an aggregation table takes no DELETE by itself", "set 'aggregation.remove-record-on-delete' = 'true' on it"
	case c.change == Deleting && engine == "first-row":
		e.Msg, e.Hint = "a first-row table takes no DELETE", "ALTER TABLE … DROP PARTITION or TRUNCATE TABLE takes rows out as a whole"
	default:
		return nil
	}
	return e
}

// rewrite is the statement that does to an append table what c would do.
func (c *rowChange) rewrite() string {
	name := c.name.String()
	hint := ""
	if len(c.target.def.PartitionKeys) > 0 {
		hint = " /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */"
	}
	what := "SELECT …, CASE WHEN condition THEN value ELSE column END, … FROM " + name
	switch {
	case c.change == Deleting && c.where == nil:
		return "TRUNCATE TABLE " + name
	case c.change == Deleting:
		what = "SELECT * FROM " + name + " WHERE (" + sqlfront.FormatExpr(c.where) + ") IS NOT TRUE"
	}
	return "write its rows anew: INSERT OVERWRITE " + name + hint + " " + what
}

// aggregates reports whether columns have aggregate functions.
func aggregates(v configs.Values) bool {
	for key := range v {
		if strings.HasPrefix(key, "fields.") && (strings.HasSuffix(key, ".aggregate-function") || key == "fields.default-aggregate-function") {
			return true
		}
	}
	return false
}

// assign plans one column = value of an UPDATE.
func (s *Session) assign(c *rowChange, a *sqlfront.Assignment) {
	schema, w := c.target.def.Schema, c.step.Write
	name := a.Column.Parts[len(a.Column.Parts)-1].Text
	fail := func(code diag.Code, msg, hint string) {
		s.fail(&diag.Error{Domain: diag.User, Code: code, Pos: a.Column.At, Table: c.target.full, Msg: msg, Hint: hint})
	}
	if len(a.Column.Parts) > 1 && a.Column.Parts[len(a.Column.Parts)-2].Text != c.rel.alias {
		fail(diag.CodeUnsupported, "only whole columns of the table can be set, and "+a.Column.String()+" is none", "write SET "+name+" = …, or give the whole ROW a value")
		return
	}
	i := schema.Index(name)
	if i < 0 {
		e := unknownColumn(name, a.Column.At, schema.Names())
		e.Table = c.target.full
		s.fail(e)
		return
	}
	switch engine := c.target.option(configs.MergeEngine); {
	case slices.Contains(w.Set, i):
		fail(diag.CodeUnknownColumn, fmt.Sprintf("column %s gets two values", name), "name it once")
		return
	case slices.Contains(c.target.def.PrimaryKey, name):
		fail(diag.CodeTableShape, fmt.Sprintf("column %s is part of the primary key (%s), which an UPDATE cannot change", name, strings.Join(c.target.def.PrimaryKey, ", ")), "DELETE the row and INSERT it under its new key")
		return
	case slices.Contains(c.target.def.PartitionKeys, name) && engine != "deduplicate":
		fail(diag.CodeTableShape, fmt.Sprintf("rows of a %s table stay in their partition, which column %s is part of", engine, name), "DELETE the row and INSERT it again")
		return
	case slices.Contains(sequenceColumns(c.target.def.Options), name):
		s.notice(configs.Notice{Pos: a.Column.At, Key: c.target.full + " sequence " + name, Msg: fmt.Sprintf("column %s orders the rows of a key: a row stays as it is where the new value comes before the old one", name)})
	}
	e, err := s.bindNoticed(a.Value, &scope{rel: c.rel})
	if err != nil {
		s.fail(err)
		return
	}
	if e = s.builder.coerce(c.target, schema.Fields[i], e, a.Value.Pos(), nil); e == nil {
		return
	}
	in := w.Inputs[0].Select
	w.Set = append(w.Set, i)
	in.Exprs = append(in.Exprs, e)
	in.Columns.Fields = append(in.Columns.Fields, schema.Fields[i])
}

// sequenceColumns are the columns that order the rows of a key.
func sequenceColumns(v configs.Values) []string {
	out := columnList(configs.SequenceField.Get(v))
	for sequence := range sequenceGroups(v) {
		out = append(out, columnList(sequence)...)
	}
	return out
}

// sequenceGroups gives the columns of each sequence group by its sequence columns.
func sequenceGroups(v configs.Values) map[string][]string {
	out := map[string][]string{}
	for key, value := range v {
		name, ok := strings.CutPrefix(key, "fields.")
		if name, is := strings.CutSuffix(name, ".sequence-group"); ok && is {
			out[name] = columnList(value.Text)
		}
	}
	return out
}

func columnList(text string) []string {
	var out []string
	for n := range strings.SplitSeq(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// mergedColumns finds when the new value of a column counts in a table whose rows
// complete each other.
func (s *Session) mergedColumns(c *rowChange) {
	schema, groups := c.target.def.Schema, sequenceGroups(c.target.def.Options)
	for at, i := range c.step.Write.Set {
		m, name := Merged{At: at}, schema.Fields[i].Name
		for sequence, columns := range groups {
			of := columnList(sequence)
			if !slices.Contains(columns, name) && !slices.Contains(of, name) {
				continue
			}
			for _, n := range of {
				m.Sequence = append(m.Sequence, schema.Index(n))
			}
		}
		c.step.Write.Merged = append(c.step.Write.Merged, m)
	}
}
