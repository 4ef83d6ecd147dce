package sqlfront

import "leat/internal/diag"

// Binding powers, after Flink's own table: IS binds looser than the comparisons
// and || as tight as *.
const (
	bpOr      = 22
	bpAnd     = 24
	bpNot     = 26
	bpIs      = 28
	bpCompare = 30
	bpRange   = 32 // BETWEEN, IN, LIKE, SIMILAR
	bpAdd     = 40
	bpMul     = 60
	bpSign    = 80
	bpAtom    = 100
)

var binaryPower = map[Op]int{
	OpOr: bpOr, OpAnd: bpAnd,
	OpEq: bpCompare, OpNe: bpCompare, OpLt: bpCompare, OpLe: bpCompare, OpGt: bpCompare, OpGe: bpCompare,
	OpDistinct: bpCompare, OpNotDistinct: bpCompare,
	OpAdd: bpAdd, OpSub: bpAdd, OpMul: bpMul, OpDiv: bpMul, OpMod: bpMul, OpConcat: bpMul,
}

// expr reads an expression.
func (p *parser) expr() Expr { return p.exprAbove(0) }

// exprAbove reads an expression of operators that bind tighter than bp. It never
// gives nil; after a failure it gives a NULL.
func (p *parser) exprAbove(bp int) Expr {
	if !p.enter() {
		return &Literal{}
	}
	defer p.leave()
	start := p.i
	left := p.prefix()
	for !p.failed {
		next := p.infix(left, start, bp)
		if next == nil {
			break
		}
		p.link()
		left = next
	}
	return left
}

// prefix reads NOT x, -x, +x or an atom.
func (p *parser) prefix() Expr {
	start := p.i
	t := p.peek()
	switch {
	case p.accept("NOT"):
		x := p.exprAbove(bpNot)
		return &Unary{Node: p.node(start), Op: OpNot, X: x}
	case t.is("-") || t.is("+"):
		p.i++
		if n := p.peek(); t.is("-") && n.kind == tokNumber && n.text == "9223372036854775808" {
			p.i++
			return &Literal{Node: p.node(start), Kind: LitBigInt, Text: "-" + n.text, Int: -1 << 63}
		}
		x := p.exprAbove(bpSign)
		return &Unary{Node: p.node(start), Op: Op(t.text), X: x}
	}
	return p.postfix(p.atom(), start)
}

func (p *parser) node(start int) Node { return Node{At: p.since(start)} }

// infix reads one operator behind left if it binds tighter than bp; else nil.
func (p *parser) infix(left Expr, start, bp int) Expr {
	t := p.peek()
	if t.kind == tokOp {
		op := Op(t.text)
		if t.text == "<=>" {
			op = OpNotDistinct // the error is reported by the lexer
		}
		power, ok := binaryPower[op]
		if !ok || power <= bp {
			return nil
		}
		p.i++
		return p.binary(left, op, p.posOf(t), start)
	}
	if t.kind != tokWord {
		return nil
	}
	switch t.up {
	case "AND", "OR":
		if binaryPower[Op(t.up)] <= bp {
			return nil
		}
		p.i++
		return p.binary(left, Op(t.up), p.posOf(t), start)
	case "IS":
		return p.isTest(left, start, bp)
	case "NOT", "BETWEEN", "IN", "LIKE", "SIMILAR":
		if bpRange <= bp {
			return nil
		}
		return p.rangeTest(left, start)
	}
	if rewrite, ok := foreignInfix[t.up]; ok && p.startsOperand(1) {
		p.fail(p.posOf(t), "the operator "+t.up+" is not known", rewrite)
	}
	return nil
}

// foreignInfix are operators of MySQL and others that are words.
var foreignInfix = map[string]string{
	"DIV": "write a / b: the division of integers is an integer", "MOD": "write a % b or MOD(a, b)", "XOR": "write a <> b for booleans",
	"REGEXP": "write REGEXP(text, pattern)", "RLIKE": "write REGEXP(text, pattern)", "ILIKE": "write UPPER(text) LIKE UPPER(pattern)",
}

// startsOperand reports whether token n from here can start an operand.
func (p *parser) startsOperand(n int) bool {
	switch t := p.peekAt(n); t.kind {
	case tokString, tokNumber, tokQuoted, tokBinary:
		return true
	case tokWord:
		return !grammarWord[t.up]
	default:
		return t.is("(")
	}
}

