package sqlfront

// tableRefs reads the tables of FROM with their joins.
func (p *parser) tableRefs() TableRef {
	left := p.tableRef()
	for ; !p.failed; p.link() {
		start := p.i
		j := &Join{Left: left, Kind: "CROSS"}
		switch {
		case p.acceptOp(","):
			j.At = p.since(start)
			j.Right = p.tableRef()
			left = j
			continue
		case p.accept("CROSS", "JOIN"):
		case !p.joinKind(j):
			return left
		}
		j.At = p.since(start)
		j.Right = p.tableRef()
		switch {
		case j.Kind == "CROSS" || j.Natural:
		case p.accept("ON"):
			j.On = p.expr()
		case p.accept("USING"):
			j.Using = p.nameList("a column name")
		default:
			p.unexpected("ON with the condition of the join")
		}
		left = j
	}
	return left
}

// joinKind reads [NATURAL] [INNER | LEFT | RIGHT | FULL [OUTER]] JOIN and reports
// whether there is a join.
func (p *parser) joinKind(j *Join) bool {
	j.Natural = p.accept("NATURAL")
	switch t := p.peek(); {
	case p.accept("JOIN"):
		j.Kind = "INNER"
		return true
	case t.kind == tokWord && (t.up == "INNER" || t.up == "LEFT" || t.up == "RIGHT" || t.up == "FULL"):
		j.Kind = t.up
		p.i++
		p.accept("OUTER")
	case j.Natural:
	default:
		return false
	}
	p.expect("JOIN")
	return true
}

func (p *parser) tableRef() TableRef {
	if !p.enter() {
		return &UnsupportedTable{}
	}
	defer p.leave()
	start := p.i
	t := p.peek()
	switch {
	case t.is("("):
		if p.startsNestedQuery() {
			return p.derived(start, false)
		}
		p.i++
		inner := p.tableRefs()
		p.expectOp(")")
		return inner
	case p.is("LATERAL") && p.peekAt(1).is("("):
		p.i++
		return p.derived(start, true)
	case p.is("LATERAL", "UNNEST"):
		p.i++
		return p.unnest(start)
	case p.is("LATERAL", "TABLE"):
		p.i += 2
		return p.tableFunction("LATERAL TABLE(…)", start)
	case p.is("TABLE") && p.peekAt(1).is("("):
		p.i++
		return p.tableFunction("TABLE(…)", start)
	case p.is("UNNEST") && p.peekAt(1).is("("):
		return p.unnest(start)
	case p.is("TABLE"):
		p.i++
	}
	return p.tableName(start)
}

// startsNestedQuery reports whether the parentheses here hold a query.
func (p *parser) startsNestedQuery() bool {
	n := 0
	for p.peekAt(n).is("(") {
		n++
	}
	return p.startsQuery(n)
}

func (p *parser) derived(start int, lateral bool) TableRef {
	d := &Derived{At: p.tokenPos(start), Lateral: lateral}
	p.expectOp("(")
	d.Query = p.query()
	p.expectOp(")")
	d.Alias = p.alias()
	p.hintMisplaced()
	return d
}

func (p *parser) unnest(start int) TableRef {
	p.i++
	p.expectOp("(")
	u := &Unnest{X: p.expr()}
	p.expectOp(")")
	u.At = p.since(start)
	u.Ordinality = p.accept("WITH", "ORDINALITY")
	u.Alias = p.alias()
	p.hintMisplaced()
	return u
}

func (p *parser) tableFunction(what string, start int) TableRef {
	p.skipParens()
	at := p.since(start)
	if p.accept("WITH", "ORDINALITY") {
		what += " WITH ORDINALITY"
	}
	p.alias()
	return &UnsupportedTable{At: at, What: what, Text: p.text(start)}
}

func (p *parser) tableName(start int) TableRef {
	t := &TableName{Name: p.objectName("the name of a table")}
	if p.isOp("(") && !p.failed {
		return p.tableFunction("the table function "+t.Name.String(), start)
	}
	t.Hints = p.hints()
	if p.accept("FOR", "SYSTEM_TIME") {
		p.expect("AS", "OF")
		t.AsOf = p.expr()
		t.Hints = append(t.Hints, p.hints()...)
	}
	t.Alias = p.alias()
	p.hintMisplaced()
	switch w := p.peek(); {
	case w.kind == tokWord && (w.up == "MATCH_RECOGNIZE" || w.up == "PIVOT" || w.up == "UNPIVOT") && p.peekAt(1).is("("):
		p.i++
		u := p.tableFunction(w.up, start)
		u.(*UnsupportedTable).Input = t
		return u
	case p.is("TABLESAMPLE"):
		p.i += 2
		u := p.tableFunction("TABLESAMPLE", start)
		u.(*UnsupportedTable).Input = t
		return u
	}
	return t
}

func (p *parser) hintMisplaced() {
	if t := p.peek(); t.kind == tokHintOpen {
		p.fail(p.posOf(t), "a hint stands directly behind the name of a table, before its alias", "move the hint")
	}
}
