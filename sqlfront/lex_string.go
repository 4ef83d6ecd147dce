package sqlfront

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"leat/internal/diag"
)

type stringKind uint8

const (
	plainString   stringKind = iota
	unicodeString            // U&'\00e9'
	escapedString            // E'a\n'
)

// str reads a string whose opening quote stands n bytes ahead.
func (l *lexer) str(n int, kind stringKind) {
	begin, at, first := l.pos, l.here(n+1), l.newLine
	var b strings.Builder
	hasVar, bad, errs := false, false, len(l.errs)
	line, col := l.line, l.col
	l.advance(n + 1)
	for {
		switch {
		case l.pos >= len(l.src):
			l.unclosed(at)
			l.push(token{kind: tokString, text: b.String(), bad: true, start: begin, line: line, col: col, first: first})
			return
		case l.has("''"):
			b.WriteByte('\'')
			l.advance(2)
		case l.at(0) == '\'':
			l.advance(1)
			l.backslashNotice(at, b.String())
			t := token{kind: tokString, text: b.String(), bad: bad, flawed: len(l.errs) > errs, start: begin, line: line, col: col, first: first}
			if hasVar {
				t.raw = l.src[begin:l.pos]
			}
			l.push(t)
			return
		case l.has("$${"):
			b.WriteString("${")
			l.advance(3)
		case l.has("${"):
			hasVar = true
			b.WriteString(l.variable())
		case l.at(0) == '\\' && kind != plainString:
			if !l.escape(&b, kind) {
				bad = true
			}
		default:
			_, k := utf8.DecodeRuneInString(l.src[l.pos:])
			b.WriteString(l.src[l.pos : l.pos+k])
			l.advance(k)
		}
	}
}

func (l *lexer) push(t token) {
	t.end = l.pos
	l.newLine = false
	l.toks = append(l.toks, t)
}

