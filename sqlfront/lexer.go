package sqlfront

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"leat/internal/diag"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokWord
	tokQuoted // `name`
	tokString
	tokBinary // x'0aff'; text holds the bytes
	tokNumber
	tokOp
	tokHintOpen
	tokHintClose
	tokRaw // unquoted key, value or path of SET, RESET, ADD JAR
)

// token is one token; start and end are byte offsets.
type token struct {
	kind tokenKind
	text string // name, value of a string, digits of a number, operator
	up   string // upper-case text of a word
	raw  string // a string as written, if it has ${NAME} in it
	// bad marks text that could not be read: errors of the parser about the
	// statement would only repeat that.
	bad bool
	// flawed marks text with an error that the parser can look past.
	flawed     bool
	first      bool // first token of its line
	start, end int
	line, col  int
}

const bom = "\ufeff"

// lexer cuts the text into tokens. It never stops at an error: it records it and
// goes on with what was most likely meant.
type lexer struct {
	file    string
	src     string
	vars    func(string) (string, bool)
	pos     int
	line    int
	col     int
	inHint  bool
	hint    int // the token that opened the hint
	hintAt  diag.Pos
	newLine bool // no token on this line yet
	toks    []token
	errs    diag.List
	notices []Notice
}

func lex(file, src string, vars func(string) (string, bool)) *lexer {
	l := &lexer{file: file, src: src, vars: vars, line: 1, col: 1, newLine: true}
	if strings.HasPrefix(src, bom) {
		l.pos = len(bom)
	}
	for l.skipSpace(); l.pos < len(l.src); l.skipSpace() {
		l.next()
	}
	if l.inHint {
		l.toks[l.hint].bad = true
		l.errorAt(l.hintAt, "this hint is never closed", "close it with */")
	}
	l.toks = append(l.toks, token{kind: tokEOF, start: l.pos, end: l.pos, line: l.line, col: l.col})
	return l
}

// advance steps over n bytes, which must end at a character edge.
func (l *lexer) advance(n int) {
	for _, r := range l.src[l.pos : l.pos+n] {
		if r == '\n' {
			l.line, l.col, l.newLine = l.line+1, 1, true
		} else {
			l.col++
		}
	}
	l.pos += n
}

func (l *lexer) has(s string) bool { return strings.HasPrefix(l.src[l.pos:], s) }

func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// here gives the place of the next n characters, as far as the line goes.
func (l *lexer) here(n int) diag.Pos {
	rest := l.src[l.pos : l.pos+l.lineEnd()]
	if n > 3 {
		n = min(n, utf8.RuneCountInString(rest))
	}
	return diag.Pos{File: l.file, Line: l.line, Col: l.col, Len: n}
}

func (l *lexer) errorAt(at diag.Pos, msg, hint string) {
	l.errs = append(l.errs, &diag.Error{Domain: diag.User, Code: diag.CodeLex, Pos: at, Msg: msg, Hint: hint})
}

func (l *lexer) notice(at diag.Pos, msg string) {
	l.notices = append(l.notices, Notice{Pos: at, Msg: msg, Portable: true})
}

// emit appends a token of n source bytes and steps over them.
func (l *lexer) emit(kind tokenKind, text string, n int) *token {
	t := token{kind: kind, text: text, start: l.pos, end: l.pos + n, line: l.line, col: l.col, first: l.newLine}
	if kind == tokWord {
		t.up = strings.ToUpper(text)
	}
	l.newLine = false
	l.advance(n)
	l.toks = append(l.toks, t)
	return &l.toks[len(l.toks)-1]
}

// lineEnd gives the bytes up to the end of the line.
func (l *lexer) lineEnd() int {
	if n := strings.IndexByte(l.src[l.pos:], '\n'); n >= 0 {
		return n
	}
	return len(l.src) - l.pos
}

// skipSpace steps over white space and comments; hints are no comments.
func (l *lexer) skipSpace() {
	for l.pos < len(l.src) {
		switch {
		case l.has("--"):
			l.advance(l.lineEnd())
		case l.has("/*") && !l.has("/*+"):
			end := strings.Index(l.src[l.pos+2:], "*/")
			if end < 0 {
				l.errorAt(l.here(2), "this comment is never closed", "close it with */")
				l.advance(len(l.src) - l.pos)
				return
			}
			l.advance(end + 4)
		case l.has("//") || l.at(0) == '#':
			mark := "#"
			if l.at(0) == '/' {
				mark = "//"
			}
			l.errorAt(l.here(len(mark)), fmt.Sprintf("%q starts no comment", mark), `write "--" for a comment`)
			l.advance(l.lineEnd())
		default:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if r > unicode.MaxLatin1 || r == '\u00a0' || !unicode.IsSpace(r) {
				return
			}
			l.advance(n)
		}
	}
}

// atStatementStart reports whether the next token opens a statement.
func (l *lexer) atStatementStart() bool {
	return len(l.toks) == 0 || l.toks[len(l.toks)-1].is(";")
}

