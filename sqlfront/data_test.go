package sqlfront

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"leat/internal/diag"
)

var testVars = map[string]string{"PASSWORD": "s3cret", "DB": "shop"}

func lookup(name string) (string, bool) {
	v, ok := testVars[name]
	return v, ok
}

// TestData runs the files of testdata. Commands:
//
//	parse    canonical text of each statement, its place, notices and errors
//	expr     canonical text of each line's expression
//	types    the type of each line, as FormatType prints it
//	errors   the rendered errors only
func TestData(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/data", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				return describeScript(t, d.Input)
			case "errors":
				return renderErrors(t, d.Input)
			case "expr":
				return eachLine(d.Input, describeExpr)
			case "types":
				return eachLine(d.Input, describeType)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func describeScript(t *testing.T, text string) string {
	t.Helper()
	s, err := Parse("a.sql", text, lookup)
	var b strings.Builder
	for _, st := range s.Statements {
		fmt.Fprintf(&b, "%s %T\n%s\n", st.Pos(), st, Format(st))
	}
	for _, n := range s.Notices {
		fmt.Fprintf(&b, "%s: notice: %s\n", n.Pos, n.Msg)
	}
	b.WriteString(render(err, text))
	return b.String()
}

func renderErrors(t *testing.T, text string) string {
	t.Helper()
	_, err := Parse("a.sql", text, lookup)
	if err == nil {
		t.Fatalf("no error in:\n%s", text)
	}
	return render(err, text)
}

func render(err error, text string) string {
	if err == nil {
		return ""
	}
	var b strings.Builder
	diag.Render(&b, err, func(string) (string, bool) { return text, true })
	return b.String()
}

func eachLine(input string, describe func(string) string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(input, "\n") {
		fmt.Fprintf(&b, "%s\n", describe(line))
	}
	return b.String()
}

// oneLine gives the first error without its place.
func oneLine(err error) string {
	var l diag.List
	if !errors.As(err, &l) {
		return err.Error()
	}
	return fmt.Sprintf("%d: %s; do: %s", l[0].Pos.Col, l[0].Msg, l[0].Hint)
}

func describeExpr(line string) string {
	s, err := Parse("", "SELECT "+line, lookup)
	if err != nil {
		return oneLine(err)
	}
	x := s.Statements[0].(*QueryStatement).Query.Body.(*Select).Items[0].Expr
	if l, ok := x.(*Literal); ok {
		return fmt.Sprintf("%s : %s %d.%09d", FormatExpr(l), l.Type(), l.Int, l.Nanos)
	}
	return FormatExpr(x)
}

func describeType(line string) string {
	s, err := Parse("", "CREATE TABLE t (\nc "+line+")", lookup)
	if err != nil {
		return oneLine(err)
	}
	return FormatType(s.Statements[0].(*CreateTable).Columns[0].Type)
}
