package sqlfront

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"leat/internal/diag"
)

var reflectPos = reflect.TypeFor[diag.Pos]()

// FuzzParse holds for every text: no panic, all places inside the text, every
// error with a code and a remedy, and what was read can be printed and read again.
func FuzzParse(f *testing.F) {
	for _, text := range allTexts(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.sql", text, lookup)
		lines := strings.Split(text, "\n")
		check := func(what string, p diag.Pos) {
			if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Len < 0 || p.Col-1+p.Len > utf8.RuneCountInString(lines[p.Line-1])+1 {
				t.Errorf("%s has the place %+v in\n%q", what, p, text)
			}
		}
		var list diag.List
		if err != nil && !errors.As(err, &list) {
			t.Fatalf("no list of errors: %v", err)
		}
		for _, e := range list {
			check("the error "+e.Msg, e.Pos)
			if e.Code == 0 || e.Hint == "" {
				t.Errorf("no code or remedy: %v", e)
			}
		}
		for _, n := range s.Notices {
			check("the notice "+n.Msg, n.Pos)
		}
		for _, st := range s.Statements {
			check("a statement", st.Pos())
			Walk(st, Visitor{Expr: func(x Expr) bool {
				check(FormatExpr(x), x.Pos())
				return true
			}})
			if err == nil && utf8.ValidString(text) {
				checkRoundTrip(t, st, lookup)
			}
		}
	})
}
