package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

func notYet(at diag.Pos, what string) *diag.Error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: what + " does not run in a SELECT of leat yet",
		Hint: "write it another way, or run the query on Flink: the table is a Paimon table",
	}
}

// zone is table.local-time-zone.
func (s *Session) zone() *time.Location {
	text := s.zoneText()
	if text == "default" {
		return time.Local
	}
	loc, err := configs.ParseZone(text)
	if err != nil {
		return time.UTC
	}
	return loc
}

func (s *Session) selectStatement(ctx context.Context, at diag.Pos, q *sqlfront.Query) {
	s.streaming = !s.script && configs.RuntimeMode.IsSet(s.settings) && configs.RuntimeMode.Get(s.settings) == "STREAMING"
	st, ok := s.bindSelect(ctx, at, q)
	streaming := s.streaming
	s.streaming = false
	if !ok {
		return
	}
	switch {
	case st.Select.Follow:
		s.notice(configs.Notice{Pos: at, Key: "streaming SELECT", Msg: "in streaming mode a SELECT goes on as the table changes, until Ctrl-C or its LIMIT; SET 'execution.runtime-mode' = 'batch' reads what is there"})
	case streaming:
		s.notice(configs.Notice{Pos: at, Key: "batch SELECT", Msg: "this SELECT reads what is there and ends: only columns and WHERE over one Paimon table go on as it changes"})
	}
	s.add(st)
}

// followOptions are the options of a hint that a table can be followed with.
var followOptions = []string{"scan.mode", "scan.snapshot-id", "scan.timestamp", "scan.timestamp-millis", "branch", "continuous.discovery-interval"}

// follows reports whether a query over one table of the lake goes on as it changes.
func (s *Session) follows(ref *sqlfront.TableName, sel *sqlfront.Select, q *Query) bool {
	parts := ref.Name.Parts
	if !s.streaming || ref.AsOf != nil || isCountStar(sel) || len(parts) > 1 && parts[len(parts)-2].Text == "sys" {
		return false
	}
	for key := range q.Options {
		if !slices.Contains(followOptions, key) {
			return false
		}
	}
	_, rest, _ := strings.Cut(parts[len(parts)-1].Text, "$")
	return rest == "" || strings.HasPrefix(rest, "branch_") && !strings.Contains(rest, "$")
}

// bindSelect binds a query: one over one table without grouping, ordering, joins and
// subqueries is read and computed here, each other one by DuckDB.
func (s *Session) bindSelect(ctx context.Context, at diag.Pos, q *sqlfront.Query) (Step, bool) {
	sel, ref := plainSelect(q)
	if sel == nil || s.viewOf(ref.Name) != nil {
		return s.bindLakeQuery(ctx, at, q)
	}
	if t, reader := s.rowTable(ref); reader != nil {
		return s.bindRows(at, q, sel, ref, t, reader)
	}
	c, db, name, ok := s.lakeName(ctx, ref)
	if !ok {
		return Step{}, false
	}
	st := s.step(StepSelect, at, c, db, name)
	st.Select = &Query{Options: map[string]string{}, CatalogOptions: c.options, Limit: -1}
	if !s.travel(ref, st.Select) {
		return Step{}, false
	}
	st.Select.Follow = s.follows(ref, sel, st.Select)
	if !s.input(ctx, c, db, name, ref, st.Select) {
		return Step{}, false
	}
	rel := &relation{alias: ref.Name.Parts[len(ref.Name.Parts)-1].Text}
	for i, f := range st.Select.Input.Fields {
		rel.columns = append(rel.columns, relColumn{name: f.Name, expr: expr.NamedColumn(i, f.Name, f.Type)})
	}
	rels := renamed([]*relation{rel}, ref.Alias)
	before := len(s.errs)
	s.bindItems(sel, rels[0], st.Select)
	if !s.bindLimits(q, st.Select) || len(s.errs) > before {
		return Step{}, false
	}
	return st, true
}

