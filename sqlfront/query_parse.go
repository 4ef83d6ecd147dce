package sqlfront

// query reads [WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …] [FETCH …].
func (p *parser) query() *Query {
	q := &Query{At: p.tokenPos(p.i), Body: &Values{}}
	if !p.enter() {
		return q
	}
	defer p.leave()
	if p.accept("WITH") {
		if p.is("RECURSIVE") {
			p.refuse(p.tokenPos(p.i), "WITH RECURSIVE", "")
		}
		for !p.failed {
			c := CTE{Name: p.name("the name of a query")}
			if p.isOp("(") {
				c.Columns = p.nameList("a column name")
			}
			p.expect("AS")
			p.expectOp("(")
			c.Query = p.query()
			p.expectOp(")")
			q.With = append(q.With, c)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	q.Body = p.queryBody()
	if p.is("ORDER", "BY") {
		q.OrderBy = p.orderBy()
	}
	p.limits(q)
	return q
}

func (p *parser) orderBy() []OrderItem {
	p.i += 2
	var list []OrderItem
	for {
		item := OrderItem{Expr: p.expr()}
		if !p.accept("ASC") {
			item.Desc = p.accept("DESC")
		}
		if p.accept("NULLS") {
			t := p.next()
			if t.up != "FIRST" && t.up != "LAST" {
				p.back(t)
				p.unexpected("FIRST or LAST")
			}
			item.Nulls = t.up
		}
		list = append(list, item)
		if !p.acceptOp(",") {
			return list
		}
	}
}

func (p *parser) limits(q *Query) {
	for !p.failed {
		switch {
		case p.accept("LIMIT", "ALL"):
		case p.accept("LIMIT"):
			q.Limit = p.expr()
			if p.acceptOp(",") { // LIMIT offset, count
				q.Offset, q.Limit = q.Limit, p.expr()
			}
		case p.accept("OFFSET"):
			q.Offset = p.expr()
			_ = p.accept("ROW") || p.accept("ROWS")
		case p.accept("FETCH"):
			_ = p.accept("FIRST") || p.accept("NEXT")
			if p.is("ROW", "ONLY") || p.is("ROWS", "ONLY") {
				q.Limit = &Literal{Node: Node{At: p.tokenPos(p.i)}, Kind: LitInt, Text: "1", Int: 1}
			} else {
				q.Limit = p.expr()
			}
			_ = p.accept("ROW") || p.accept("ROWS")
			p.expect("ONLY")
		default:
			return
		}
	}
}

// queryBody reads UNION and EXCEPT, which bind looser than INTERSECT.
func (p *parser) queryBody() QueryBody {
	left := p.intersection()
	for !p.failed && (p.is("UNION") || p.is("EXCEPT") || p.is("MINUS")) {
		p.link()
		t := p.next()
		op := &SetOperation{At: p.posOf(t), Op: t.up, Left: left}
		if t.up == "MINUS" {
			op.Op = "EXCEPT"
			p.notice(op.At, "write EXCEPT instead of MINUS")
		}
		p.setQuantifier(op)
		op.Right = p.intersection()
		left = op
	}
	return left
}

func (p *parser) intersection() QueryBody {
	left := p.queryTerm()
	for !p.failed && p.is("INTERSECT") {
		p.link()
		op := &SetOperation{At: p.tokenPos(p.i), Op: "INTERSECT", Left: left}
		p.i++
		p.setQuantifier(op)
		op.Right = p.queryTerm()
		left = op
	}
	return left
}

func (p *parser) setQuantifier(op *SetOperation) {
	if op.All = p.accept("ALL"); !op.All {
		p.accept("DISTINCT")
	}
}

func (p *parser) queryTerm() QueryBody {
	t := p.peek()
	switch {
	case p.is("SELECT"):
		return p.selectBody()
	case p.is("VALUES"):
		return p.values()
	case p.is("TABLE") && !p.peekAt(1).is("("):
		p.i++
		return &TableQuery{At: p.posOf(t), Name: p.objectName("the name of a table")}
	case t.is("("):
		p.i++
		q := p.query()
		p.expectOp(")")
		if q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
			return q.Body
		}
		return q
	}
	p.unexpected("SELECT or VALUES")
	return &Values{}
}

func (p *parser) values() QueryBody {
	v := &Values{At: p.tokenPos(p.i)}
	p.i++
	for !p.failed {
		x := p.expr()
		if row, ok := x.(*RowExpr); ok {
			v.Rows = append(v.Rows, row.Items)
		} else {
			v.Rows = append(v.Rows, []Expr{x})
		}
		if !p.acceptOp(",") {
			break
		}
	}
	return v
}

func (p *parser) selectBody() QueryBody {
	s := &Select{At: p.tokenPos(p.i)}
	p.i++
	s.Hints = p.hints()
	if s.Distinct = p.accept("DISTINCT"); !s.Distinct {
		p.accept("ALL")
	}
	for !p.failed {
		s.Items = append(s.Items, p.selectItem())
		comma := p.peek()
		if !p.acceptOp(",") {
			break
		}
		if p.is("FROM") {
			p.fail(p.posOf(comma), "a comma stands before FROM", "remove the comma")
		}
	}
	if p.accept("FROM") {
		s.From = p.tableRefs()
	}
	if p.accept("WHERE") {
		s.Where = p.expr()
	}
	if p.is("GROUP") {
		p.groupBy(s)
	}
	if p.accept("HAVING") {
		s.Having = p.expr()
	}
	if p.is("WINDOW") {
		p.windows(s)
	}
	if t := p.peek(); t.kind == tokWord && t.up == "QUALIFY" {
		p.refuse(p.posOf(t), t.up, "write the window function in a subquery and filter outside of it")
	}
	return s
}

// windows reads WINDOW name AS (…), ….
func (p *parser) windows(s *Select) {
	p.i++
	for !p.failed {
		w := NamedWindow{Name: p.name("the name of a window")}
		p.expect("AS")
		w.Window = p.window()
		s.Windows = append(s.Windows, w)
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) groupBy(s *Select) {
	p.expect("GROUP", "BY")
	if t := p.peek(); t.up == "ALL" && t.kind == tokWord {
		start := p.i
		p.i++
		s.GroupBy = []Expr{&UnsupportedExpr{Node: p.node(start), What: "GROUP BY ALL", Text: p.text(start), Hint: "write the expressions"}}
		return
	}
	if p.isOp("(") && p.peekAt(1).is(")") && !p.peekAt(2).is(",") {
		p.i += 2
		s.GroupBy = []Expr{}
		return
	}
	s.GroupBy = p.groupingItems()
}

// groupingItems reads what stands in GROUP BY and in GROUPING SETS.
func (p *parser) groupingItems() []Expr {
	var list []Expr
	for !p.failed {
		list = append(list, p.groupingItem())
		if !p.acceptOp(",") {
			break
		}
	}
	return list
}

func (p *parser) groupingItem() Expr {
	if !p.enter() {
		return &Literal{}
	}
	defer p.leave()
	start := p.i
	t := p.peek()
	g := &GroupingSets{Word: t.up}
	switch {
	case t.is("(") && p.peekAt(1).is(")"):
		p.i += 2
		return &RowExpr{Node: p.node(start)}
	case t.kind != tokWord:
		return p.expr()
	case (t.up == "ROLLUP" || t.up == "CUBE") && p.peekAt(1).is("("):
		p.i++
	case p.accept("GROUPING", "SETS"):
		g.Word = "GROUPING SETS"
	default:
		return p.expr()
	}
	p.expectOp("(")
	g.Items = p.groupingItems()
	p.expectOp(")")
	g.Node = p.node(start)
	return g
}

// selectItem reads *, t.*, or an expression with its alias.
func (p *parser) selectItem() SelectItem {
	start := p.i
	if p.acceptOp("*") {
		return SelectItem{Expr: p.star(start, nil)}
	}
	var parts []Name
	for n := 0; p.peekAt(n).kind == tokWord || p.peekAt(n).kind == tokQuoted; n += 2 {
		t := p.peekAt(n)
		parts = append(parts, Name{Text: t.text, At: p.posOf(t)})
		if !p.peekAt(n + 1).is(".") {
			break
		}
		if p.peekAt(n + 2).is("*") {
			p.i += n + 3
			return SelectItem{Expr: p.star(start, parts)}
		}
	}
	item := SelectItem{Expr: p.expr()}
	switch t := p.peek(); {
	case p.accept("AS"):
		item.Alias = p.name("a name behind AS")
	case p.isBareAlias():
		item.Alias = p.name("a name")
	case t.kind == tokString && !p.failed:
		p.fail(p.posOf(t), "an alias is no string", "write AS `"+t.text+"`")
	}
	return item
}

func (p *parser) star(start int, qualifier []Name) Expr {
	s := &Star{Node: p.node(start), Qualifier: qualifier}
	if t := p.peek(); t.kind == tokWord && (t.up == "EXCEPT" || t.up == "EXCLUDE" || t.up == "REPLACE") && p.peekAt(1).is("(") && !p.startsQuery(2) {
		p.refuse(p.posOf(t), "* "+t.up, "list the columns")
	}
	return s
}
