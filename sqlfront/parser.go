package sqlfront

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"leat/internal/diag"
)

// Parse reads a script. vars gives the values of ${NAME} in string literals; nil
// knows none. The Script is never nil: with errors (a diag.List, in order of
// position, codes LEAT-1001 to LEAT-1004) it holds the statements that could be read.
func Parse(file, text string, vars func(name string) (value string, ok bool)) (*Script, error) {
	l := lex(file, text, vars)
	p := &parser{file: file, src: text, toks: l.toks, errs: l.errs, notices: l.notices}
	s := &Script{File: file, Text: text}
	s.Statements = p.script()
	s.Notices = p.notices
	sort.SliceStable(s.Notices, func(i, j int) bool {
		a, b := s.Notices[i].Pos, s.Notices[j].Pos
		return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
	})
	return s, p.errs.Err()
}

const (
	// maxDepth bounds how deep expressions, queries and types may nest.
	maxDepth = 200
	// maxChain bounds the operators, joins and set operations of one statement:
	// each makes the tree deeper.
	maxChain = 20_000
)

// parser is a recursive-descent parser. An error that stops a statement sets
// failed; from then on the current token is the end of the text, so that every
// loop ends, and the statement is left out. Errors reported by soft do not stop it.
type parser struct {
	file    string
	src     string
	toks    []token
	i       int
	failed  bool
	depth   int
	chain   int
	errs    diag.List
	notices []Notice
	// quit follows QUIT and EXIT: the rest of the script is not read.
	quit bool
	// set says that the statement just read holds others, whose errors are settled.
	set bool
}

func (p *parser) script() []Statement {
	var list []Statement
	for !p.quit && p.toks[p.i].kind != tokEOF {
		if p.toks[p.i].is(";") {
			p.i++
			continue
		}
		if st := p.one(false); st != nil {
			list = append(list, st)
		}
	}
	return list
}

// one reads a statement up to and without its ";" and gives nil if there was an
// error in it. inSet stops at END too.
func (p *parser) one(inSet bool) Statement {
	start, errs := p.i, len(p.errs)
	p.failed, p.depth, p.chain, p.set = false, 0, 0, false
	st := p.statement()
	if span := spanOf(st); span != nil && !p.failed {
		span.At = p.tokenPos(start)
		span.Source = p.src[p.toks[start].start:p.toks[p.i-1].end]
	}
	p.expectEnd(inSet)
	stop := p.i
	if p.failed {
		p.failed = false
		for !p.toks[stop].is(";") && p.toks[stop].kind != tokEOF {
			stop++
		}
		p.i = stop
	}
	bad, flawed := false, false
	for _, t := range p.toks[start : stop+1] {
		bad, flawed = bad || t.bad, flawed || t.flawed
	}
	if bad && !p.set {
		p.errs = p.errs[:errs] // they only repeat what the lexer said
	}
	if bad || flawed || len(p.errs) > errs {
		return nil
	}
	return st
}

// expectEnd checks that the statement ends here. Where only the ";" is missing, reading goes on.
func (p *parser) expectEnd(inSet bool) {
	t := p.peek()
	if p.failed || t.kind == tokEOF || t.is(";") || inSet && t.up == "END" {
		return
	}
	if before := p.toks[p.i-1]; t.first && t.kind == tokWord && opensStatement[t.up] {
		at := p.posOf(before)
		p.soft(at, fmt.Sprintf("the statement that starts at line %d needs a ';' before it", t.line), "end this statement with ;")
		return
	}
	p.unexpected("the end of the statement")
}

// peek gives the current token; the end of the text after a failure.
func (p *parser) peek() token { return p.peekAt(0) }

func (p *parser) peekAt(n int) token {
	if p.failed || p.i+n >= len(p.toks) {
		return token{kind: tokEOF}
	}
	return p.toks[p.i+n]
}

func (p *parser) next() token {
	t := p.peek()
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

// back steps back over t, which next gave.
func (p *parser) back(t token) {
	if t.kind != tokEOF {
		p.i--
	}
}

// is reports whether the next words are these, which are not quoted.
func (p *parser) is(words ...string) bool {
	for n, w := range words {
		if t := p.peekAt(n); t.kind != tokWord || t.up != w {
			return false
		}
	}
	return true
}

// accept steps over these words if they are next.
func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.i += len(words)
	return true
}

func (p *parser) isOp(op string) bool { return p.peek().is(op) }

func (p *parser) acceptOp(op string) bool {
	if !p.isOp(op) {
		return false
	}
	p.i++
	return true
}

func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.unexpected(w)
			return
		}
	}
}

func (p *parser) expectOp(op string) {
	if !p.acceptOp(op) {
		p.unexpected("'" + op + "'")
	}
}

