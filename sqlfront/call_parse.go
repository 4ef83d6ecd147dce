package sqlfront

import "strings"

// bareCalls are functions that are written without parentheses.
var bareCalls = wordSet("CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER SESSION_USER SYSTEM_USER CURRENT_CATALOG")

// nameOrCall reads a column name or a function call.
func (p *parser) nameOrCall() Expr {
	start := p.i
	first := p.peek()
	p.i++
	parts := []Name{{Text: first.text, At: p.posOf(first)}}
	for p.isOp(".") && !p.peekAt(1).is("*") {
		p.i++
		parts = append(parts, p.columnName("a name behind the dot"))
	}
	if p.failed {
		return &Literal{}
	}
	if p.isOp("(") {
		c := &Call{Name: ObjectName{Parts: parts, At: p.since(start)}}
		if len(parts) == 1 {
			c.Func = strings.ToUpper(parts[0].Text)
		}
		return p.callArguments(c, start, first.kind == tokWord)
	}
	if len(parts) == 1 && first.kind == tokWord {
		if bareCalls[first.up] {
			return &Call{Node: p.node(start), Name: ObjectName{Parts: parts, At: p.since(start)}, Func: first.up, Bare: true}
		}
		p.reservedNotice(first)
	}
	return &Ident{Node: p.node(start), Parts: parts}
}

// callArguments reads a call from its opening parenthesis on. special says that
// the name is a bare word, so that it may have a syntax of its own.
func (p *parser) callArguments(c *Call, start int, special bool) Expr {
	p.i++
	if special {
		switch c.Func {
		case "JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_ARRAY", "JSON_OBJECTAGG", "JSON_ARRAYAGG":
			if x := p.jsonCall(c, start); x != nil {
				return x
			}
		case "TUMBLE", "HOP", "SESSION", "TUMBLE_START", "TUMBLE_END":
			return p.skipCall("the window function "+c.Func, start)
		}
	}
	switch {
	case p.isOp(")"):
	case p.acceptOp("*"):
		c.Args = []Expr{&Star{Node: Node{At: p.tokenPos(p.i - 1)}}}
	case special && p.specialArguments(c):
	default:
		if p.accept("DISTINCT") {
			c.Distinct = true
		} else {
			p.accept("ALL")
		}
		c.Args = p.exprList()
	}
	p.expectOp(")")
	if p.is("WITHIN", "GROUP") {
		p.i += 2
		p.skipParens()
		return p.unsupportedExpr("WITHIN GROUP", start)
	}
	if p.is("FILTER") && p.peekAt(1).is("(") {
		p.i += 2
		p.expect("WHERE")
		c.Filter = p.expr()
		p.expectOp(")")
	}
	if p.accept("OVER") {
		c.Over = p.window()
	}
	c.Node = p.node(start)
	return c
}

// skipCall steps over the rest of a call, whose opening parenthesis is read.
func (p *parser) skipCall(what string, start int) Expr {
	p.i--
	p.skipParens()
	return p.unsupportedExpr(what, start)
}

// specialArguments reads the arguments of functions with words between them and
// reports whether c is such a call. See Call.
func (p *parser) specialArguments(c *Call) bool {
	switch c.Func {
	case "TRIM":
		return p.trimArguments(c)
	case "EXTRACT":
		c.Args = []Expr{p.symbol("a unit such as DAY")}
		p.expect("FROM")
		c.Args = append(c.Args, p.expr())
	case "POSITION":
		c.Args = []Expr{p.exprAbove(bpRange)}
		p.expect("IN")
		c.Args = append(c.Args, p.expr())
	case "OVERLAY", "SUBSTRING":
		c.Args = []Expr{p.expr()}
		if p.isOp(",") {
			p.i++
			c.Args = append(c.Args, p.exprList()...)
			return true
		}
		if c.Func == "OVERLAY" {
			p.expect("PLACING")
			c.Args = append(c.Args, p.expr())
		}
		p.expect("FROM")
		c.Args = append(c.Args, p.expr())
		if p.accept("FOR") {
			c.Args = append(c.Args, p.expr())
		}
	case "CEIL", "CEILING", "FLOOR":
		c.Args = []Expr{p.expr()}
		if p.accept("TO") {
			c.Args = append(c.Args, p.symbol("a unit such as HOUR"))
		}
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		c.Args = []Expr{p.symbol("a unit such as DAY")}
		for p.acceptOp(",") {
			c.Args = append(c.Args, p.expr())
		}
	default:
		return false
	}
	return true
}

func (p *parser) trimArguments(c *Call) bool {
	t := p.peek()
	if t.up != "BOTH" && t.up != "LEADING" && t.up != "TRAILING" {
		x := p.expr()
		if p.accept("FROM") {
			c.Args = []Expr{&Symbol{Node: Node{At: c.Name.At}, Text: "BOTH"}, x, p.expr()}
			return true
		}
		c.Args = []Expr{x}
		return true
	}
	side := p.symbol("BOTH, LEADING or TRAILING")
	var chars Expr = &Literal{Node: Node{At: side.Pos()}, Kind: LitString, Text: " "}
	if !p.is("FROM") {
		chars = p.expr()
	}
	p.expect("FROM")
	c.Args = []Expr{side, chars, p.expr()}
	return true
}

func (p *parser) symbol(what string) Expr {
	t := p.peek()
	if t.kind != tokWord {
		p.unexpected(what)
		return &Literal{}
	}
	p.i++
	return &Symbol{Node: Node{At: p.posOf(t)}, Text: t.up}
}

// window reads the window behind OVER.
func (p *parser) window() *Window {
	w := &Window{At: p.tokenPos(p.i)}
	if !p.isOp("(") {
		w.Base = p.name("the name of a window, or a window in parentheses")
		return w
	}
	p.i++
	if t := p.peek(); (t.kind == tokQuoted || t.kind == tokWord) && !p.is("PARTITION") && !p.is("ORDER") && !p.is("ROWS") && !p.is("RANGE") {
		w.Base = p.name("the name of a window")
	}
	if p.accept("PARTITION", "BY") {
		w.PartitionBy = p.exprList()
	}
	if p.is("ORDER", "BY") {
		w.OrderBy = p.orderBy()
	}
	if p.is("ROWS") || p.is("RANGE") {
		start := p.i
		for t := p.peek(); !t.is(")") && !t.is("(") && !t.is(";") && t.kind != tokEOF; t = p.peek() {
			p.i++
		}
		w.Frame = p.text(start)
	}
	p.expectOp(")")
	return w
}
