package sqlfront

// Visitor has a function for each family of nodes. A function that gives false
// leaves out what is below its node; a nil function visits all.
type Visitor struct {
	Query func(*Query) bool
	Table func(TableRef) bool
	Expr  func(Expr) bool
}

// Walk visits the queries, tables and expressions of a statement, parents first
// and in the order of the text.
func Walk(st Statement, v Visitor) {
	switch s := st.(type) {
	case *CreateTable:
		for i := range s.Columns {
			WalkExpr(s.Columns[i].Expr, v)
		}
		if s.Watermark != nil {
			WalkExpr(s.Watermark.Expr, v)
		}
		WalkQuery(s.AsQuery, v)
	case *Insert:
		for _, p := range s.Partition {
			WalkExpr(p.Value, v)
		}
		WalkQuery(s.Query, v)
	case *Update:
		for _, a := range s.Set {
			WalkExpr(a.Value, v)
		}
		WalkExpr(s.Where, v)
	case *Delete:
		WalkExpr(s.Where, v)
	case *CreateView:
		WalkQuery(s.Query, v)
	case *AlterView:
		WalkQuery(s.Query, v)
	case *StatementSet:
		for _, inner := range s.Statements {
			Walk(inner, v)
		}
	case *Explain:
		Walk(s.Statement, v)
	case *QueryStatement:
		WalkQuery(s.Query, v)
	case *CallProcedure:
		for _, a := range s.Args {
			WalkExpr(a.Value, v)
		}
	case *Show:
		for _, p := range s.Partition {
			WalkExpr(p.Value, v)
		}
	}
}

// WalkQuery visits q, which may be nil, and what is in it.
func WalkQuery(q *Query, v Visitor) {
	if q == nil || v.Query != nil && !v.Query(q) {
		return
	}
	for _, c := range q.With {
		WalkQuery(c.Query, v)
	}
	walkBody(q.Body, v)
	walkOrder(q.OrderBy, v)
	WalkExpr(q.Limit, v)
	WalkExpr(q.Offset, v)
}

func walkBody(b QueryBody, v Visitor) {
	switch b := b.(type) {
	case *Query:
		WalkQuery(b, v)
	case *Values:
		for _, row := range b.Rows {
			walkExprs(row, v)
		}
	case *SetOperation:
		walkBody(b.Left, v)
		walkBody(b.Right, v)
	case *Select:
		for _, item := range b.Items {
			WalkExpr(item.Expr, v)
		}
		WalkTable(b.From, v)
		WalkExpr(b.Where, v)
		walkExprs(b.GroupBy, v)
		WalkExpr(b.Having, v)
		for _, w := range b.Windows {
			walkWindow(w.Window, v)
		}
	}
}

func walkOrder(items []OrderItem, v Visitor) {
	for _, item := range items {
		WalkExpr(item.Expr, v)
	}
}

func walkExprs(list []Expr, v Visitor) {
	for _, x := range list {
		WalkExpr(x, v)
	}
}

// WalkTable visits a table reference, which may be nil, and what is in it.
func WalkTable(ref TableRef, v Visitor) {
	if ref == nil || v.Table != nil && !v.Table(ref) {
		return
	}
	switch t := ref.(type) {
	case *TableName:
		WalkExpr(t.AsOf, v)
	case *Join:
		WalkTable(t.Left, v)
		WalkTable(t.Right, v)
		WalkExpr(t.On, v)
	case *Derived:
		WalkQuery(t.Query, v)
	case *Unnest:
		WalkExpr(t.X, v)
	case *UnsupportedTable:
		WalkTable(t.Input, v)
	}
}

// WalkExpr visits an expression, which may be nil, and what is in it.
func WalkExpr(x Expr, v Visitor) {
	if x == nil || v.Expr != nil && !v.Expr(x) {
		return
	}
	switch x := x.(type) {
	case *Unary:
		WalkExpr(x.X, v)
	case *Binary:
		WalkExpr(x.L, v)
		WalkExpr(x.R, v)
	case *Between:
		walkExprs([]Expr{x.X, x.Low, x.High}, v)
	case *In:
		WalkExpr(x.X, v)
		walkExprs(x.List, v)
		WalkQuery(x.Query, v)
	case *LikeExpr:
		walkExprs([]Expr{x.X, x.Pattern, x.Escape}, v)
	case *Case:
		WalkExpr(x.Operand, v)
		for _, b := range x.Whens {
			walkExprs([]Expr{b.Cond, b.Then}, v)
		}
		WalkExpr(x.Else, v)
	case *Cast:
		WalkExpr(x.X, v)
	case *Call:
		walkExprs(x.Args, v)
		WalkExpr(x.Filter, v)
		walkWindow(x.Over, v)
	case *RowExpr:
		walkExprs(x.Items, v)
	case *Collection:
		walkExprs(x.Items, v)
	case *GroupingSets:
		walkExprs(x.Items, v)
	case *Element:
		walkExprs([]Expr{x.X, x.Index}, v)
	case *FieldRef:
		WalkExpr(x.X, v)
	case *JSONCall:
		walkExprs([]Expr{x.X, x.Path, x.OnEmpty.Default, x.OnError.Default}, v)
	case *Overlaps:
		walkExprs([]Expr{x.L, x.R}, v)
	case *Quantified:
		WalkExpr(x.X, v)
		WalkQuery(x.Query, v)
	case *Subquery:
		WalkQuery(x.Query, v)
	}
}

func walkWindow(w *Window, v Visitor) {
	if w != nil {
		walkExprs(w.PartitionBy, v)
		walkOrder(w.OrderBy, v)
	}
}