// fail reports an error that ends the statement.
func (p *parser) fail(at diag.Pos, msg, hint string) {
	if !p.failed {
		p.soft(at, msg, hint)
		p.failed = true
	}
}

// soft reports an error and lets the statement go on.
func (p *parser) soft(at diag.Pos, msg, hint string) { p.report(diag.CodeParse, at, msg, hint) }

func (p *parser) report(code diag.Code, at diag.Pos, msg, hint string) {
	if !p.failed {
		p.errs = append(p.errs, &diag.Error{Domain: diag.User, Code: code, Pos: at, Msg: msg, Hint: hint})
	}
}

// refuse reports syntax that leat will not run and ends the statement.
func (p *parser) refuse(at diag.Pos, what, hint string) {
	if !p.failed {
		p.errs = append(p.errs, unsupported(at, what, hint))
		p.failed = true
	}
}

func (p *parser) notice(at diag.Pos, msg string) {
	if !p.failed {
		p.notices = append(p.notices, Notice{Pos: at, Msg: msg, Portable: true})
	}
}

// unexpected fails at the current token.
func (p *parser) unexpected(want string) {
	t := p.peek()
	if p.failed {
		return
	}
	at, found := p.posOf(t), p.shown(t)
	hint := "write " + want + " here"
	switch {
	case p.escapedQuote():
		hint = `a backslash does not escape the quote behind it; write '' for a quote`
	case t.kind == tokEOF || t.is(";"):
		found = "the end of the statement"
		if p.i > 0 && t.kind == tokEOF {
			at = p.posOf(p.toks[p.i-1])
		}
	case t.kind == tokWord && reserved[t.up] && strings.Contains(want, "name"):
		hint += fmt.Sprintf("; %s as a name needs backticks: `%s`", t.up, t.text)
	case want == "the end of the statement":
		hint = "remove it, or end the statement with ; before it"
	}
	p.fail(at, fmt.Sprintf("expected %s, found %s", want, found), hint)
}

// shown gives the first line of a token for a message.
func (p *parser) shown(t token) string {
	text, _, more := strings.Cut(p.src[t.start:t.end], "\n")
	if short := firstChars(text, 40); more || short != text {
		text = strings.TrimRight(short, "\r ") + "…"
	}
	if t.kind == tokString || t.kind == tokQuoted || t.kind == tokBinary {
		return text
	}
	return "'" + text + "'"
}

// escapedQuote reports whether a string shortly before ends with a backslash.
func (p *parser) escapedQuote() bool {
	for _, t := range p.toks[max(p.i-3, 0):p.i] {
		if t.kind == tokString && strings.HasSuffix(t.text, `\`) {
			return true
		}
	}
	return false
}

func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// enter counts nesting and reports whether it is not too deep; leave undoes it.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.posOf(p.peek()), fmt.Sprintf("nested more than %d levels deep", maxDepth), "split the expression or the query")
		return false
	}
	return true
}

// link counts an operator that stands in a row with others.
func (p *parser) link() {
	if p.chain++; p.chain > maxChain {
		p.fail(p.posOf(p.peek()), fmt.Sprintf("more than %d operators in one statement", maxChain), "split the statement; for many values use IN")
	}
}

func (p *parser) leave() { p.depth-- }

// posOf covers a token as far as its first line goes.
func (p *parser) posOf(t token) diag.Pos { return p.cover(t, t.end) }

func (p *parser) tokenPos(i int) diag.Pos { return p.posOf(p.toks[i]) }

// since covers the tokens from number start to the last one read.
func (p *parser) since(start int) diag.Pos {
	return p.cover(p.toks[start], p.toks[max(p.i-1, start)].end)
}

func (p *parser) cover(t token, end int) diag.Pos {
	text := p.src[t.start:end]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = strings.TrimRight(text[:i], "\r")
	}
	return diag.Pos{File: p.file, Line: t.line, Col: t.col, Len: utf8.RuneCountInString(text)}
}

// text gives the source from token number start to the last one read.
func (p *parser) text(start int) string {
	if p.i <= start {
		return ""
	}
	return p.src[p.toks[start].start:p.toks[p.i-1].end]
}

// skipRest steps to the end of the statement and gives its text.
func (p *parser) skipRest() string {
	start := p.i
	for t := p.peek(); t.kind != tokEOF && !t.is(";"); t = p.peek() {
		p.i++
	}
	return p.text(start)
}

// skipParens steps over a balanced (…).
func (p *parser) skipParens() {
	p.expectOp("(")
	for depth := 1; depth > 0 && !p.failed; {
		switch t := p.peek(); {
		case t.kind == tokEOF || t.is(";"):
			p.unexpected("')'")
			return
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		p.i++
	}
}
