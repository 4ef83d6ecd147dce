package sqlfront

import "strings"

// query writes a query; what is nested in it stands on one line.
func (w *writer) query(q *Query) {
	sep := w.sep
	if sep == "" {
		sep = " "
	}
	w.sep = " "
	w.list(len(q.With), ", ", func(i int) {
		w.putIf(i == 0, "WITH ")
		w.put(QuoteName(q.With[i].Name.Text), " ")
		if q.With[i].Columns != nil {
			w.names(q.With[i].Columns)
			w.put(" ")
		}
		w.put("AS (")
		w.query(q.With[i].Query)
		w.put(")")
	})
	w.putIf(len(q.With) > 0, sep)
	w.body(q.Body, sep)
	if len(q.OrderBy) > 0 {
		w.put(sep)
		w.orderBy(q.OrderBy)
	}
	if q.Limit != nil {
		w.put(sep, "LIMIT ")
		w.expr(q.Limit, 0)
	}
	if q.Offset != nil {
		w.put(sep, "OFFSET ")
		w.expr(q.Offset, 0)
	}
}

func (w *writer) orderBy(items []OrderItem) {
	w.put("ORDER BY ")
	w.list(len(items), ", ", func(i int) {
		w.expr(items[i].Expr, 0)
		w.putIf(items[i].Desc, " DESC")
		if items[i].Nulls != "" {
			w.put(" NULLS ", items[i].Nulls)
		}
	})
}

func (w *writer) body(b QueryBody, sep string) {
	switch b := b.(type) {
	case *Query:
		w.put("(")
		w.query(b)
		w.put(")")
	case *Values:
		w.put("VALUES ")
		w.list(len(b.Rows), ", ", func(i int) {
			w.put("(")
			row := b.Rows[i]
			w.list(len(row), ", ", func(j int) { w.expr(row[j], 0) })
			w.put(")")
		})
	case *TableQuery:
		w.put("TABLE ")
		w.object(b.Name)
	case *SetOperation:
		w.operand(b.Left, setPower(b) > setPower(b.Left), sep)
		w.put(sep, b.Op)
		w.putIf(b.All, " ALL")
		w.put(sep)
		w.operand(b.Right, setPower(b) >= setPower(b.Right), sep)
	case *Select:
		w.selectBody(b, sep)
	}
}

// setPower tells how tight a query body binds.
func setPower(b QueryBody) int {
	if op, ok := b.(*SetOperation); ok {
		if op.Op == "INTERSECT" {
			return 2
		}
		return 1
	}
	return 3
}

func (w *writer) operand(b QueryBody, parens bool, sep string) {
	if parens {
		w.put("(")
		w.body(b, " ")
		w.put(")")
		return
	}
	w.body(b, sep)
}

func (w *writer) selectBody(s *Select, sep string) {
	w.put("SELECT")
	w.hints(s.Hints)
	w.putIf(s.Distinct, " DISTINCT")
	first, between := " ", ", "
	if sep == "\n" && len(s.Items) > 3 {
		first, between = "\n  ", ",\n  "
	}
	w.put(first)
	w.list(len(s.Items), between, func(i int) {
		w.expr(s.Items[i].Expr, 0)
		if a := s.Items[i].Alias.Text; a != "" {
			w.put(" AS ", QuoteName(a))
		}
	})
	if s.From != nil {
		w.put(sep, "FROM ")
		w.tableRef(s.From)
	}
	if s.Where != nil {
		w.put(sep, "WHERE ")
		w.expr(s.Where, 0)
	}
	if s.GroupBy != nil {
		w.groupBy(s.GroupBy, sep)
	}
	if s.Having != nil {
		w.put(sep, "HAVING ")
		w.expr(s.Having, 0)
	}
	w.list(len(s.Windows), ", ", func(i int) {
		w.putIf(i == 0, sep+"WINDOW ")
		w.put(QuoteName(s.Windows[i].Name.Text), " AS ")
		w.windowText(s.Windows[i].Window)
	})
}

func (w *writer) groupBy(list []Expr, sep string) {
	w.put(sep, "GROUP BY ")
	w.putIf(len(list) == 0, "()")
	w.list(len(list), ", ", func(i int) { w.grouping(list[i]) })
}

func (w *writer) alias(a Alias) {
	if a.Name.Text == "" {
		return
	}
	w.put(" AS ", QuoteName(a.Name.Text))
	if a.Columns != nil {
		w.put(" ")
		w.names(a.Columns)
	}
}

func (w *writer) tableRef(ref TableRef) {
	switch t := ref.(type) {
	case *TableName:
		w.object(t.Name)
		w.hints(t.Hints)
		if t.AsOf != nil {
			w.put(" FOR SYSTEM_TIME AS OF ")
			w.expr(t.AsOf, 0)
		}
		w.alias(t.Alias)
	case *Derived:
		w.putIf(t.Lateral, "LATERAL ")
		w.put("(")
		w.query(t.Query)
		w.put(")")
		w.alias(t.Alias)
	case *Unnest:
		w.put("UNNEST(")
		w.expr(t.X, 0)
		w.put(")")
		w.putIf(t.Ordinality, " WITH ORDINALITY")
		w.alias(t.Alias)
	case *UnsupportedTable:
		w.put(t.Text)
	case *Join:
		w.join(t)
	}
}

func (w *writer) join(j *Join) {
	w.tableRef(j.Left)
	w.put(" ")
	w.putIf(j.Natural, "NATURAL ")
	if !j.Natural || j.Kind != "CROSS" {
		w.put(strings.TrimPrefix(j.Kind+" ", "INNER "))
	}
	w.put("JOIN ")
	if _, nested := j.Right.(*Join); nested {
		w.put("(")
		w.tableRef(j.Right)
		w.put(")")
	} else {
		w.tableRef(j.Right)
	}
	if j.On != nil {
		w.put(" ON ")
		w.expr(j.On, 0)
	}
	if j.Using != nil {
		w.put(" USING ")
		w.names(j.Using)
	}
}
