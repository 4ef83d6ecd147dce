package spec

import (
	"bytes"
	"encoding/json"
	"strings"
)

// encodeJSON gives v as JSON laid out as Jackson's default pretty printer
// does: `"k" : v`, two blanks a level, arrays on one line.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return layOutJSON(bytes.TrimSpace(b.Bytes())), nil
}

// layOutJSON spreads compact, valid JSON. Arrays open no level of their own.
func layOutJSON(compact []byte) []byte {
	out := make([]byte, 0, 2*len(compact))
	level := 0
	newline := func() {
		out = append(out, '\n')
		out = append(out, strings.Repeat("  ", level)...)
	}
	var open []byte
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := stringEnd(compact, i)
			out = append(out, compact[i:end]...)
			i = end - 1
		case '{', '[':
			if compact[i+1] == c+2 { // '{'+2 is '}' and '['+2 is ']'
				out = append(out, c, ' ', c+2)
				i++
				continue
			}
			open = append(open, c)
			out = append(out, c)
			if c == '{' {
				level++
				newline()
			} else {
				out = append(out, ' ')
			}
		case '}':
			open = open[:len(open)-1]
			level--
			newline()
			out = append(out, c)
		case ']':
			open = open[:len(open)-1]
			out = append(out, ' ', c)
		case ',':
			out = append(out, c)
			if open[len(open)-1] == '{' {
				newline()
			} else {
				out = append(out, ' ')
			}
		case ':':
			out = append(out, ' ', c, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

// stringEnd gives the position after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