func (t token) is(op string) bool { return t.kind == tokOp && t.text == op }

func (l *lexer) next() {
	c := l.at(0)
	switch {
	case isNameStart(rune(c)):
		l.word()
	case c >= '0' && c <= '9', c == '.' && isDigit(l.at(1)) && !l.afterName():
		l.number()
	case c == '\'':
		l.str(0, plainString)
	case c == '`':
		l.quotedName()
	case c == '"':
		l.doubleQuoted(false)
	case l.has("/*+"):
		l.inHint, l.hint, l.hintAt = true, len(l.toks), l.here(3)
		l.emit(tokHintOpen, "/*+", 3)
	case l.inHint && l.has("*/"):
		l.inHint = false
		l.emit(tokHintClose, "*/", 2)
	default:
		l.operator()
	}
}

// afterName reports whether the text follows a name directly, so that "." joins names.
func (l *lexer) afterName() bool {
	if len(l.toks) == 0 {
		return false
	}
	t := l.toks[len(l.toks)-1]
	return t.end == l.pos && (t.kind == tokWord || t.kind == tokQuoted)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func isNamePart(c byte) bool { return isNameStart(rune(c)) || isDigit(c) || c == '$' }

func (l *lexer) wordLen() int {
	n := 0
	for isNamePart(l.at(n)) {
		n++
	}
	return n
}

func (l *lexer) word() {
	n := l.wordLen()
	text := l.src[l.pos : l.pos+n]
	if l.at(n) == '\'' && l.prefixed(text, n) {
		return
	}
	if (text == "U" || text == "u") && l.at(n) == '&' && l.at(n+1) == '\'' {
		l.str(n+1, unicodeString)
		return
	}
	if r, _ := utf8.DecodeRuneInString(l.src[l.pos+n:]); r > unicode.MaxASCII && unicode.IsLetter(r) {
		l.foreignWord(n)
		return
	}
	start := l.atStatementStart()
	t := l.emit(tokWord, text, n)
	if start {
		l.rawArguments(t.up)
	}
}

// prefixed reads a string with a prefix of n bytes and reports whether there is such a prefix.
func (l *lexer) prefixed(prefix string, n int) bool {
	switch up := strings.ToUpper(prefix); {
	case up == "X":
		l.hexString()
	case up == "N", prefix[0] == '_':
		l.str(n, plainString)
	case up == "E":
		l.notice(l.here(1), "E'…' strings need Flink 2.0")
		l.str(n, escapedString)
	case up == "B":
		l.errorAt(l.here(1), "bit strings are not known", "write the bytes as x'0aff'")
		l.str(n, plainString)
		l.toks[len(l.toks)-1].bad = true
	default:
		return false
	}
	return true
}

func (l *lexer) number() {
	n := 0
	digits := func() {
		for isDigit(l.at(n)) {
			n++
		}
	}
	digits()
	if l.at(n) == '.' {
		n++
		digits()
	}
	if e := l.at(n); e == 'e' || e == 'E' {
		k := n + 1
		if l.at(k) == '+' || l.at(k) == '-' {
			k++
		}
		if isDigit(l.at(k)) {
			n = k
			digits()
		}
	}
	tail := 0
	for isNamePart(l.at(n + tail)) {
		tail++
	}
	text := l.src[l.pos : l.pos+n]
	if tail == 0 {
		l.emit(tokNumber, text, n)
		return
	}
	all := l.src[l.pos : l.pos+n+tail]
	hint := "put a space between them, or the name in backticks"
	switch {
	case strings.HasPrefix(all, "0x"), strings.HasPrefix(all, "0X"):
		hint = "write the number in decimal, or bytes as x'0aff'"
	case strings.Trim(all, "0123456789_") == "":
		hint = "write " + strings.ReplaceAll(all, "_", "")
	}
	l.errorAt(l.here(n+tail), fmt.Sprintf("%s would be read as %s and the name %s", all, text, all[n:]), hint)
	l.emit(tokNumber, text, n+tail).bad = true
}

func (l *lexer) quotedName() {
	var b strings.Builder
	for n := 1; ; n++ {
		switch c := l.at(n); {
		case c == 0 && l.pos+n >= len(l.src), c == '\n':
			l.errorAt(l.here(1), "this backtick is never closed", "close the name with a backtick")
			l.emit(tokQuoted, b.String(), n).bad = true
			return
		case c == '`' && l.at(n+1) == '`':
			b.WriteByte('`')
			n++
		case c == '`':
			at := l.here(n + 1)
			t := l.emit(tokQuoted, b.String(), n+1)
			if b.Len() == 0 || utf8.RuneCountInString(t.text) > 1024 {
				t.bad = true
				l.errorAt(at, "a name has 1 to 1024 characters", "give the object another name")
			}
			return
		default:
			b.WriteByte(c)
		}
	}
}
