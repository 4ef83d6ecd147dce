package sqlfront

import "strconv"

// create reads CREATE …; forms that leat does not run become Unsupported or errors.
func (p *parser) create() Statement {
	start := p.i
	p.i++
	orReplace := p.accept("OR", "REPLACE")
	temporary := p.accept("TEMPORARY")
	p.accept("SYSTEM")
	t := p.peek()
	switch t.up {
	case "TABLE":
		return p.createTable(&CreateTable{Temporary: temporary, OrReplace: orReplace})
	case "CATALOG":
		p.i++
		c := &CreateCatalog{IfNotExists: p.ifNotExists(), Name: p.name("the name of a catalog"), Comment: p.comment()}
		if p.accept("WITH") {
			c.Options = p.options()
		}
		return c
	case "DATABASE":
		p.i++
		d := &CreateDatabase{IfNotExists: p.ifNotExists(), Name: p.objectName("the name of a database"), Comment: p.comment()}
		if p.accept("WITH") {
			d.Options = p.options()
		}
		return d
	case "FUNCTION":
		p.skipRest()
		return &Ignored{What: "CREATE FUNCTION", Reason: "its class is not loaded; calls of the function are refused"}
	case "VIEW":
		p.i++
		return p.createView(&CreateView{Temporary: temporary, OrReplace: orReplace})
	case "MATERIALIZED", "MODEL":
		p.refuse(p.since(start), "CREATE "+t.up, "")
	case "INDEX", "UNIQUE", "FULLTEXT":
		p.refuse(p.since(start), "CREATE INDEX", "remove it: files keep statistics and a primary key keeps its order")
	case "USER", "ROLE":
		p.refuse(p.since(start), "CREATE "+t.up, "set permissions where the warehouse is stored")
	default:
		p.unexpected("TABLE, TEMPORARY TABLE, CATALOG or DATABASE")
	}
	return nil
}

// createView reads CREATE VIEW behind the word VIEW.
func (p *parser) createView(v *CreateView) Statement {
	v.IfNotExists = p.ifNotExists()
	v.Name = p.objectName("the name of a view")
	if p.isOp("(") {
		v.Columns = p.nameList("a column name")
	}
	v.Comment = p.comment()
	p.expect("AS")
	v.Query = p.query()
	return v
}

// createTable reads CREATE TABLE from the word TABLE on.
func (p *parser) createTable(c *CreateTable) Statement {
	p.expect("TABLE")
	c.IfNotExists = p.ifNotExists()
	c.Name = p.objectName("the name of a table")
	if p.isOp("(") {
		p.tableElements(c)
	}
	p.tableClauses(c)
	switch {
	case p.accept("LIKE"):
		c.Like = p.like()
	case p.accept("AS"):
		c.AsQuery = p.query()
	case len(c.Columns) == 0 && !p.failed:
		p.unexpected("'(' with the columns")
	}
	if c.OrReplace && c.AsQuery == nil && !p.failed {
		p.soft(c.Name.At, "CREATE OR REPLACE TABLE needs AS and a query", "drop the table and create it again")
	}
	return c
}

// tableClauses reads what stands between the columns and LIKE or AS, in any order.
func (p *parser) tableClauses(c *CreateTable) {
	for !p.failed {
		start := p.i
		switch {
		case p.is("COMMENT"):
			p.commentClause(c)
		case p.accept("PARTITIONED", "BY"):
			c.PartitionedBy = p.nameList("a column name")
		case p.accept("DISTRIBUTED"):
			c.Distributed = p.distributed(start)
		case p.is("WITH"):
			c.WithPos = p.tokenPos(p.i)
			p.i++
			c.Options = p.options()
		case p.is("ENGINE"), p.is("AUTO_INCREMENT"), p.is("DEFAULT"), p.is("CHARSET"), p.is("COLLATE"), p.is("ROW_FORMAT"):
			p.fail(p.tokenPos(p.i), "table options of MySQL have no place here", "remove them; options of the table stand in WITH ('key' = 'value')")
		case p.is("PARTITION", "BY"):
			p.fail(p.tokenPos(p.i), "PARTITION BY is not known here", "write PARTITIONED BY (column, …) with columns of the table")
		default:
			return
		}
	}
}

// commentClause reads COMMENT 'text' of the table; MySQL writes it with "=".
func (p *parser) commentClause(c *CreateTable) {
	if p.peekAt(1).is("=") {
		p.fail(p.tokenPos(p.i), "COMMENT takes no '='", "write COMMENT 'text'")
		return
	}
	c.Comment = p.comment()
}

func (p *parser) distributed(start int) *Distributed {
	d := &Distributed{At: p.tokenPos(start)}
	if p.accept("BY") {
		if t := p.peek(); t.up == "HASH" || t.up == "RANGE" {
			d.Kind = t.up
			p.i++
		}
		d.Columns = p.nameList("a column name")
	}
	if p.accept("INTO") {
		t := p.peek()
		n, err := strconv.Atoi(t.text)
		if t.kind != tokNumber || err != nil {
			p.unexpected("the number of buckets")
			return d
		}
		p.i++
		d.Buckets = n
		p.expect("BUCKETS")
	}
	return d
}

func (p *parser) like() *Like {
	l := &Like{Source: p.objectName("the name of a table")}
	l.At = l.Source.At
	if !p.acceptOp("(") {
		return l
	}
	for !p.isOp(")") && !p.failed {
		action, what := p.next(), p.next()
		if action.up != "INCLUDING" && action.up != "EXCLUDING" && action.up != "OVERWRITING" || !likeWhat[what.up] {
			p.back(what)
			p.unexpected("INCLUDING, EXCLUDING or OVERWRITING with ALL, OPTIONS, CONSTRAINTS, PARTITIONS, GENERATED, METADATA or WATERMARKS")
			return l
		}
		l.Options = append(l.Options, LikeOption{Action: action.up, What: what.up})
	}
	p.expectOp(")")
	return l
}

var likeWhat = wordSet("ALL CONSTRAINTS PARTITIONS DISTRIBUTION GENERATED OPTIONS WATERMARKS METADATA")

func (p *parser) drop() Statement {
	start := p.i
	p.i++
	d := &Drop{Temporary: p.accept("TEMPORARY")}
	p.accept("SYSTEM")
	t := p.next()
	switch t.up {
	case "TABLE":
		d.Kind = DropTable
	case "DATABASE", "SCHEMA":
		d.Kind = DropDatabase
	case "CATALOG":
		d.Kind = DropCatalog
	case "VIEW":
		d.Kind = DropView
	case "FUNCTION":
		p.skipRest()
		return &Ignored{What: "DROP FUNCTION", Reason: "functions of users are not loaded"}
	default:
		p.back(t)
		if t.up == "MATERIALIZED" || t.up == "MODEL" || t.up == "INDEX" {
			p.refuse(p.since(start), "DROP "+t.up, "")
			return nil
		}
		p.unexpected("TABLE, DATABASE, CATALOG or VIEW")
		return nil
	}
	d.IfExists = p.ifExists()
	d.Name = p.objectName("a name")
	if d.Kind == DropDatabase && !p.accept("RESTRICT") {
		d.Cascade = p.accept("CASCADE")
	}
	return d
}
