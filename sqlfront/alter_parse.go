package sqlfront

import "strings"

// alter reads ALTER TABLE; other objects become Unsupported.
func (p *parser) alter() Statement {
	p.i++
	t := p.peek()
	switch t.up {
	case "TABLE":
	case "VIEW":
		p.i++
		v := &AlterView{Name: p.objectName("the name of a view")}
		switch {
		case p.accept("RENAME", "TO"):
			v.NewName = p.objectName("the new name")
		case p.accept("AS"):
			v.Query = p.query()
		default:
			p.unexpected("RENAME TO or AS")
		}
		return v
	case "CATALOG", "DATABASE":
		return p.alterOptions(t.up)
	case "MATERIALIZED", "MODEL", "FUNCTION":
		p.refuse(p.tokenPos(p.i-1), "ALTER "+t.up, "")
		return nil
	default:
		p.unexpected("TABLE, DATABASE, CATALOG or VIEW")
		return nil
	}
	p.i++
	a := &AlterTable{IfExists: p.ifExists(), Name: p.objectName("the name of a table")}
	switch {
	case p.accept("SET"):
		a.Action, a.Options = "SET", p.options()
	case p.accept("RESET"):
		a.Action, a.Keys = "RESET", p.optionKeys()
	case p.accept("RENAME", "TO"):
		a.Action, a.NewName = "RENAME TO", p.objectName("the new name")
	case p.is("ADD"), p.is("MODIFY"), p.is("DROP"), p.is("RENAME"), p.is("PARTITION"):
		if p.is("ADD", "COLUMN") || p.is("ADD", "COLUMNS") {
			p.notice(p.tokenPos(p.i+1), "Flink does not know ADD COLUMN; write ADD (column type)")
		}
		a.Action = p.next().up
		start := p.i
		p.alterAction(a)
		a.Rest = p.text(start)
	default:
		p.unexpected("SET, RESET, RENAME TO, ADD, MODIFY or DROP")
	}
	return a
}

// alterAction reads what follows ADD, MODIFY, DROP, RENAME and PARTITION.
func (p *parser) alterAction(a *AlterTable) {
	switch a.Action {
	case "ADD", "MODIFY":
		if a.Action == "ADD" && p.alterPartitions(a) {
			return
		}
		if _ = p.accept("COLUMN") || p.accept("COLUMNS"); !p.acceptOp("(") {
			p.alterElement(a)
			return
		}
		for p.alterElement(a); p.acceptOp(","); {
			p.alterElement(a)
		}
		p.expectOp(")")
	case "DROP":
		p.alterDrop(a)
	case "RENAME":
		p.accept("COLUMN")
		a.Renamed = p.columnPath()
		p.expect("TO")
		a.NewColumn = p.columnName("the new name of the column")
	default:
		a.OfPartition = p.tokenPos(p.i - 1)
		p.skipRest()
	}
}

// alterPartitions reads [IF [NOT] EXISTS] PARTITION (…) [, PARTITION (…)] and
// reports whether there was one.
func (p *parser) alterPartitions(a *AlterTable) bool {
	switch {
	case p.is("IF", "NOT", "EXISTS", "PARTITION"):
		p.i += 3
		a.IfPartition = true
	case p.is("IF", "EXISTS", "PARTITION"):
		p.i += 2
		a.IfPartition = true
	}
	if !p.is("PARTITION") || !p.peekAt(1).is("(") {
		return false
	}
	for p.accept("PARTITION") {
		a.Partitions = append(a.Partitions, p.partitionValues())
		if p.acceptOp(",") {
			continue
		}
	}
	return true
}

func (p *parser) alterDrop(a *AlterTable) {
	start := p.i
	switch {
	case p.alterPartitions(a):
	case p.accept("WATERMARK"):
		a.DropWatermark = true
	case p.accept("PRIMARY", "KEY"), p.accept("DISTRIBUTION"):
		a.Key = p.since(start)
	case p.is("CONSTRAINT") && p.peekAt(1).kind != tokEOF && !p.peekAt(1).is(";"):
		p.i++
		p.columnName("the name of the constraint")
		a.Key = p.since(start)
	default:
		p.accept("COLUMN")
		if !p.acceptOp("(") {
			a.Dropped = append(a.Dropped, p.columnPath())
			return
		}
		for {
			a.Dropped = append(a.Dropped, p.columnPath())
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	}
}

// columnPath reads a column, or a field of a ROW column such as a.b.
func (p *parser) columnPath() []Name {
	path := []Name{p.columnName("a column name")}
	for p.acceptOp(".") {
		path = append(path, p.columnName("a name behind the dot"))
	}
	return path
}

// alterElement reads one column, watermark or key of ADD and MODIFY.
func (p *parser) alterElement(a *AlterTable) {
	start := p.i
	switch {
	case p.is("WATERMARK", "FOR"):
		p.i += 2
		w := &Watermark{At: p.since(start), Column: p.objectName("a column name")}
		p.expect("AS")
		w.Expr = p.expr()
		a.Watermark = w
	case p.is("CONSTRAINT"), p.is("PRIMARY", "KEY"), p.is("DISTRIBUTION"):
		for !p.failed && !p.isOp("(") && !p.isOp(";") && p.peek().kind != tokEOF {
			p.i++
		}
		if p.isOp("(") {
			p.skipParens()
		}
		p.accept("NOT", "ENFORCED")
		a.Key = p.since(start)
	default:
		p.alterColumn(a)
	}
}

func (p *parser) alterColumn(a *AlterTable) {
	col := AlterColumn{Path: p.columnPath()}
	if p.failed {
		return
	}
	col.Name = col.Path[len(col.Path)-1]
	if p.accept("AS") {
		col.Kind, col.Expr, col.Comment = Computed, p.expr(), p.comment()
	} else {
		start := p.i
		col.Type = p.columnType(col.Name.Text)
		if p.failed {
			return
		}
		col.TypePos = p.since(start)
		var c CreateTable
		for {
			if p.is("NOT", "NULL") || p.is("NULL") {
				col.NullabilityGiven = true
			}
			if !p.columnClause(&c, &col.Column) {
				break
			}
		}
		if c.PrimaryKey != nil {
			a.Key = c.PrimaryKey.At
		}
	}
	switch {
	case p.accept("FIRST"):
		col.First = true
	case p.accept("AFTER"):
		col.After = p.columnName("a column name")
	}
	a.Columns = append(a.Columns, col)
}

// optionKeys reads the keys of RESET in parentheses.
func (p *parser) optionKeys() []Option {
	var keys []Option
	p.expectOp("(")
	for !p.failed {
		key, t := p.stringText("an option key")
		keys = append(keys, Option{Key: key, KeyPos: p.posOf(t)})
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return keys
}

// alterOptions reads ALTER CATALOG and ALTER DATABASE.
func (p *parser) alterOptions(word string) Statement {
	p.i++
	a := &AlterOptions{Word: word, Name: p.objectName("the name of a " + strings.ToLower(word))}
	switch {
	case p.accept("SET"):
		a.Action, a.Options = "SET", p.options()
	case word == "CATALOG" && p.accept("RESET"):
		a.Action, a.Options = "RESET", p.optionKeys()
	case word == "CATALOG" && p.is("COMMENT"):
		a.Action, a.Comment = "COMMENT", p.comment()
	case word == "CATALOG":
		p.unexpected("SET, RESET or COMMENT")
	default:
		p.unexpected("SET")
	}
	return a
}
