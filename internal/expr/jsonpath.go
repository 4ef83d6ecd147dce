package expr

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// jsonStep is one step of a JSON path: a member, an element, or with all each of them.
type jsonStep struct {
	name    string
	index   int
	isIndex bool
	all     bool
}

// jsonPath is a path such as "lax $.a[0].b".
type jsonPath struct {
	strict bool
	steps  []jsonStep
	// many says that the path may lead to several values, which are taken as one array.
	many bool
}

// parseJSONPath reads [lax | strict] $ with steps .name, ."name", .*, ['name'], [n] and
// [*]; ok is false for others, such as filters.
func parseJSONPath(s string) (p jsonPath, ok bool) {
	s = strings.TrimSpace(s)
	if rest, is := strings.CutPrefix(s, "strict "); is {
		p.strict, s = true, strings.TrimSpace(rest)
	} else if rest, is := strings.CutPrefix(s, "lax "); is {
		s = strings.TrimSpace(rest)
	}
	s, ok = strings.CutPrefix(s, "$")
	for ok && s != "" {
		var step jsonStep
		switch s[0] {
		case '.':
			step, s, ok = dotStep(s[1:])
		case '[':
			step, s, ok = bracketStep(s[1:])
		default:
			ok = false
		}
		p.steps, p.many = append(p.steps, step), p.many || step.all
	}
	return p, ok
}

func dotStep(s string) (step jsonStep, rest string, ok bool) {
	if rest, is := strings.CutPrefix(s, "*"); is {
		return jsonStep{all: true}, rest, true
	}
	if strings.HasPrefix(s, `"`) {
		name, rest, closed := strings.Cut(s[1:], `"`)
		return jsonStep{name: name}, rest, closed
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return jsonStep{name: s[:end]}, s[end:], end > 0 && !strings.ContainsAny(s[:end], " ()?@*'\"")
}

func bracketStep(s string) (step jsonStep, rest string, ok bool) {
	if len(s) > 0 && (s[0] == '\'' || s[0] == '"') {
		name, rest, _ := strings.Cut(s[1:], s[:1])
		rest, ok = strings.CutPrefix(rest, "]")
		return jsonStep{name: name}, rest, ok
	}
	inner, rest, ok := strings.Cut(s, "]")
	if inner == "*" {
		return jsonStep{all: true}, rest, ok
	}
	n, err := strconv.Atoi(strings.TrimSpace(inner))
	return jsonStep{index: n, isIndex: true}, rest, ok && err == nil
}

// validJSON reports whether s is one JSON text.
func validJSON(s string) bool {
	return s != "" && json.Valid(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// find gives the texts of the values that p leads to in valid JSON.
func (p *jsonPath) find(doc string) []string {
	at := []string{strings.Trim(doc, jsonSpace)}
	for _, step := range p.steps {
		var next []string
		for _, v := range at {
			next = step.of(v, next)
		}
		at = next
	}
	return at
}

const jsonSpace = " \t\r\n"

// of adds what the step finds in v.
func (s *jsonStep) of(v string, found []string) []string {
	switch {
	case v[0] == '{' && (s.all || !s.isIndex):
		last := ""
		eachMember(v, func(name, value string) {
			switch {
			case s.all:
				found = append(found, value)
			case jsonText(name) == s.name:
				last = value // of equal names the last one counts
			}
		})
		if last != "" {
			found = append(found, last)
		}
	case v[0] == '[' && (s.all || s.isIndex):
		elements := elementsOfJSON(v)
		i := s.index
		if i < 0 {
			i += len(elements)
		}
		if s.all {
			found = append(found, elements...)
		} else if i >= 0 && i < len(elements) {
			found = append(found, elements[i])
		}
	}
	return found
}

// eachMember gives the members of an object, names with their quotes.
func eachMember(v string, each func(name, value string)) {
	rest := strings.TrimLeft(v[1:], jsonSpace)
	for rest[0] != '}' {
		n := jsonEnd(rest)
		name := rest[:n]
		rest = strings.TrimLeft(rest[n:], jsonSpace)
		rest = strings.TrimLeft(rest[1:], jsonSpace) // the colon
		n = jsonEnd(rest)
		each(name, rest[:n])
		rest = strings.TrimLeft(rest[n:], jsonSpace)
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], jsonSpace)
		}
	}
}

func elementsOfJSON(v string) []string {
	var out []string
	rest := strings.TrimLeft(v[1:], jsonSpace)
	for rest[0] != ']' {
		n := jsonEnd(rest)
		out = append(out, rest[:n])
		rest = strings.TrimLeft(rest[n:], jsonSpace)
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], jsonSpace)
		}
	}
	return out
}

// jsonEnd gives the length of the value that s begins with.
func jsonEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
			if depth < 0 {
				return i
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(s)
}

// jsonText gives the text of a JSON string.
func jsonText(quoted string) string {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil {
		return quoted
	}
	return s
}

// appendJSONNumber writes a number as Java does that read it: an integer as it is,
// others as DOUBLE.
func appendJSONNumber(b []byte, v string) []byte {
	if strings.ContainsAny(v, ".eE") {
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return AppendDouble(b, f, 64)
		}
	}
	return append(b, v...)
}

// appendJSON writes a value without blanks.
func appendJSON(b []byte, v string) []byte {
	switch v[0] {
	case '{':
		b = append(b, '{')
		first := true
		eachMember(v, func(name, value string) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendQuoted(b, jsonText(name)), ':')
			b = appendJSON(b, value)
		})
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, e := range elementsOfJSON(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case '"':
		return appendQuoted(b, jsonText(v))
	case 't', 'f', 'n':
		return append(b, v...)
	default:
		return appendJSONNumber(b, v)
	}
}

// appendQuoted writes a JSON string with the escapes that it must have.
func appendQuoted(b []byte, s string) []byte {
	const hexDigits = "0123456789ABCDEF"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r < 0x20:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
