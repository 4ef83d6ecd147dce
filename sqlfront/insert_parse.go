package sqlfront

// insert reads INSERT INTO and INSERT OVERWRITE.
func (p *parser) insert() Statement {
	p.i++
	in := &Insert{}
	switch {
	case p.accept("INTO"):
	case p.accept("OVERWRITE"):
		in.Overwrite = true
		if p.is("INTO") {
			p.fail(p.tokenPos(p.i), "INSERT OVERWRITE takes no INTO", "write INSERT OVERWRITE table")
		}
	default:
		if t := p.peek(); t.up == "IGNORE" {
			p.refuse(p.posOf(t), "INSERT IGNORE", "write INSERT INTO: tables with a primary key upsert already")
		}
		p.unexpected("INTO or OVERWRITE")
	}
	if p.is("TABLE") {
		p.fail(p.tokenPos(p.i), "INSERT takes no word TABLE before the name", "remove TABLE")
	}
	in.Target = p.objectName("the name of a table")
	in.Hints = p.hints()
	if p.accept("PARTITION") {
		in.Partition = p.partitionValues()
	}
	if p.isOp("(") && !p.startsNestedQuery() {
		in.Columns = p.nameList("a column name")
	}
	if t := p.peek(); t.up == "VALUE" {
		p.fail(p.posOf(t), "expected VALUES, found 'VALUE'", "write VALUES")
	}
	in.Query = p.query()
	if t := p.peek(); p.is("ON", "CONFLICT") || p.is("ON", "DUPLICATE") {
		p.refuse(p.posOf(t), "ON "+p.peekAt(1).up, "remove it: tables with a primary key upsert already")
	}
	return in
}

// partitionValues reads (column = value, …).
func (p *parser) partitionValues() []PartitionValue {
	var list []PartitionValue
	p.expectOp("(")
	for !p.failed {
		v := PartitionValue{Column: p.columnName("a partition column")}
		if p.acceptOp("=") {
			v.Value = p.expr()
		}
		list = append(list, v)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return list
}
