package sqlfront

import "strings"

// sessionStatement reads what concerns the session only.
func (p *parser) sessionStatement() Statement {
	t := p.next()
	switch t.up {
	case "SET":
		return p.setStatement()
	case "RESET":
		r := &Reset{}
		if k := p.peek(); k.kind == tokString || k.kind == tokRaw {
			p.i++
			r.Key, r.KeyPos = strings.TrimSpace(k.text), p.posOf(k)
		}
		return r
	case "USE":
		return p.use()
	case "HELP", "CLEAR":
		return &Ignored{What: t.up, Reason: "it has a meaning in the shell only"}
	case "QUIT", "EXIT":
		p.quit = true
		return &Ignored{What: t.up, Reason: "the script ends here"}
	case "ADD", "REMOVE":
		object := p.next()
		what := t.up + " " + object.up
		if what != t.up+" JAR" && what != t.up+" FILE" {
			p.back(object)
			p.unexpected("JAR or FILE")
			return nil
		}
		p.skipRest()
		return &Ignored{What: what, Reason: "connectors are built in, jar files are not loaded"}
	case "LOAD", "UNLOAD":
		at := p.posOf(t)
		p.expect("MODULE")
		if m := p.peek(); m.up != "CORE" {
			p.refuse(at, t.up+" MODULE "+m.text, "remove the statement: only the module core is built in")
		}
		p.skipRest()
		return &Ignored{What: t.up + " MODULE", Reason: "the module core is always loaded"}
	default:
		p.skipRest()
		return &Ignored{What: t.up, Reason: "statistics are not kept apart from the table's files"}
	}
}

// setStatement reads SET behind its first word. The lexer has let unquoted text through.
func (p *parser) setStatement() Statement {
	k := p.peek()
	if k.kind == tokEOF || k.is(";") {
		return &SetList{}
	}
	if k.kind != tokString && k.kind != tokRaw {
		p.unexpected("a key in single quotes")
		return nil
	}
	p.i++
	s := &Set{Option: Option{Key: strings.TrimSpace(k.text), KeyPos: p.posOf(k)}}
	if !p.isOp("=") {
		p.unexpected("'='")
		return nil
	}
	p.i++
	v := p.peek()
	if v.kind != tokString && v.kind != tokRaw {
		p.unexpected("a value in single quotes")
		return nil
	}
	p.i++
	s.Value, s.ValuePos, s.Raw = v.text, p.posOf(v), v.raw
	return s
}

func (p *parser) use() Statement {
	switch {
	case p.is("CATALOG") && !p.peekAt(1).is(";") && p.peekAt(1).kind != tokEOF:
		p.i++
		return &UseCatalog{Name: p.name("the name of a catalog")}
	case p.is("MODULES") && p.peekAt(1).kind == tokWord:
		at := p.i
		p.i++
		for {
			if m := p.name("the name of a module"); !strings.EqualFold(m.Text, "core") {
				p.refuse(p.tokenPos(at), "the module "+m.Text, "write USE MODULES core")
			}
			if !p.acceptOp(",") {
				return &Ignored{What: "USE MODULES", Reason: "the module core is always loaded"}
			}
		}
	}
	n := p.objectName("the name of a database")
	if !p.failed && len(n.Parts) > 2 {
		p.soft(n.At, "USE takes a database", "write USE catalog.database")
	}
	return &Use{Name: n}
}

// show reads SHOW. The words behind it decide what may follow.
func (p *parser) show() Statement {
	p.i++
	s := &Show{}
	switch {
	case p.accept("CREATE"):
		t := p.next()
		if t.up != "TABLE" && t.up != "VIEW" && t.up != "CATALOG" {
			p.back(t)
			p.unexpected("TABLE, VIEW or CATALOG")
			return nil
		}
		s.What, s.Name = "CREATE "+t.up, p.objectName("a name")
		return s
	case p.accept("CURRENT"):
		t := p.next()
		if t.up != "CATALOG" && t.up != "DATABASE" {
			p.back(t)
			p.unexpected("CATALOG or DATABASE")
			return nil
		}
		s.What = "CURRENT " + t.up
		return s
	case p.accept("FULL"):
		p.expect("MODULES")
		s.What = "FULL MODULES"
		return s
	case p.accept("USER"):
		p.expect("FUNCTIONS")
		s.What = "USER FUNCTIONS"
	default:
		t := p.peek()
		if !showable[t.up] || t.kind != tokWord {
			p.unexpected("TABLES, CREATE TABLE, CATALOGS, DATABASES, COLUMNS, PARTITIONS, JOBS or FUNCTIONS")
			return nil
		}
		p.i++
		s.What = t.up
	}
	switch {
	case s.What == "PARTITIONS":
		s.Name = p.objectName("the name of a table")
		if p.accept("PARTITION") {
			s.Partition = p.partitionValues()
		}
	case p.accept("FROM"), p.accept("IN"):
		s.Name = p.objectName("a name")
	}
	p.showLike(s)
	return s
}

var showable = wordSet("TABLES VIEWS CATALOGS DATABASES FUNCTIONS PROCEDURES MODULES JARS JOBS COLUMNS PARTITIONS")

func (p *parser) showLike(s *Show) {
	s.NotLike = p.accept("NOT")
	switch {
	case p.accept("ILIKE"):
		s.ILike = true
	case p.accept("LIKE"):
	case s.NotLike:
		p.unexpected("LIKE")
		return
	default:
		return
	}
	text, _ := p.stringText("a pattern")
	s.Like = &text
}

// stopJob reads STOP JOB.
func (p *parser) stopJob() Statement {
	p.i++
	p.expect("JOB")
	s := &StopJob{}
	text, at := p.stringText("the name of a job")
	s.Job, s.JobPos = text, p.posOf(at)
	for p.accept("WITH") {
		switch t := p.peek(); {
		case p.accept("SAVEPOINT"):
			s.Savepoint = true
		case p.accept("DRAIN"):
			s.Drain = true
			if !s.Savepoint {
				p.soft(p.posOf(t), "DRAIN goes with a savepoint", "write WITH SAVEPOINT WITH DRAIN")
			}
		default:
			p.unexpected("SAVEPOINT or DRAIN")
			return s
		}
	}
	return s
}

func (p *parser) describe() Statement {
	p.i++
	d := &Describe{What: "TABLE"}
	next := p.peekAt(1)
	if t := p.peek(); next.kind != tokEOF && !next.is(";") && !next.is(".") && (t.up == "CATALOG" || t.up == "DATABASE" || t.up == "FUNCTION" || t.up == "JOB") {
		d.What = t.up
		p.i++
	}
	if p.is("EXTENDED") && !p.peekAt(1).is(".") {
		d.Extended = p.accept("EXTENDED")
	}
	if t := p.peek(); d.What == "JOB" && t.kind == tokString {
		p.i++
		d.Name = ObjectName{Parts: []Name{{Text: t.text, At: p.posOf(t)}}, At: p.posOf(t)}
		return d
	}
	d.Name = p.objectName("a name")
	return d
}
