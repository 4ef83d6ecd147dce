package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// LakeQuery is a query over any number of lake tables, as a text of DuckDB's SQL
// that refers to Tables and Functions by number (query.duck has the names).
type LakeQuery struct {
	SQL       string
	Tables    []LakeTable
	Functions []LakeFunction
}

// LakeTable is a table that a LakeQuery reads, once for each time that it names it.
type LakeTable struct {
	Catalog, Warehouse, Database, Table string
	// Options are those of the OPTIONS hint and of FOR SYSTEM_TIME AS OF.
	Options map[string]string
	// CatalogOptions are those that the catalog was made with.
	CatalogOptions map[string]string
	Columns        *columnar.Schema
	// Filter, over Columns, is TRUE for every row that the query can have a use for;
	// nil if it may need any. The query filters by itself: this is to read less.
	Filter expr.Expr
	// Rows reads Definition, which is none of the lake, as it is now.
	Rows       connect.RowReader
	Definition *connect.Table
}

// LakeFunction is an expression over its arguments that DuckDB does not compute as
// Flink does.
type LakeFunction struct {
	Args []columnar.DataType
	Expr expr.Expr
}

// lakeBuilder translates one query.
type lakeBuilder struct {
	s   *Session
	ctx context.Context //nolint:containedctx // one query is planned in one call
	out *LakeQuery
	// relations counts the aliases r0, r1, … given so far.
	relations int
}

// lakeColumn is a column of a relation or of a query.
type lakeColumn struct {
	name string
	t    columnar.DataType
	// sql is how expressions write it.
	sql string
	// origin is the column of a table that it is, unchanged.
	origin origin
	at     diag.Pos
}

// origin is a column of Tables[table]; table is negative for what is computed.
// Where padded, rows of NULLs may stand in for rows of the table: the other side of
// an outer join had none that fits.
type origin struct {
	table, column int
	padded        bool
}

var computed = origin{table: -1}

// lakeRelation is one item of FROM.
type lakeRelation struct {
	alias   string
	columns []lakeColumn
}

// lakeResult is a query as text; its columns are called c0, c1, … in it.
type lakeResult struct {
	sql     string
	columns []lakeColumn
}

// ctes are the queries of WITH that a query sees.
type ctes map[string]*cte

type cte struct {
	query   *sqlfront.Query
	columns []sqlfront.Name
	// sees are those that it sees itself.
	sees ctes
}

// bindLakeQuery binds a query that needs more than one table, row by row.
func (s *Session) bindLakeQuery(ctx context.Context, at diag.Pos, q *sqlfront.Query) (Step, bool) {
	b := &lakeBuilder{s: s, ctx: ctx, out: &LakeQuery{}}
	before := len(s.errs)
	r, ok := b.query(q, nil, nil)
	if !ok || len(s.errs) > before {
		return Step{}, false
	}
	b.out.SQL = r.sql
	st := Step{Kind: StepSelect, Pos: at, Settings: maps.Clone(s.settings)}
	st.Select = &Query{Lake: b.out, Columns: &columnar.Schema{}, Limit: -1}
	for i, c := range r.columns {
		if c.t.Kind == columnar.Invalid {
			s.fail(bareNull(c.at))
			return Step{}, false
		}
		f := columnar.Field{ID: i, Name: c.name, Type: c.t}
		st.Select.Columns.Fields = append(st.Select.Columns.Fields, f)
		st.Select.Exprs = append(st.Select.Exprs, expr.NamedColumn(i, f.Name, f.Type))
	}
	st.Select.Input = st.Select.Columns
	return st, true
}

func bareNull(at diag.Pos) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: "NULL has no type here", Hint: "write CAST(NULL AS type)"}
}

// alias gives the next alias of a relation.
func (b *lakeBuilder) alias() string {
	b.relations++
	return "r" + strconv.Itoa(b.relations-1)
}

func position(i int) string { return "c" + strconv.Itoa(i) }