// rowTable gives the table of a name, and its connector, if that reads tables as they are now.
func (s *Session) rowTable(ref *sqlfront.TableName) (*table, connect.RowReader) {
	c, db, p := s.catalogOf(ref.Name), s.database, ref.Name.Parts
	if c == nil {
		return nil, nil
	}
	if len(p) > 1 {
		db = p[len(p)-2].Text
	}
	t := c.tables[db+"."+p[len(p)-1].Text]
	if t == nil || t.lake {
		return nil, nil
	}
	reader, _ := t.connector.(connect.RowReader)
	return t, reader
}

// rowScan gives the scan of a table that is read as it is now, and its columns.
func (s *Session) rowScan(ref *sqlfront.TableName, t *table, reader connect.RowReader) (*relation, bool) {
	if ref.AsOf != nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: ref.AsOf.Pos(), Msg: fmt.Sprintf("table %s can be read as it is now alone", t.full), Hint: "leave FOR SYSTEM_TIME AS OF out, or read its copy in the lake"})
		return nil, false
	}
	sc := s.builder.scanOf(t, reader, ref)
	if sc == nil {
		return nil, false
	}
	return s.builder.tableRelation(sc)
}

func isEndless(reader connect.RowReader, t *connect.Table) bool {
	e, ok := reader.(connect.Endless)
	return ok && e.Endless(t)
}

func endless(at diag.Pos, table string) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: fmt.Sprintf("table %s has no end, and this query needs all of its rows", table), Hint: "set 'number-of-rows', or select rows as they are with a LIMIT"}
}

// bindRows binds a query over a table that its connector reads as it is now.
func (s *Session) bindRows(at diag.Pos, q *sqlfront.Query, sel *sqlfront.Select, ref *sqlfront.TableName, t *table, reader connect.RowReader) (Step, bool) {
	rel, ok := s.rowScan(ref, t, reader)
	if !ok {
		return Step{}, false
	}
	rel.alias = ref.Name.Parts[len(ref.Name.Parts)-1].Text
	st := s.step(StepSelect, at, nil, "", t.full)
	st.Select = &Query{Rows: reader, Table: rel.scan.def, Input: rel.scan.def.Schema, Limit: -1}
	if isEndless(reader, rel.scan.def) {
		if isCountStar(sel) || s.script && q.Limit == nil {
			s.fail(endless(ref.Name.At, t.full))
			return Step{}, false
		}
		st.Select.Endless = true
		if q.Limit == nil {
			s.notice(configs.Notice{Pos: at, Key: "endless SELECT", Msg: fmt.Sprintf("table %s has no end: this SELECT goes on until Ctrl-C; add LIMIT, or set 'number-of-rows'", t.full)})
		}
	}
	before := len(s.errs)
	s.bindItems(sel, renamed([]*relation{rel}, ref.Alias)[0], st.Select)
	return st, s.bindLimits(q, st.Select) && len(s.errs) == before
}

// plainSelect gives the SELECT, and its table, of a query that needs no more than
// one pass over one table; nil for others.
func plainSelect(q *sqlfront.Query) (*sqlfront.Select, *sqlfront.TableName) {
	if len(q.With) > 0 || len(q.OrderBy) > 0 {
		return nil, nil
	}
	switch v := q.Body.(type) {
	case *sqlfront.TableQuery:
		table := &sqlfront.TableName{Name: v.Name}
		return &sqlfront.Select{At: v.At, Items: []sqlfront.SelectItem{{Expr: &sqlfront.Star{}}}, From: table}, table
	case *sqlfront.Select:
		table, ok := v.From.(*sqlfront.TableName)
		if !ok || v.Distinct || v.GroupBy != nil || v.Having != nil || !rowByRow(v) || starsOfRows(v, table) {
			return nil, nil
		}
		return v, table
	default:
		return nil, nil
	}
}

