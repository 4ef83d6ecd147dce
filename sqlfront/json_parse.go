package sqlfront

// jsonCall reads a JSON function; nil if it has plain arguments only.
func (p *parser) jsonCall(c *Call, start int) Expr {
	if c.Func == "JSON_VALUE" || c.Func == "JSON_QUERY" || c.Func == "JSON_EXISTS" {
		if !p.hasJSONClause() {
			return nil
		}
		return p.jsonClauses(c, start)
	}
	return p.skipCall(c.Func+" with clauses", start)
}

// hasJSONClause reports whether one of the clauses of JSON functions stands in
// the parentheses that are open here.
func (p *parser) hasJSONClause() bool {
	depth := 0
	for n := 0; ; n++ {
		t := p.peekAt(n)
		switch {
		case t.kind == tokEOF || t.is(";") || t.is(")") && depth == 0:
			return false
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.kind == tokWord && jsonClause[t.up]:
			return true
		}
	}
}

var jsonClause = wordSet("RETURNING ON WITH WITHOUT DEFAULT ERROR EMPTY UNKNOWN TRUE FALSE PASSING FORMAT")

// jsonClauses reads the arguments and the clauses of JSON_VALUE, JSON_QUERY and
// JSON_EXISTS, whose opening parenthesis is read.
func (p *parser) jsonClauses(c *Call, start int) Expr {
	j := &JSONCall{Func: c.Func, X: p.expr()}
	p.expectOp(",")
	j.Path = p.expr()
	if c.Func != "JSON_EXISTS" && p.accept("RETURNING") {
		j.Returning = p.dataType()
	}
	if c.Func == "JSON_QUERY" {
		j.Wrapper = p.jsonWrapper()
	}
	for !p.failed && !p.isOp(")") {
		b := p.jsonBehavior(c.Func)
		p.expect("ON")
		switch {
		case c.Func != "JSON_EXISTS" && p.accept("EMPTY"):
			j.OnEmpty = b
		case p.accept("ERROR"):
			j.OnError = b
		default:
			p.unexpected("EMPTY or ERROR")
		}
	}
	p.expectOp(")")
	j.Node = p.node(start)
	return j
}

func (p *parser) jsonWrapper() string {
	word := ""
	switch {
	case p.accept("WITHOUT"):
		word = "WITHOUT"
	case p.accept("WITH", "CONDITIONAL"):
		word = "WITH CONDITIONAL"
	case p.accept("WITH"):
		word = "WITH UNCONDITIONAL"
		p.accept("UNCONDITIONAL")
	default:
		return ""
	}
	p.accept("ARRAY")
	p.expect("WRAPPER")
	return word
}

// jsonBehaviors are the words in front of ON EMPTY and ON ERROR.
var jsonBehaviors = map[string]map[string]bool{
	"JSON_VALUE": wordSet("NULL ERROR DEFAULT"), "JSON_QUERY": wordSet("NULL ERROR EMPTY"), "JSON_EXISTS": wordSet("TRUE FALSE UNKNOWN ERROR"),
}

func (p *parser) jsonBehavior(function string) JSONBehavior {
	t := p.peek()
	if t.kind != tokWord || !jsonBehaviors[function][t.up] {
		p.unexpected("what comes ON EMPTY or ON ERROR, such as NULL")
		return JSONBehavior{}
	}
	p.i++
	b := JSONBehavior{Word: t.up}
	switch {
	case t.up == "DEFAULT":
		b.Default = p.expr()
	case t.up == "EMPTY" && p.accept("OBJECT"):
		b.Word = "EMPTY OBJECT"
	case t.up == "EMPTY":
		b.Word = "EMPTY ARRAY"
		p.accept("ARRAY")
	}
	return b
}
