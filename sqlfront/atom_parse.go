package sqlfront

// atom reads what needs no operator.
func (p *parser) atom() Expr {
	start := p.i
	t := p.peek()
	switch t.kind {
	case tokNumber:
		p.i++
		return p.numberLiteral(t)
	case tokString:
		return p.stringLiteral()
	case tokBinary:
		p.i++
		return &Literal{Node: p.node(start), Kind: LitBinary, Bytes: []byte(t.text)}
	case tokQuoted:
		return p.nameOrCall()
	case tokWord:
		return p.wordAtom(t)
	case tokOp:
		if t.is("(") {
			return p.parens()
		}
	default:
	}
	p.unexpected("an expression")
	return &Literal{}
}

// parens reads (x), (x, y) and (query).
func (p *parser) parens() Expr {
	start := p.i
	p.i++
	if p.startsQuery(0) {
		q := p.query()
		p.expectOp(")")
		return &Subquery{Node: p.node(start), Query: q}
	}
	list := p.exprList()
	p.expectOp(")")
	if len(list) == 1 {
		return list[0]
	}
	return p.overlaps(&RowExpr{Node: p.node(start), Items: list}, start)
}

// overlaps reads the operators between rows that leat does not evaluate.
func (p *parser) overlaps(row Expr, start int) Expr {
	switch t := p.peek(); t.up {
	case "OVERLAPS", "PRECEDES", "SUCCEEDS", "CONTAINS":
		p.i++
		o := &Overlaps{Op: t.up, L: row, R: p.exprAbove(bpRange)}
		o.Node = p.node(start)
		return o
	}
	return row
}

// wordAtom reads an atom that starts with a bare word.
func (p *parser) wordAtom(t token) Expr {
	start := p.i
	next := p.peekAt(1)
	switch t.up {
	case "NULL", "TRUE", "FALSE", "UNKNOWN":
		p.i++
		l := &Literal{Node: p.node(start)}
		if t.up == "TRUE" || t.up == "FALSE" {
			l.Kind, l.Bool = LitBool, t.up == "TRUE"
		}
		l.Unknown = t.up == "UNKNOWN"
		return l
	case "CASE":
		return p.caseExpr()
	case "CAST", "TRY_CAST":
		if next.is("(") {
			return p.castExpr()
		}
	case "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		if next.kind == tokString || p.is("TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE") {
			return p.timeLiteral()
		}
	case "INTERVAL":
		if next.kind == tokString || next.kind == tokNumber || next.is("-") || next.is("+") {
			return p.intervalLiteral()
		}
	case "EXISTS":
		p.i++
		p.expectOp("(")
		q := p.query()
		p.expectOp(")")
		return &Subquery{Node: p.node(start), Query: q, Exists: true}
	case "ROW":
		if next.is("(") {
			return p.rowConstructor()
		}
	case "ARRAY", "MAP":
		if next.is("[") || next.is("(") {
			return p.collection(t)
		}
	case "LEFT", "RIGHT": // also functions
		if next.is("(") {
			return p.nameOrCall()
		}
	}
	if grammarWord[t.up] {
		p.unexpected("an expression or a column name")
		return &Literal{}
	}
	return p.nameOrCall()
}

func (p *parser) rowConstructor() Expr {
	start := p.i
	p.i += 2
	row := &RowExpr{}
	if !p.isOp(")") {
		row.Items = p.exprList()
	}
	p.expectOp(")")
	row.Node = p.node(start)
	return p.overlaps(row, start)
}

// collection reads ARRAY[…], MAP[…] and their forms with a query.
func (p *parser) collection(t token) Expr {
	start := p.i
	p.i++
	if p.isOp("(") {
		p.skipParens()
		return p.unsupportedExpr(t.up+" of a query", start)
	}
	p.i++
	c := &Collection{Word: t.up}
	if p.isOp("]") {
		p.fail(p.tokenPos(p.i), t.up+"[] has no type", "write at least one value, or CAST(NULL AS "+map[string]string{"ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, INT>"}[t.up]+")")
		return c
	}
	c.Items = p.exprList()
	p.expectOp("]")
	c.Node = p.node(start)
	return c
}

func (p *parser) caseExpr() Expr {
	start := p.i
	p.i++
	c := &Case{}
	if !p.is("WHEN") {
		c.Operand = p.expr()
	}
	for p.accept("WHEN") {
		conds := []Expr{p.expr()}
		for c.Operand != nil && p.acceptOp(",") { // WHEN 1, 2 THEN
			conds = append(conds, p.expr())
		}
		p.expect("THEN")
		then := p.expr()
		for _, cond := range conds {
			c.Whens = append(c.Whens, When{Cond: cond, Then: then})
		}
	}
	if len(c.Whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	p.expect("END")
	c.Node = p.node(start)
	return c
}

func (p *parser) castExpr() Expr {
	start := p.i
	c := &Cast{Try: p.next().up == "TRY_CAST"}
	p.expectOp("(")
	c.X = p.expr()
	p.expect("AS")
	typeStart := p.i
	c.Type = p.dataType()
	if p.failed {
		return c
	}
	c.TypePos = p.since(typeStart)
	if !c.Type.Nullable {
		p.soft(c.TypePos, "the target of CAST takes no NOT NULL", "remove NOT NULL")
		c.Type.Nullable = true
	}
	if t := p.peek(); t.up == "FORMAT" {
		p.refuse(p.posOf(t), "CAST … FORMAT", "write DATE_FORMAT, TO_DATE or TO_TIMESTAMP")
	}
	p.expectOp(")")
	c.Node = p.node(start)
	return c
}
