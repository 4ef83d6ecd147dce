package expr

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"leat/internal/columnar"
)

var patternFunctions = []*function{
	{name: "LIKE", form: infixForm, minArgs: 2, maxArgs: 3, bind: takes(following(boolType(true)), textParam), build: buildLike},
	{name: "NOT LIKE", form: infixForm, minArgs: 2, maxArgs: 3, bind: takes(following(boolType(true)), textParam), build: buildLike},
	{name: "SIMILAR TO", form: infixForm, minArgs: 2, maxArgs: 2, bind: takes(following(boolType(true)), textParam), build: buildSimilar},
	{name: "NOT SIMILAR TO", form: infixForm, minArgs: 2, maxArgs: 2, bind: takes(following(boolType(true)), textParam), build: buildSimilar},
	{name: "REGEXP", minArgs: 2, maxArgs: 2, bind: takes(following(boolType(true)), textParam), build: buildRegexp},
	{name: "REGEXP_REPLACE", minArgs: 3, maxArgs: 3, bind: takes(following(columnar.StringType()), textParam), build: buildRegexpReplace},
	{name: "REGEXP_EXTRACT", minArgs: 2, maxArgs: 3, bind: takes(always(columnar.StringType()), textParam, textParam, intParam), build: buildRegexpExtract},
	{name: "IS_ALPHA", minArgs: 1, maxArgs: 1, bind: takes(following(boolType(true)), textParam), build: everyRune(unicode.IsLetter)},
	{name: "IS_DIGIT", minArgs: 1, maxArgs: 1, bind: takes(following(boolType(true)), textParam), build: everyRune(unicode.IsDigit)},
	{name: "IS_DECIMAL", minArgs: 1, maxArgs: 1, bind: takes(following(boolType(true)), textParam), build: building(func() loop {
		return fixedRows(func(in []*vector, i int) (bool, bool) {
			_, state := parseDouble(in[0].strs[i], 64)
			return state == parsed, true
		})
	})},
}

func everyRune(is func(rune) bool) func(*compiler, *callExpr) (node, error) {
	return building(func() loop {
		return fixedRows(func(in []*vector, i int) (bool, bool) {
			s := in[0].strs[i]
			return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0, true
		})
	})
}

// likePattern is a LIKE pattern cut at its %: the parts must follow one another,
// the first at the start, the last at the end.
type likePattern struct {
	parts []likePart
}

// likePart is text between two %, in which _ stands for any one character.
type likePart struct {
	text string
	// single marks the bytes of text that are the wildcard _; nil if there is none.
	single []bool
}

// compileLike reads a pattern; there is no escape character unless given. ok is
// false if the escape stands before anything but %, _ and itself.
func compileLike(pattern, escape string) (p *likePattern, ok bool) {
	p = &likePattern{}
	var part likePart
	var text strings.Builder
	var single []bool
	wild := false
	flush := func() {
		part.text = text.String()
		if wild {
			part.single = single
		}
		p.parts = append(p.parts, part)
		part, single, wild = likePart{}, nil, false
		text.Reset()
	}
	for s := pattern; s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		char := s[:size]
		s = s[size:]
		switch {
		case escape != "" && char == escape:
			if s == "" || s[0] != '%' && s[0] != '_' && !strings.HasPrefix(s, escape) {
				return nil, false
			}
			_, n := utf8.DecodeRuneInString(s)
			char = s[:n]
			s = s[n:]
			text.WriteString(char)
			single = append(single, make([]bool, len(char))...)
		case r == '%':
			flush()
		case r == '_':
			text.WriteByte('_')
			single = append(single, true)
			wild = true
		default:
			text.WriteString(char)
			single = append(single, make([]bool, len(char))...)
		}
	}
	flush()
	return p, true
}

func (p *likePattern) match(s string) bool {
	first, last := &p.parts[0], &p.parts[len(p.parts)-1]
	n := first.prefix(s)
	if len(p.parts) == 1 {
		return n == len(s)
	}
	if n < 0 {
		return false
	}
	s = s[n:]
	for i := 1; i < len(p.parts)-1; i++ {
		end := p.parts[i].find(s)
		if end < 0 {
			return false
		}
		s = s[end:]
	}
	return last.suffix(s)
}

// prefix gives the bytes of s that the part covers at its start, -1 for no match.
func (p *likePart) prefix(s string) int {
	if p.single == nil {
		if strings.HasPrefix(s, p.text) {
			return len(p.text)
		}
		return -1
	}
	at := 0
	for i := range len(p.text) {
		if at >= len(s) {
			return -1
		}
		if p.single[i] {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
			continue
		}
		if s[at] != p.text[i] {
			return -1
		}
		at++
	}
	return at
}

// find gives the end of the first place in s that the part covers, -1 for none.
func (p *likePart) find(s string) int {
	if p.single == nil {
		i := strings.Index(s, p.text)
		if i < 0 {
			return -1
		}
		return i + len(p.text)
	}
	for i := range s {
		if n := p.prefix(s[i:]); n >= 0 {
			return i + n
		}
	}
	return -1
}

