package sqlfront

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreignOp is an operator of other systems with its rewrite; as is how it is
// read so that the rest of the statement can be checked too.
type foreignOp struct{ text, as, hint string }

var foreignOps = []foreignOp{
	{"<=>", "<=>", "write a IS NOT DISTINCT FROM b"},
	{"==", "=", "write ="},
	{"::", "", "write CAST(x AS type)"},
	{"&&", "", "write AND"},
	{"<<", "", "there are no bit operators; compute with * and /"},
	{">>=", "", "there are no bit operators; compute with * and /"},
	{"->", "", "write JSON_VALUE(x, '$.path')"},
	{":=", "", "there are no variables; use ${NAME} inside a string"},
	{"^", "", "write POWER(a, b)"},
	{"&", "", "there are no bit operators"},
	{"|", "", "write || to join strings"},
	{"~", "", "write REGEXP(text, pattern)"},
	{"!", "", "write NOT"},
	{"@", "", "there are no session variables; use ${NAME} inside a string"},
	{"\\", "", "a backslash has no meaning outside of strings"},
}

// lookalikes are characters that texts from documents bring in instead of ASCII.
var lookalikes = map[rune]string{
	'；': ";", '，': ",", '（': "(", '）': ")", '＝': "=", '．': ".", '－': "-", '–': "-", '—': "-", '＊': "*",
	'‘': "'", '’': "'", '“': "'", '”': "'", '＇': "'", '｀': "`", '\u00a0': " ", '\u3000': " ", '\u200b': " ", '\ufeff': " ",
}

func (l *lexer) operator() {
	for _, op := range []string{"!=", "<>", "<=", ">=", "||", "=>"} {
		if !l.has(op) || l.has("<=>") {
			continue
		}
		text := op
		if op == "!=" {
			l.notice(l.here(2), "Flink does not know !=; write <>")
			text = "<>"
		}
		l.emit(tokOp, text, 2)
		return
	}
	for _, f := range foreignOps {
		if l.has(f.text) {
			l.errorAt(l.here(len(f.text)), fmt.Sprintf("the operator %s is not known", f.text), f.hint)
			as := f.as
			if as == "" {
				as = f.text
			}
			t := l.emit(tokOp, as, len(f.text))
			t.bad, t.flawed = f.as == "", true
			return
		}
	}
	if c := l.at(0); strings.IndexByte(";,().=<>+-*/%[]{}?:", c) >= 0 && c != 0 {
		l.emit(tokOp, string(c), 1)
		return
	}
	l.strange()
}

// strange reads a character that no token starts with.
func (l *lexer) strange() {
	r, n := utf8.DecodeRuneInString(l.src[l.pos:])
	at := l.here(1)
	if as, ok := lookalikes[r]; ok {
		msg := fmt.Sprintf("%q (U+%04X) is not the character it looks like", r, r)
		hint := "write " + as
		if as == " " {
			hint = "write an ordinary space"
		}
		l.errorAt(at, msg, hint)
		switch as {
		case " ":
			l.advance(n)
		case "'", "`":
			l.emit(tokString, "", l.lookalikeQuote(n)).bad = true
		default:
			l.emit(tokOp, as, n).flawed = true
		}
		return
	}
	if unicode.IsLetter(r) {
		l.foreignWord(n)
		return
	}
	l.errorAt(at, fmt.Sprintf("the character %q has no meaning here", r), "remove it, or put it in a string or in backticks")
	l.emit(tokOp, string(r), n).bad = true
}

// foreignWord reads a name with letters beyond ASCII, whose first n bytes are known.
func (l *lexer) foreignWord(n int) {
	for n < l.lineEnd() {
		r, size := utf8.DecodeRuneInString(l.src[l.pos+n:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			break
		}
		n += size
	}
	word := l.src[l.pos : l.pos+n]
	l.errorAt(l.here(utf8.RuneCountInString(word)), "a bare name has only A–Z, a–z, 0–9, _ and $", "write `"+word+"`")
	l.emit(tokQuoted, word, n).flawed = true
}

// lookalikeQuote gives the length of a text in typographic quotes, n being that of the first.
func (l *lexer) lookalikeQuote(n int) int {
	line := l.src[l.pos : l.pos+l.lineEnd()]
	if end := strings.IndexAny(line[n:], "‘’“”＇'｀"); end >= 0 {
		_, k := utf8.DecodeRuneInString(line[n+end:])
		return n + end + k
	}
	return n
}