// starsOfRows reports whether a star may stand for the fields of a column.
func starsOfRows(v *sqlfront.Select, table *sqlfront.TableName) bool {
	alias := table.Alias.Name.Text
	if alias == "" {
		alias = table.Name.Parts[len(table.Name.Parts)-1].Text
	}
	return slices.ContainsFunc(v.Items, func(it sqlfront.SelectItem) bool {
		star, ok := it.Expr.(*sqlfront.Star)
		return ok && len(star.Qualifier) > 0 && star.Qualifier[len(star.Qualifier)-1].Text != alias
	})
}

// rowByRow reports whether each row of a SELECT comes of one row, or COUNT(*) of all.
func rowByRow(v *sqlfront.Select) bool {
	plain := true
	visit := sqlfront.Visitor{
		Query: func(*sqlfront.Query) bool { plain = false; return false },
		Expr: func(x sqlfront.Expr) bool {
			c, ok := x.(*sqlfront.Call)
			if ok && (c.Over != nil || isAggregate(c) || windowFunctions[functionName(c)]) {
				plain = false
			}
			return plain
		},
	}
	sqlfront.WalkExpr(v.Where, visit)
	if isCountStar(v) {
		return plain
	}
	for _, it := range v.Items {
		sqlfront.WalkExpr(it.Expr, visit)
	}
	return plain
}

// travel takes over the options of hints and the time of FOR SYSTEM_TIME AS OF.
func (s *Session) travel(ref *sqlfront.TableName, q *Query) bool {
	for _, h := range ref.Hints {
		if h.Name != "OPTIONS" {
			s.notice(configs.Notice{Pos: h.At, Key: "hint " + h.Name, Msg: "hint " + h.Name + " has no effect here"})
			continue
		}
		for _, o := range h.Options {
			if s.knownHint(o) {
				q.Options[o.Key] = o.Value
			}
		}
	}
	if ref.AsOf == nil {
		return true
	}
	v, err := s.constant(ref.AsOf)
	if err == nil && v.Null {
		err = &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: ref.AsOf.Pos(), Msg: "FOR SYSTEM_TIME AS OF needs a time, this is NULL", Hint: "write TIMESTAMP '2026-01-01 00:00:00'"}
	}
	if err != nil {
		s.fail(err)
		return false
	}
	q.Options["scan.timestamp"] = v.Value
	return true
}

// knownHint reports whether a key of a hint is to be looked at: one that is like no
// option of a table has no effect, as in Paimon, and a misspelt one is an error.
func (s *Session) knownHint(o sqlfront.Option) bool {
	_, errs := configs.LakeTable.Check(configs.Values{o.Key: {Text: o.Value}}, configs.CheckOptions{})
	unknown := slices.ContainsFunc(errs, func(e *diag.Error) bool { return e.Code == diag.CodeUnknownOption })
	if !unknown || configs.LakeTable.Suggest(o.Key) != "" {
		return true
	}
	s.notice(configs.Notice{Pos: o.KeyPos, Key: "hint key " + o.Key, Msg: fmt.Sprintf("there is no table option '%s': it has no effect", o.Key)})
	return false
}

// input finds the columns: those of a table that the script changes as the
// script leaves it, else what the lake says.
func (s *Session) input(ctx context.Context, c *namespace, db, name string, ref *sqlfront.TableName, q *Query) bool {
	if t := c.tables[db+"."+name]; t != nil && len(q.Options) == 0 {
		q.Input = t.def.Schema
		return true
	}
	if c.gone[db+"."+name] || c.gone[db+"."] {
		s.findTable(ctx, ref.Name)
		return false
	}
	options := q.Options
	if q.Follow { // by its columns of today
		options = map[string]string{}
		if b, ok := q.Options["branch"]; ok {
			options["branch"] = b
		}
	}
	columns, err := c.lake.Columns(ctx, db, name, options, s.zoneText())
	if err != nil {
		s.fail(hintPositions(placed(err, ref.Name.At), ref))
		return false
	}
	q.Input = columns
	return true
}