// backslashNotice tells those who escape quotes as in MySQL why their string ended.
func (l *lexer) backslashNotice(at diag.Pos, value string) {
	if strings.HasSuffix(value, `\`) && isNamePart(l.at(0)) {
		l.notices = append(l.notices, Notice{Pos: at, Msg: `a backslash is an ordinary character and does not escape the quote behind it; write '' for a quote`})
	}
}

// unclosed reports a string that runs to the end of the text. Often the quote is
// missing in an earlier string, which then shows as one of several lines.
func (l *lexer) unclosed(at diag.Pos) {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeLex, Pos: at, Msg: "this string is never closed", Hint: "close it with a single quote"}
	for _, t := range l.toks {
		if t.kind == tokString && strings.Contains(l.src[t.start:t.end], "\n") {
			e.Notes = append(e.Notes, fmt.Sprintf("the string that starts at line %d goes over several lines; its closing quote may be the missing one", t.line))
			break
		}
	}
	l.errs = append(l.errs, e)
}

// variable reads ${NAME} and gives its value.
func (l *lexer) variable() string {
	n := 2
	for isNamePart(l.at(n)) && l.at(n) != '$' {
		n++
	}
	name := l.src[l.pos+2 : l.pos+n]
	if name == "" || isDigit(name[0]) || l.at(n) != '}' {
		l.errorAt(l.here(2), "${ does not start a variable here", "write ${NAME} with letters, digits and _, or $${ for the two characters")
		l.advance(2)
		return "${"
	}
	at := l.here(n + 1)
	l.advance(n + 1)
	if l.vars != nil {
		if v, ok := l.vars(name); ok {
			return v
		}
	}
	l.errs = append(l.errs, &diag.Error{
		Domain: diag.User, Code: diag.CodeUnsetVariable, Pos: at, Msg: "the variable ${" + name + "} is not set",
		Hint: "set it in the environment or with --var " + name + "=…; write $${ for the two characters",
	})
	return ""
}

// escape reads one backslash sequence and reports whether it is one.
func (l *lexer) escape(b *strings.Builder, kind stringKind) bool {
	if kind == escapedString {
		if i := strings.IndexByte(`nrtbf`, l.at(1)); i >= 0 && l.at(1) != 0 {
			b.WriteByte("\n\r\t\b\f"[i])
			l.advance(2)
			return true
		}
		_, k := utf8.DecodeRuneInString(l.src[l.pos+1:])
		b.WriteString(l.src[l.pos+1 : l.pos+1+k])
		l.advance(1 + k)
		return true
	}
	if l.at(1) == '\\' {
		b.WriteByte('\\')
		l.advance(2)
		return true
	}
	skip, digits := 1, 4
	if l.at(1) == '+' {
		skip, digits = 2, 6
	}
	if end := l.pos + skip + digits; end <= len(l.src) {
		if v, err := strconv.ParseUint(l.src[l.pos+skip:end], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
			b.WriteRune(rune(v))
			l.advance(skip + digits)
			return true
		}
	}
	l.errorAt(l.here(1), "this is no unicode escape", `write \ and four hexadecimal digits, or \+ and six; \\ for a backslash`)
	l.advance(1)
	return false
}

// hexString reads x'0aff'.
func (l *lexer) hexString() {
	end := strings.IndexByte(l.src[l.pos+2:], '\'')
	if end < 0 {
		l.unclosed(l.here(2))
		l.emit(tokBinary, "", len(l.src)-l.pos).bad = true
		return
	}
	bytes, err := hex.DecodeString(l.src[l.pos+2 : l.pos+2+end])
	if err != nil {
		l.errorAt(l.here(utf8.RuneCountInString(l.src[l.pos:l.pos+end+3])), "a binary literal needs an even number of hexadecimal digits", "write two digits for each byte, such as x'0aff'")
	}
	l.emit(tokBinary, string(bytes), end+3).bad = err != nil
}

// doubleQuoted reads "text". Only SET and RESET may have it, as a string.
func (l *lexer) doubleQuoted(allowed bool) {
	end := strings.IndexAny(l.src[l.pos+1:], "\"\n")
	if end < 0 || l.src[l.pos+1+end] == '\n' {
		l.errorAt(l.here(1), "this double quote is never closed", "write strings in single quotes and names in backticks")
		l.emit(tokString, "", l.lineEnd()).bad = true
		return
	}
	text := l.src[l.pos+1 : l.pos+1+end]
	at := l.here(utf8.RuneCountInString(text) + 2)
	if allowed {
		l.notice(at, "Flink's planner does not know double quotes; write single quotes")
		l.emit(tokString, text, end+2)
		return
	}
	l.errorAt(at, "double quotes mark neither strings nor names", fmt.Sprintf("write '%s' for a string or `%s` for a name", text, text))
	l.emit(tokString, text, end+2).bad = true
}

// rawArguments reads what may stand unquoted behind SET, RESET, ADD and REMOVE.
func (l *lexer) rawArguments(first string) {
	switch first {
	case "SET":
		if !l.rawItem(" \t\r\n=;") {
			return
		}
		if l.skipSpace(); l.at(0) == '=' {
			l.emit(tokOp, "=", 1)
			l.rawItem("\r\n;")
		}
	case "RESET":
		l.rawItem(" \t\r\n;")
	case "ADD", "REMOVE":
		l.skipSpace()
		if n := l.wordLen(); n > 0 {
			l.emit(tokWord, l.src[l.pos:l.pos+n], n)
			l.rawItem("\r\n;")
		}
	}
}

// rawItem reads a quoted or an unquoted item, which one of the stop characters or
// a comment ends, and reports whether there is one.
func (l *lexer) rawItem(stop string) bool {
	l.skipSpace()
	switch c := l.at(0); {
	case l.pos >= len(l.src), c == ';', c == '=':
		return false
	case c == '\'':
		l.str(0, plainString)
	case c == '"':
		l.doubleQuoted(true)
	default:
		n := strings.IndexAny(l.src[l.pos:], stop)
		if n < 0 {
			n = len(l.src) - l.pos
		}
		text := l.src[l.pos : l.pos+n]
		for _, comment := range []string{" --", "\t--", " /*"} {
			if i := strings.Index(text, comment); i >= 0 {
				text = text[:i]
			}
		}
		text = strings.TrimRight(text, " \t\r")
		l.notice(l.here(utf8.RuneCountInString(text)), fmt.Sprintf("Flink wants quotes here; write '%s'", text))
		l.emit(tokRaw, text, len(text))
	}
	return true
}
