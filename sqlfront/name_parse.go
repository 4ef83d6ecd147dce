package sqlfront

import "fmt"

// name reads one name. A word that the grammar needs is refused with the
// backtick fix; another reserved word of Flink is taken with a notice.
func (p *parser) name(what string) Name {
	t := p.peek()
	switch {
	case t.kind == tokQuoted:
	case t.kind == tokWord && !grammarWord[t.up]:
		p.reservedNotice(t)
	default:
		p.unexpected(what)
		return Name{}
	}
	p.i++
	return Name{Text: t.text, At: p.posOf(t)}
}

func (p *parser) reservedNotice(t token) {
	if reserved[t.up] {
		p.notice(p.posOf(t), fmt.Sprintf("Flink reserves the word %s; write `%s`", t.up, t.text))
	}
}

// columnName reads a name where no keyword can stand, so that every word will do.
func (p *parser) columnName(what string) Name {
	t := p.peek()
	if t.kind == tokWord {
		p.reservedNotice(t)
		p.i++
		return Name{Text: t.text, At: p.posOf(t)}
	}
	return p.name(what)
}

// objectName reads a name of at most three parts.
func (p *parser) objectName(what string) ObjectName {
	start := p.i
	n := ObjectName{Parts: []Name{p.name(what)}}
	for p.acceptOp(".") {
		n.Parts = append(n.Parts, p.columnName("a name behind the dot"))
	}
	if p.failed {
		return n
	}
	n.At = p.since(start)
	if len(n.Parts) > 3 {
		p.soft(n.At, fmt.Sprintf("a name has at most three parts, this has %d", len(n.Parts)), "write catalog.database.object; a dot inside a name needs backticks")
	}
	return n
}

// nameList reads (name, …).
func (p *parser) nameList(what string) []Name {
	var list []Name
	p.expectOp("(")
	for {
		list = append(list, p.columnName(what))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return list
}

// alias reads [AS] name [(columns)].
func (p *parser) alias() Alias {
	var a Alias
	switch {
	case p.accept("AS"):
		a.Name = p.name("a name behind AS")
	case p.isBareAlias():
		a.Name = p.name("a name")
	default:
		return a
	}
	if p.isOp("(") {
		a.Columns = p.nameList("a column name")
	}
	return a
}

// isBareAlias reports whether the next token is an alias without AS. A word on a
// new line that opens statements is none: there a ";" is missing.
func (p *parser) isBareAlias() bool {
	t := p.peek()
	return t.kind == tokQuoted || t.kind == tokWord && !grammarWord[t.up] && (!t.first || !opensStatement[t.up])
}

// stringText reads a string literal.
func (p *parser) stringText(what string) (string, token) {
	t := p.peek()
	if t.kind != tokString {
		p.unexpected(what + " in single quotes")
		return "", t
	}
	p.i++
	return t.text, t
}

// comment reads [COMMENT 'text'].
func (p *parser) comment() *string {
	if !p.accept("COMMENT") {
		return nil
	}
	s, _ := p.stringText("a comment")
	return &s
}

// ifNotExists and ifExists read those clauses.
func (p *parser) ifNotExists() bool {
	if !p.accept("IF") {
		return false
	}
	p.expect("NOT", "EXISTS")
	return true
}

func (p *parser) ifExists() bool {
	if !p.is("IF", "EXISTS") {
		return false
	}
	return p.accept("IF", "EXISTS")
}

// options reads ('key' = 'value', …).
func (p *parser) options() Options {
	list := Options{}
	p.expectOp("(")
	for !p.isOp(")") && !p.failed {
		list = append(list, p.option())
		comma := p.peek()
		if !p.acceptOp(",") {
			break
		}
		if p.isOp(")") {
			p.notice(p.posOf(comma), "Flink refuses a comma before the closing parenthesis")
		}
	}
	p.expectOp(")")
	return list
}

func (p *parser) option() Option {
	start := p.i
	o := Option{Key: p.optionKey()}
	if p.failed {
		return o
	}
	o.KeyPos = p.since(start)
	p.expectOp("=")
	switch t := p.peek(); t.kind {
	case tokString:
		p.i++
		o.Value, o.Raw, o.ValuePos = t.text, t.raw, p.posOf(t)
	case tokNumber, tokWord:
		p.i++
		p.soft(p.posOf(t), "the value of an option is a string", fmt.Sprintf("write '%s'", t.text))
	default:
		p.unexpected("a value in single quotes")
	}
	return o
}

// optionKey reads 'key'; a bare key is an error that names the fix.
func (p *parser) optionKey() string {
	if p.peek().kind != tokWord {
		s, _ := p.stringText("an option key")
		return s
	}
	start := p.i
	for t := p.peek(); t.kind == tokWord || t.kind == tokNumber || t.is(".") || t.is("-"); t = p.peek() {
		p.i++
	}
	p.soft(p.since(start), "the key of an option is a string", fmt.Sprintf("write '%s'", p.text(start)))
	return p.text(start)
}

// hints reads any number of /*+ … */.
func (p *parser) hints() []Hint {
	var list []Hint
	for p.peek().kind == tokHintOpen {
		p.i++
		for p.peek().kind != tokHintClose && !p.failed {
			list = append(list, p.hint())
			p.acceptOp(",")
		}
		if !p.failed {
			p.i++
		}
	}
	return list
}

func (p *parser) hint() Hint {
	t := p.next()
	if t.kind != tokWord {
		p.back(t)
		p.unexpected("the name of a hint")
		return Hint{}
	}
	h := Hint{At: p.posOf(t), Name: t.up}
	if !p.isOp("(") {
		return h
	}
	if h.Name == "OPTIONS" || p.peekAt(1).kind == tokString && p.peekAt(2).is("=") {
		h.Options = p.options()
		return h
	}
	start := p.i + 1
	p.skipParens()
	if p.i-1 > start {
		h.Args = p.src[p.toks[start].start:p.toks[p.i-2].end]
	}
	return h
}