// hintPositions moves errors about an option to its place in the hint.
func hintPositions(err error, ref *sqlfront.TableName) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		for _, h := range ref.Hints {
			if o, ok := h.Options.Get(e.Option); ok && e.Option != "" {
				e.Pos = o.ValuePos
				if e.Code == diag.CodeUnknownOption {
					e.Pos = o.KeyPos
				}
			}
		}
	}
	return l.Err()
}

func (s *Session) bindItems(sel *sqlfront.Select, in *relation, q *Query) {
	if isCountStar(sel) {
		q.Count = true
		q.Columns = &columnar.Schema{Fields: []columnar.Field{{Name: itemName(sel.Items[0], 0), Type: columnar.Of(columnar.BigInt).NotNull()}}}
	} else {
		out := s.builder.selectFrom(&sqlfront.Select{At: sel.At, Items: sel.Items}, in)
		q.Columns = &columnar.Schema{}
		for i, col := range out.columns {
			if col.expr.Type().Kind == columnar.Invalid {
				s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: col.at, Msg: "NULL has no type here", Hint: "write CAST(NULL AS type)"})
				continue
			}
			q.Columns.Fields = append(q.Columns.Fields, columnar.Field{ID: i, Name: col.name, Type: col.expr.Type()})
			q.Exprs = append(q.Exprs, col.expr)
		}
	}
	if sel.Where != nil {
		out := &relation{}
		s.builder.where(sel.Where, &scope{rel: in}, out)
		q.Filter = out.filter
	}
}

// isCountStar recognises SELECT COUNT(*).
func isCountStar(sel *sqlfront.Select) bool {
	if len(sel.Items) != 1 {
		return false
	}
	call, ok := sel.Items[0].Expr.(*sqlfront.Call)
	if !ok || call.Over != nil || call.Filter != nil || call.Distinct || !strings.EqualFold(call.Name.String(), "COUNT") && call.Func != "COUNT" {
		return false
	}
	if len(call.Args) != 1 {
		return false
	}
	_, star := call.Args[0].(*sqlfront.Star)
	return star
}

func (s *Session) bindLimits(q *sqlfront.Query, out *Query) bool {
	for _, l := range []struct {
		e  sqlfront.Expr
		to *int64
	}{{q.Limit, &out.Limit}, {q.Offset, &out.Offset}} {
		if l.e == nil {
			continue
		}
		v, err := s.constant(l.e)
		n, parseErr := strconv.ParseInt(v.Value, 10, 64)
		if err != nil || parseErr != nil || n < 0 {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: l.e.Pos(), Msg: "this is no number of rows", Hint: "write a number"})
			return false
		}
		*l.to = n
	}
	return true
}

// explain gives the plan of a SELECT as text.
func (st *Step) explain() string {
	q := st.Select
	var b strings.Builder
	if q.Lake != nil {
		q.Lake.explain(&b)
		return b.String()
	}
	name := st.Table
	if q.Rows == nil {
		name = st.Catalog + "." + st.Database + "." + st.Table
	}
	fmt.Fprintf(&b, "== Physical Plan ==\nScan %s [%s]\n", name, strings.Join(q.Input.Names(), ", "))
	for _, k := range slices.Sorted(maps.Keys(q.Options)) {
		fmt.Fprintf(&b, "  '%s' = '%s'\n", k, q.Options[k])
	}
	if q.Filter != nil {
		fmt.Fprintf(&b, "  where %s\n", expr.String(q.Filter))
	}
	if q.Count {
		b.WriteString("Count rows\n")
	} else {
		b.WriteString("Calc\n")
		for i, e := range q.Exprs {
			fmt.Fprintf(&b, "  %s = %s\n", q.Columns.Fields[i].Name, expr.String(e))
		}
	}
	if q.Limit >= 0 || q.Offset > 0 {
		fmt.Fprintf(&b, "Limit %d, offset %d\n", q.Limit, q.Offset)
	}
	return b.String()
}