// query binds a query. outer is the scope of the query that it is in, with which it
// may be correlated; nil for none.
func (b *lakeBuilder) query(q *sqlfront.Query, with ctes, outer *lakeScope) (lakeResult, bool) {
	if len(q.With) > 0 {
		with = maps.Clone(with)
		if with == nil {
			with = ctes{}
		}
		for _, c := range q.With {
			with[c.Name.Text] = &cte{query: c.Query, columns: c.Columns, sees: maps.Clone(with)}
		}
	}
	limits, limited, ok := b.limits(q)
	if !ok {
		return lakeResult{}, false
	}
	body := q.Body
	if t, is := body.(*sqlfront.TableQuery); is {
		body = &sqlfront.Select{At: t.At, Items: []sqlfront.SelectItem{{Expr: &sqlfront.Star{}}}, From: &sqlfront.TableName{Name: t.Name}}
	}
	var r lakeResult
	if sel, is := body.(*sqlfront.Select); is {
		r, ok = b.selectQuery(sel, q.OrderBy, with, outer)
	} else {
		if r, ok = b.body(body, with, outer); ok && len(q.OrderBy) > 0 {
			r, ok = b.ordered(r, q.OrderBy, with)
		}
	}
	if !ok {
		return lakeResult{}, false
	}
	r.sql += limits
	if limited {
		for i := range r.columns {
			r.columns[i].origin = computed
		}
	}
	unique(r.columns)
	return r, true
}

// unique gives columns of one name the names that Flink gives them.
func unique(columns []lakeColumn) {
	seen := map[string]bool{}
	for i := range columns {
		name := columns[i].name
		for n := 0; seen[name]; n++ {
			name = columns[i].name + strconv.Itoa(n)
		}
		seen[name] = true
		columns[i].name = name
	}
}

func (b *lakeBuilder) body(body sqlfront.QueryBody, with ctes, outer *lakeScope) (lakeResult, bool) {
	switch v := body.(type) {
	case *sqlfront.Select, *sqlfront.TableQuery:
		return b.query(&sqlfront.Query{At: body.Pos(), Body: body}, with, outer)
	case *sqlfront.Query:
		return b.query(v, with, outer)
	case *sqlfront.SetOperation:
		return b.setOperation(v, with, outer)
	case *sqlfront.Values:
		return b.values(v, outer)
	default:
		b.s.fail(notYet(body.Pos(), "this query"))
		return lakeResult{}, false
	}
}

// limits gives the text of LIMIT and OFFSET.
func (b *lakeBuilder) limits(q *sqlfront.Query) (text string, limited, ok bool) {
	n := Query{Limit: -1}
	if !b.s.bindLimits(q, &n) {
		return "", false, false
	}
	if n.Limit >= 0 {
		text += " LIMIT " + strconv.FormatInt(n.Limit, 10)
	}
	if n.Offset > 0 {
		text += " OFFSET " + strconv.FormatInt(n.Offset, 10)
	}
	return text, text != "", true
}

// derived gives a result as an item of FROM under a new alias.
func (b *lakeBuilder) derived(r lakeResult, name string) (text string, rel *lakeRelation) {
	a := b.alias()
	rel = &lakeRelation{alias: name, columns: slices.Clone(r.columns)}
	for i := range rel.columns {
		rel.columns[i].sql = a + "." + position(i)
	}
	return "(" + r.sql + ") AS " + a, rel
}

// ordered sorts the result of a set operation or of VALUES.
func (b *lakeBuilder) ordered(r lakeResult, items []sqlfront.OrderItem, with ctes) (lakeResult, bool) {
	text, rel := b.derived(r, "")
	sc := &lakeScope{b: b, with: with, relations: []*lakeRelation{rel}}
	list := make([]string, len(r.columns))
	for i := range rel.columns {
		list[i] = rel.columns[i].sql + " AS " + position(i)
	}
	order, ok := sc.orderBy(items, func(e sqlfront.Expr) (string, bool) { return outputColumn(e, r.columns) })
	return lakeResult{sql: "SELECT " + strings.Join(list, ", ") + " FROM " + text + order, columns: r.columns}, ok
}

// setOperation joins two queries, both brought to common types.
func (b *lakeBuilder) setOperation(v *sqlfront.SetOperation, with ctes, outer *lakeScope) (lakeResult, bool) {
	l, ok := b.body(v.Left, with, outer)
	r, ok2 := b.body(v.Right, with, outer)
	if !ok || !ok2 {
		return lakeResult{}, false
	}
	if len(l.columns) != len(r.columns) {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("%s of %d and %d columns", v.Op, len(l.columns), len(r.columns)), Hint: "select as many columns on both sides"})
		return lakeResult{}, false
	}
	columns := make([]lakeColumn, len(l.columns))
	lists := [2][]expr.Expr{}
	for i := range columns {
		lc, rc := l.columns[i], r.columns[i]
		both := []expr.Expr{expr.NamedColumn(i, lc.name, lc.t), expr.NamedColumn(i, rc.name, rc.t)}
		columns[i] = lakeColumn{name: lc.name, t: lc.t, origin: computed, at: lc.at}
		if !lc.t.EqualIgnoreNull(rc.t) {
			common, err := expr.Call("COALESCE", both...)
			if err != nil {
				b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("column %d of %s is %s on the left and %s on the right", i+1, v.Op, lc.t.AsNullable(), rc.t.AsNullable()), Hint: "CAST one side to the type of the other"})
				return lakeResult{}, false
			}
			both, columns[i].t = expr.Operands(common), common.Type()
		}
		columns[i].t.Nullable = lc.t.Nullable || rc.t.Nullable
		lists[0], lists[1] = append(lists[0], both[0]), append(lists[1], both[1])
	}
	op := v.Op
	if v.All {
		op += " ALL"
	}
	return lakeResult{sql: "(" + b.converted(l, lists[0]) + ") " + op + " (" + b.converted(r, lists[1]) + ")", columns: columns}, true
}

