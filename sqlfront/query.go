package sqlfront

import "leat/internal/diag"

// Query is a query with its ordering and limits.
type Query struct {
	At      diag.Pos
	With    []CTE
	Body    QueryBody
	OrderBy []OrderItem
	// Limit and Offset are nil if not given; LIMIT ALL gives nil.
	Limit  Expr
	Offset Expr
}

// CTE is one query of WITH.
type CTE struct {
	Name    Name
	Columns []Name
	Query   *Query
}

// OrderItem is one item of ORDER BY.
type OrderItem struct {
	Expr Expr
	Desc bool
	// Nulls is "", "FIRST" or "LAST".
	Nulls string
}

// QueryBody is *Select, *Values, *SetOperation, *TableQuery or *Query (in parentheses).
type QueryBody interface {
	Pos() diag.Pos
	body()
}

// Select is SELECT … FROM ….
type Select struct {
	At       diag.Pos
	Hints    []Hint
	Distinct bool
	Items    []SelectItem
	// From is nil without FROM.
	From  TableRef
	Where Expr
	// GroupBy holds the grouping expressions; nil without GROUP BY.
	GroupBy []Expr
	Having  Expr
	Windows []NamedWindow
}

// NamedWindow is one window of WINDOW name AS (…).
type NamedWindow struct {
	Name   Name
	Window *Window
}

// GroupingSets is ROLLUP (…), CUBE (…) or GROUPING SETS (…) in GROUP BY. It is an
// expression there alone.
type GroupingSets struct {
	Node
	// Word is "ROLLUP", "CUBE" or "GROUPING SETS".
	Word string
	// Items are expressions; a *RowExpr is several that go together, one without items
	// the group of all rows. Those of GROUPING SETS may be GroupingSets again.
	Items []Expr
}

// SelectItem is one item of a select list; a star is a *Star.
type SelectItem struct {
	Expr Expr
	// Alias is the zero Name without one.
	Alias Name
}

// Values is VALUES rows; each row has at least one value.
type Values struct {
	At   diag.Pos
	Rows [][]Expr
}

// SetOperation is UNION, EXCEPT or INTERSECT.
type SetOperation struct {
	At    diag.Pos // the operator
	Op    string   // "UNION", "EXCEPT" or "INTERSECT"
	All   bool
	Left  QueryBody
	Right QueryBody
}

// TableQuery is TABLE name.
type TableQuery struct {
	At   diag.Pos
	Name ObjectName
}

// Pos is the first word of the query.
func (q *Query) Pos() diag.Pos { return q.At }

// Pos is the word SELECT.
func (s *Select) Pos() diag.Pos { return s.At }

// Pos is the word VALUES.
func (v *Values) Pos() diag.Pos { return v.At }

// Pos is the operator.
func (s *SetOperation) Pos() diag.Pos { return s.At }

// Pos is the word TABLE.
func (t *TableQuery) Pos() diag.Pos { return t.At }

func (*Query) body()        {}
func (*Select) body()       {}
func (*Values) body()       {}
func (*SetOperation) body() {}
func (*TableQuery) body()   {}

// TableRef is *TableName, *Join, *Derived or *UnsupportedTable.
type TableRef interface {
	Pos() diag.Pos
	tableRef()
}

// Alias is [AS] name [(columns)]; the zero Alias is none.
type Alias struct {
	Name    Name
	Columns []Name
}

// TableName is a table with its hints, its time travel and its alias.
type TableName struct {
	Name  ObjectName
	Hints []Hint
	// AsOf is the expression of FOR SYSTEM_TIME AS OF, nil without it.
	AsOf  Expr
	Alias Alias
}

// Join is a join of two table references; a comma is a CROSS join.
type Join struct {
	At diag.Pos // the first word of the join, or the comma
	// Kind is "INNER", "LEFT", "RIGHT", "FULL" or "CROSS".
	Kind    string
	Natural bool
	Left    TableRef
	Right   TableRef
	On      Expr
	Using   []Name
}

// Derived is a query in FROM.
type Derived struct {
	At      diag.Pos
	Lateral bool
	Query   *Query
	Alias   Alias
}

// Unnest is UNNEST(x) [WITH ORDINALITY] in FROM, which sees the tables before it.
type Unnest struct {
	At         diag.Pos
	X          Expr
	Ordinality bool
	Alias      Alias
}

// UnsupportedTable is a table reference that leat does not run, such as
// TABLE(TUMBLE(…)) or MATCH_RECOGNIZE.
type UnsupportedTable struct {
	At    diag.Pos
	What  string
	Text  string // source text, alias included
	Input TableRef
}

// Error gives the refusal of the table reference.
func (u *UnsupportedTable) Error() *diag.Error { return unsupported(u.At, u.What, "") }

// Pos is the name of the table.
func (t *TableName) Pos() diag.Pos { return t.Name.At }

// Pos is the first word of the join.
func (j *Join) Pos() diag.Pos { return j.At }

// Pos is the opening parenthesis or LATERAL.
func (d *Derived) Pos() diag.Pos { return d.At }

// Pos is the word UNNEST.
func (u *Unnest) Pos() diag.Pos { return u.At }

// Pos is its first word.
func (u *UnsupportedTable) Pos() diag.Pos { return u.At }

func (*TableName) tableRef()        {}
func (*Join) tableRef()             {}
func (*Derived) tableRef()          {}
func (*Unnest) tableRef()           {}
func (*UnsupportedTable) tableRef() {}
