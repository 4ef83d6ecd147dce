package sqlfront

import (
	"fmt"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// tableElements reads (columns, watermark, key).
func (p *parser) tableElements(c *CreateTable) {
	p.expectOp("(")
	for !p.failed {
		p.tableElement(c)
		comma := p.peek()
		if !p.acceptOp(",") {
			break
		}
		if p.isOp(")") {
			p.notice(p.posOf(comma), "Flink refuses a comma before the closing parenthesis")
			break
		}
	}
	if !p.isOp(")") {
		p.unexpected("',' or ')'")
		return
	}
	p.i++
}

func (p *parser) tableElement(c *CreateTable) {
	start := p.i
	switch {
	case p.is("WATERMARK", "FOR"):
		p.i += 2
		w := &Watermark{At: p.since(start), Column: p.objectName("a column name")}
		p.expect("AS")
		w.Expr = p.expr()
		if c.Watermark != nil {
			p.soft(w.At, "the table has two watermarks", "keep one")
		}
		c.Watermark = w
	case p.is("CONSTRAINT"), p.is("PRIMARY", "KEY"):
		p.constraint(c)
	case p.isMySQLIndex():
		at := p.tokenPos(p.i)
		for !p.isOp("(") && !p.failed && p.peek().kind != tokEOF && !p.isOp(";") {
			p.i++
		}
		p.skipParens()
		p.soft(at, "a table has no index here", "remove it; name the key with PRIMARY KEY (…) NOT ENFORCED")
	default:
		p.column(c)
	}
}

// isMySQLIndex recognises KEY name (…), INDEX …, UNIQUE …, FOREIGN KEY …, CHECK (…);
// KEY and INDEX may also be names of columns.
func (p *parser) isMySQLIndex() bool {
	switch t, second := p.peek(), p.peekAt(1); {
	case t.kind != tokWord:
		return false
	case t.up == "UNIQUE":
		return second.is("(") || second.up == "KEY" || second.up == "INDEX" || p.peekAt(2).is("(")
	case t.up == "FOREIGN":
		return second.up == "KEY"
	case t.up == "CHECK":
		return second.is("(")
	case t.up == "KEY", t.up == "INDEX":
		return second.is("(") || p.peekAt(2).is("(") && (second.kind == tokQuoted || second.kind == tokWord && !isTypeWord(second.up))
	}
	return false
}

// constraint reads [CONSTRAINT name] PRIMARY KEY (columns) NOT ENFORCED.
func (p *parser) constraint(c *CreateTable) {
	start := p.i
	name := ""
	if p.accept("CONSTRAINT") {
		name = p.columnName("the name of the constraint").Text
	}
	if t := p.peek(); t.up == "UNIQUE" || t.up == "FOREIGN" || t.up == "CHECK" {
		p.fail(p.posOf(t), t.up+" is not known", "remove it; only PRIMARY KEY (…) NOT ENFORCED can be declared")
		return
	}
	p.expect("PRIMARY", "KEY")
	key := &PrimaryKey{Constraint: name, Columns: p.nameList("a column name")}
	p.setKey(c, key, start)
}

// setKey reads NOT ENFORCED and stores the key.
func (p *parser) setKey(c *CreateTable, key *PrimaryKey, start int) {
	if p.failed {
		return
	}
	key.At = p.since(start)
	if !p.accept("NOT", "ENFORCED") {
		p.accept("ENFORCED")
		p.soft(key.At, "PRIMARY KEY needs NOT ENFORCED: the rows that arrive are not checked for uniqueness", "write NOT ENFORCED behind it")
	}
	if c.PrimaryKey != nil {
		p.soft(key.At, "the table has two primary keys", "declare one PRIMARY KEY (a, b) NOT ENFORCED")
		return
	}
	c.PrimaryKey = key
}

func (p *parser) column(c *CreateTable) {
	col := Column{Name: p.columnName("a column name")}
	if p.accept("AS") {
		col.Kind, col.Expr, col.Comment = Computed, p.expr(), p.comment()
		c.Columns = append(c.Columns, col)
		return
	}
	start := p.i
	col.Type = p.columnType(col.Name.Text)
	if p.failed {
		return
	}
	col.TypePos = p.since(start)
	for p.columnClause(c, &col) {
		continue
	}
	c.Columns = append(c.Columns, col)
}

// columnClause reads one clause behind the type and reports whether there was one.
func (p *parser) columnClause(c *CreateTable, col *Column) bool {
	start := p.i
	t := p.peek()
	if t.kind != tokWord {
		return false
	}
	switch t.up {
	case "METADATA":
		p.i++
		col.Kind = Metadata
		if p.accept("FROM") {
			key, at := p.stringText("the metadata key")
			col.MetadataKey, col.MetadataKeyPos = key, p.posOf(at)
		}
		col.Virtual = p.accept("VIRTUAL")
	case "NOT":
		p.expect("NOT", "NULL")
		col.Type.Nullable = false
	case "NULL":
		p.i++
	case "COMMENT":
		col.Comment = p.comment()
	case "CONSTRAINT", "PRIMARY":
		if p.accept("CONSTRAINT") {
			p.columnName("the name of the constraint")
		}
		p.expect("PRIMARY", "KEY")
		p.setKey(c, &PrimaryKey{Columns: []Name{col.Name}}, start)
	default:
		return p.foreignColumnClause(t, col)
	}
	return !p.failed
}

// foreignColumnClause reports column clauses of other systems and steps over them.
func (p *parser) foreignColumnClause(t token, col *Column) bool {
	at, hint := p.posOf(t), "remove it"
	switch t.up {
	case "DEFAULT":
		p.i++
		p.exprAbove(bpCompare)
		hint = fmt.Sprintf("write 'fields.%s.default-value' = '…' in WITH", col.Name.Text)
	case "AUTO_INCREMENT", "AUTOINCREMENT", "ZEROFILL", "INVISIBLE", "BINARY":
		p.i++
	case "UNIQUE", "KEY":
		p.i++
		p.accept("KEY")
		hint = "remove it; only a PRIMARY KEY … NOT ENFORCED can be declared"
	case "CHARSET", "COLLATE":
		p.i += 2
		hint = "remove it; text is UTF-8"
	case "CHARACTER":
		p.i++
		p.accept("SET")
		p.next()
		hint = "remove it; text is UTF-8"
	case "ON":
		p.i++
		p.accept("UPDATE")
		p.exprAbove(bpCompare)
	case "CHECK":
		p.i++
		p.skipParens()
	case "REFERENCES":
		p.i++
		p.objectName("the name of a table")
		p.skipParens()
	case "GENERATED":
		p.fail(at, "GENERATED columns are written otherwise", fmt.Sprintf("write %s AS expression, without a type", col.Name.Text))
		return false
	default:
		return false
	}
	if p.i >= len(p.toks) {
		p.i = len(p.toks) - 1
	}
	p.soft(at, t.up+" of a column is not known", hint)
	return !p.failed
}

// columnType reads a type; one that no column can have is an error that names the column.
func (p *parser) columnType(column string) columnar.DataType {
	t := p.peek()
	if t.up == "INTERVAL" {
		p.fail(p.posOf(t), "INTERVAL is no type of a column", fmt.Sprintf("declare %s as BIGINT and store seconds or days", column))
		return columnar.DataType{}
	}
	return p.dataType()
}

// typeError reports a type that does not exist, with the type to use.
func (p *parser) typeError(at diag.Pos, msg, use string) {
	p.soft(at, msg, "write "+use)
}