// converted computes exprs over the columns of r; they are those columns mostly.
func (b *lakeBuilder) converted(r lakeResult, exprs []expr.Expr) string {
	same := true
	for i, e := range exprs {
		at, is := expr.IsColumn(e)
		same = same && is && at == i
	}
	if same {
		return r.sql
	}
	text, rel := b.derived(r, "")
	sc := &lakeScope{b: b, relations: []*lakeRelation{rel}}
	list := make([]string, len(exprs))
	for i := range rel.columns {
		sc.leaf(rel.columns[i])
	}
	for i, e := range exprs {
		list[i] = sc.sql(e) + " AS " + position(i)
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + text
}

// values gives rows of constants, or of columns of the query around.
func (b *lakeBuilder) values(v *sqlfront.Values, outer *lakeScope) (lakeResult, bool) {
	sc := &lakeScope{b: b, outer: outer}
	width := len(v.Rows[0])
	byColumn := make([][]expr.Expr, width)
	for _, row := range v.Rows {
		if len(row) != width {
			b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: row[0].Pos(), Msg: fmt.Sprintf("this row has %d values, the first has %d", len(row), width), Hint: "give each row as many values"})
			return lakeResult{}, false
		}
		for i, x := range row {
			e, err := b.s.bindNoticed(x, sc.scope())
			if err != nil {
				b.s.fail(err)
				return lakeResult{}, false
			}
			byColumn[i] = append(byColumn[i], e)
		}
	}
	columns := make([]lakeColumn, width)
	for i, col := range byColumn {
		common, err := expr.Call("COALESCE", col...)
		if err != nil {
			b.s.fail(placed(err, v.Rows[0][i].Pos()))
			return lakeResult{}, false
		}
		t := common.Type()
		byColumn[i] = expr.Operands(common)
		for _, e := range byColumn[i] {
			t.Nullable = t.Nullable || e.Type().Nullable
		}
		columns[i] = lakeColumn{name: fmt.Sprintf("EXPR$%d", i), t: t, origin: computed, at: v.Rows[0][i].Pos()}
	}
	rows, names := make([]string, len(v.Rows)), make([]string, width)
	for r := range v.Rows {
		cells := make([]string, width)
		for i := range cells {
			cells[i] = sc.sql(byColumn[i][r])
			names[i] = position(i)
		}
		rows[r] = "(" + strings.Join(cells, ", ") + ")"
	}
	a := b.alias()
	return lakeResult{sql: "SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS " + a + "(" + strings.Join(names, ", ") + ")", columns: columns}, true
}

// explain writes the tables, the conditions that are left to their scans, and the
// text that DuckDB gets.
func (l *LakeQuery) explain(b *strings.Builder) {
	b.WriteString("== Physical Plan ==\n")
	for i := range l.Tables {
		t := &l.Tables[i]
		name := t.Table
		if t.Rows == nil {
			name = t.Catalog + "." + t.Database + "." + t.Table
		}
		fmt.Fprintf(b, "Scan leat_table_%d: %s\n", i, name)
		for _, k := range slices.Sorted(maps.Keys(t.Options)) {
			fmt.Fprintf(b, "  '%s' = '%s'\n", k, t.Options[k])
		}
		if t.Filter != nil {
			fmt.Fprintf(b, "  where %s\n", expr.String(t.Filter))
		}
	}
	for i, f := range l.Functions {
		fmt.Fprintf(b, "Function leat_function_%d = %s\n", i, expr.String(f.Expr))
	}
	fmt.Fprintf(b, "DuckDB %s\n", l.SQL)
}
