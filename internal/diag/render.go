package diag

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Render writes err for a terminal. source gives the text of a script by file
// name, for the marked line; nil or an unknown file leaves the line out.
func Render(w io.Writer, err error, source func(file string) (string, bool)) {
	var l List
	if errors.As(err, &l) {
		for _, e := range l {
			renderOne(w, e, source)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		fmt.Fprintf(w, "error: %v\n", err)
		return
	}
	renderOne(w, e, source)
}

func renderOne(w io.Writer, e *Error, source func(string) (string, bool)) {
	fmt.Fprintln(w, e.Error())
	if line, ok := sourceLine(e.Pos, source); ok {
		no := fmt.Sprintf("%4d", e.Pos.Line)
		fmt.Fprintf(w, "%s | %s\n", no, line)
		n := max(e.Pos.Len, 1)
		lead := []rune(line)
		lead = lead[:min(max(e.Pos.Col-1, 0), len(lead))]
		for i, r := range lead {
			if r != '\t' {
				lead[i] = ' '
			}
		}
		fmt.Fprintf(w, "%s | %s%s\n", strings.Repeat(" ", len(no)), string(lead), strings.Repeat("^", n))
	}
	for _, n := range e.Notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
	if e.Hint != "" {
		fmt.Fprintf(w, "  do: %s\n", e.Hint)
	}
}

func sourceLine(p Pos, source func(string) (string, bool)) (string, bool) {
	if p.IsZero() || source == nil {
		return "", false
	}
	text, ok := source(p.File)
	if !ok {
		return "", false
	}
	lines := strings.Split(text, "\n")
	if p.Line > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[p.Line-1], "\r"), true
}