func (p *parser) binary(left Expr, op Op, at diag.Pos, start int) Expr {
	if t := p.peek(); binaryPower[op] == bpCompare && (t.up == "ANY" || t.up == "SOME" || t.up == "ALL") && t.kind == tokWord && p.peekAt(1).is("(") && p.startsQuery(2) {
		p.i += 2
		q := &Quantified{X: left, Op: op, All: t.up == "ALL", Query: p.query()}
		p.expectOp(")")
		q.Node = p.node(start)
		return q
	}
	right := p.exprAbove(binaryPower[op])
	return &Binary{Node: p.node(start), Op: op, OpPos: at, L: left, R: right}
}

// isTest reads IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DISTINCT FROM x, JSON.
func (p *parser) isTest(left Expr, start, bp int) Expr {
	n, not := 1, ""
	if p.peekAt(1).up == "NOT" {
		n, not = 2, "NOT "
	}
	what := p.peekAt(n)
	if what.up == "DISTINCT" {
		if bpCompare <= bp {
			return nil
		}
		at := p.posOf(p.peek())
		p.i += n + 1
		p.expect("FROM")
		return p.binary(left, Op("IS "+not+"DISTINCT FROM"), at, start)
	}
	if bpIs <= bp {
		return nil
	}
	p.i += n
	switch what.up {
	case "NULL", "TRUE", "FALSE", "UNKNOWN":
		p.i++
		return &Unary{Node: p.node(start), Op: Op("IS " + not + what.up), X: left}
	case "JSON":
		p.i++
		op := Op("IS JSON")
		if t := p.peek(); t.kind == tokWord && (t.up == "OBJECT" || t.up == "ARRAY" || t.up == "SCALAR" || t.up == "VALUE") {
			p.i++
			op += Op(" " + t.up)
		}
		x := &Unary{Node: p.node(start), Op: op, X: left}
		if not != "" {
			return &Unary{Node: x.Node, Op: OpNot, X: x}
		}
		return x
	case "A":
		p.i++
		for p.is("SET") {
			p.i++
		}
		return p.unsupportedExpr("IS A SET", start)
	}
	p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	return left
}

// rangeTest reads [NOT] BETWEEN, IN, LIKE and SIMILAR TO behind left.
func (p *parser) rangeTest(left Expr, start int) Expr {
	not := p.accept("NOT")
	switch {
	case p.accept("BETWEEN"):
		b := &Between{X: left, Not: not, Symmetric: p.accept("SYMMETRIC")}
		if !b.Symmetric {
			p.accept("ASYMMETRIC")
		}
		b.Low = p.exprAbove(bpRange)
		p.expect("AND")
		b.High = p.exprAbove(bpRange)
		b.Node = p.node(start)
		return b
	case p.accept("IN"):
		in := &In{X: left, Not: not}
		p.expectOp("(")
		if p.startsQuery(0) {
			in.Query = p.query()
		} else {
			in.List = p.exprList()
		}
		p.expectOp(")")
		in.Node = p.node(start)
		return in
	case p.accept("LIKE"), p.is("SIMILAR", "TO"):
		l := &LikeExpr{X: left, Not: not}
		if p.accept("SIMILAR", "TO") {
			l.Similar = true
		}
		l.Pattern = p.exprAbove(bpRange)
		if p.accept("ESCAPE") {
			l.Escape = p.exprAbove(bpRange)
		}
		l.Node = p.node(start)
		return l
	}
	if rewrite, ok := foreignInfix[p.peek().up]; ok {
		p.fail(p.tokenPos(p.i), "the operator "+p.peek().up+" is not known", rewrite)
		return left
	}
	p.unexpected("BETWEEN, IN, LIKE or SIMILAR TO")
	return left
}

// exprList reads expressions with commas between them.
func (p *parser) exprList() []Expr {
	list := []Expr{p.expr()}
	for p.acceptOp(",") {
		list = append(list, p.expr())
	}
	return list
}

// startsQuery reports whether a query without parentheses starts at token n.
func (p *parser) startsQuery(n int) bool {
	t := p.peekAt(n)
	return t.kind == tokWord && (t.up == "SELECT" || t.up == "WITH" || t.up == "VALUES" || t.up == "TABLE")
}

// postfix reads x[i] and x.field behind an atom.
func (p *parser) postfix(x Expr, start int) Expr {
	for p.isOp("[") || p.isOp(".") {
		p.link()
		if p.acceptOp("[") {
			e := &Element{X: x, Index: p.expr()}
			p.expectOp("]")
			e.Node = p.node(start)
			x = e
			continue
		}
		p.i++
		if p.acceptOp("*") {
			return p.unsupportedExpr("all fields of a ROW", start)
		}
		f := &FieldRef{X: x, Field: p.columnName("a field name")}
		f.Node = p.node(start)
		x = f
	}
	return x
}

func (p *parser) unsupportedExpr(what string, start int) Expr {
	return &UnsupportedExpr{Node: p.node(start), What: what, Text: p.text(start)}
}