func (p *likePart) suffix(s string) bool {
	if p.single == nil {
		return strings.HasSuffix(s, p.text)
	}
	chars := utf8.RuneCountInString(p.text)
	skip := utf8.RuneCountInString(s) - chars
	if skip < 0 {
		return false
	}
	s = s[len(prefixRunes(s, skip)):]
	return p.prefix(s) == len(s)
}

func buildLike(c *compiler, e *callExpr) (node, error) {
	escape := ""
	if len(e.args) > 2 {
		var ok bool
		if escape, ok = constantText(e.args[2]); !ok || utf8.RuneCountInString(escape) != 1 {
			return nil, typeError("write ESCAPE '!'", "ESCAPE takes one character, not %s", String(e.args[2]))
		}
	}
	if text, ok := constantText(e.args[1]); ok {
		if _, ok := compileLike(text, escape); !ok {
			return nil, typeError("put the escape character before %, _ or itself only", "'%s' is not a LIKE pattern with ESCAPE '%s'", text, escape)
		}
	}
	not := e.fn.name == "NOT LIKE"
	var last string
	var p *likePattern
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (bool, bool) {
		if text := in[1].strs[i]; p == nil || text != last {
			compiled, ok := compileLike(text, escape)
			if !ok {
				return false, false
			}
			p, last = compiled, strings.Clone(text)
		}
		return p.match(in[0].strs[i]) != not, true
	}))
}

// regexps compiles patterns, keeping the last one; a pattern that cannot be
// compiled is an error if it is constant, else gives NULL.
type regexps struct {
	rewrite func(string) string
	text    string
	re      *regexp.Regexp
	known   bool
}

func newRegexps(pattern Expr, rewrite func(string) string) (*regexps, error) {
	r := &regexps{rewrite: rewrite}
	if text, ok := constantText(pattern); ok && r.get(text) == nil {
		return nil, typeError("write the pattern without look-around, back-references and possessive quantifiers",
			"'%s' is not a regular expression that leat runs", text)
	}
	return r, nil
}

func (r *regexps) get(text string) *regexp.Regexp {
	if !r.known || text != r.text {
		re, err := regexp.Compile(r.rewrite(text))
		if err != nil {
			re = nil
		}
		r.re, r.text, r.known = re, strings.Clone(text), true
	}
	return r.re
}

func unchanged(s string) string { return s }

// similarToRegexp writes an SQL SIMILAR TO pattern as a regular expression.
func similarToRegexp(s string) string {
	var b strings.Builder
	b.WriteString(`(?s)^(?:`)
	for _, r := range s {
		switch r {
		case '%':
			b.WriteString(".*")
		case '_':
			b.WriteByte('.')
		case '.', '$', '^', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(`)$`)
	return b.String()
}

func buildSimilar(c *compiler, e *callExpr) (node, error) {
	return matching(c, e, similarToRegexp, e.fn.name == "NOT SIMILAR TO")
}

func buildRegexp(c *compiler, e *callExpr) (node, error) { return matching(c, e, unchanged, false) }

func matching(c *compiler, e *callExpr, rewrite func(string) string, not bool) (node, error) {
	r, err := newRegexps(e.args[1], rewrite)
	if err != nil {
		return nil, err
	}
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (bool, bool) {
		re := r.get(in[1].strs[i])
		return re != nil && re.MatchString(in[0].strs[i]) != not, re != nil
	}))
}

func buildRegexpReplace(c *compiler, e *callExpr) (node, error) {
	r, err := newRegexps(e.args[1], unchanged)
	if err != nil {
		return nil, err
	}
	return c.loopOver(e, textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
		re := r.get(in[1].strs[i])
		if re == nil {
			return "", false
		}
		return re.ReplaceAllString(in[0].strs[i], javaReplacement(in[2].strs[i])), true
	}))
}

// javaReplacement writes $1 as ${1} and \x as x, which Go reads as Java reads the former.
func javaReplacement(s string) string {
	if !strings.ContainsAny(s, `$\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] == '$' {
				b.WriteByte('$')
			}
			b.WriteByte(s[i])
		case s[i] == '$' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			i++
			b.WriteString("${" + s[i:i+1] + "}")
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func buildRegexpExtract(c *compiler, e *callExpr) (node, error) {
	r, err := newRegexps(e.args[1], unchanged)
	if err != nil {
		return nil, err
	}
	return c.loopOver(e, textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
		re, group := r.get(in[1].strs[i]), 0
		if len(in) > 2 {
			group = intAt(in[2], i)
		}
		if re == nil || group < 0 || group > re.NumSubexp() {
			return "", false
		}
		m := re.FindStringSubmatchIndex(in[0].strs[i])
		if m == nil || m[2*group] < 0 {
			return "", false
		}
		return in[0].strs[i][m[2*group]:m[2*group+1]], true
	}))
}
