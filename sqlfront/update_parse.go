package sqlfront

// update reads UPDATE table SET column = value, … [WHERE condition].
func (p *parser) update() Statement {
	p.i++
	u := &Update{Target: p.objectName("the name of a table"), Hints: p.hints()}
	u.Alias = p.targetAlias()
	p.expect("SET")
	for !p.failed {
		a := Assignment{Column: p.objectName("a column name")}
		p.expectOp("=")
		a.Value = p.expr()
		u.Set = append(u.Set, a)
		if !p.acceptOp(",") {
			break
		}
	}
	u.Where = p.condition("UPDATE")
	return u
}

// delete reads DELETE FROM table [WHERE condition].
func (p *parser) delete() Statement {
	p.i++
	if !p.is("FROM") {
		p.unexpected("FROM")
	}
	p.i++
	d := &Delete{Target: p.objectName("the name of a table"), Hints: p.hints()}
	d.Alias = p.targetAlias()
	d.Where = p.condition("DELETE")
	return d
}

func (p *parser) targetAlias() Name {
	a := p.alias()
	if len(a.Columns) > 0 {
		p.fail(a.Columns[0].At, "the columns of this table cannot be renamed", "use their own names")
	}
	return a.Name
}

// condition reads [WHERE condition] and refuses what MySQL has behind it.
func (p *parser) condition(statement string) Expr {
	var where Expr
	if p.accept("WHERE") {
		where = p.expr()
	}
	for _, word := range []string{"FROM", "USING", "ORDER", "LIMIT", "JOIN"} {
		if t := p.peek(); p.is(word) {
			p.refuse(p.posOf(t), statement+" … "+word, "say with WHERE which rows are meant")
		}
	}
	return where
}
