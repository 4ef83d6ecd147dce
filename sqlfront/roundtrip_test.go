package sqlfront

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// sameTree compares trees without places and source texts.
var sameTree = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().Type() == reflectPos || strings.HasSuffix(p.String(), ".Source")
	}, cmp.Ignore()),
	cmp.Comparer(func(a, b diag.Pos) bool { return true }),
}

// checkRoundTrip parses the canonical text of st and compares.
func checkRoundTrip(t interface{ Errorf(string, ...any) }, st Statement, vars func(string) (string, bool)) {
	text := Format(st)
	s, err := Parse("", text, vars)
	if err != nil || len(s.Statements) != 1 {
		t.Errorf("the canonical text cannot be read: %v\n%s\nfrom\n%s", err, text, st.Text())
		return
	}
	if again := Format(s.Statements[0]); again != text {
		t.Errorf("the canonical text changes:\n%s\nthen\n%s", text, again)
	}
	if diff := cmp.Diff(st, s.Statements[0], sameTree); diff != "" {
		t.Errorf("another tree comes from\n%s\n%s", text, diff)
	}
}

// TestRoundTrip prints and reads again every statement of testdata.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	count := 0
	for _, text := range allTexts(t) {
		s, _ := Parse("", text, lookup)
		for _, st := range s.Statements {
			checkRoundTrip(t, st, lookup)
			count++
		}
	}
	if count < 500 {
		t.Errorf("only %d statements were compared", count)
	}
}

// allTexts gives the scripts of testdata.
func allTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	files, err := filepath.Glob("testdata/*/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("testdata is missing: %v %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "fuzz" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".sql") {
			texts = append(texts, string(data))
			continue
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			command, rest, _ := strings.Cut(block, "\n")
			input, _, _ := strings.Cut(rest, "\n----")
			switch command {
			case "parse", "errors":
				texts = append(texts, input)
			case "expr":
				for line := range strings.SplitSeq(input, "\n") {
					texts = append(texts, "SELECT "+line)
				}
			case "types":
				for line := range strings.SplitSeq(input, "\n") {
					texts = append(texts, "CREATE TABLE t (c "+line+")")
				}
			}
		}
	}
	for _, name := range []string{"measured.tsv", "vectors.tsv"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
			text, _, _ := strings.Cut(line, "\t")
			if name == "vectors.tsv" && !strings.HasPrefix(text, "SELECT ") {
				text = "SELECT " + text
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// TestExpressionsRoundTrip prints random trees and reads them again: the printer
// must set every parenthesis that the tree needs.
func TestExpressionsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := drawExpr(t, 4)
		text := "SELECT " + FormatExpr(x)
		s, err := Parse("", text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := s.Statements[0].(*QueryStatement).Query.Body.(*Select).Items[0].Expr
		if diff := cmp.Diff(x, got, sameTree); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
	})
}

func drawExpr(t *rapid.T, depth int) Expr {
	if depth == 0 {
		return drawAtom(t)
	}
	sub := func() Expr { return drawExpr(t, depth-1) }
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
	case 0:
		ops := []Op{OpOr, OpAnd, OpEq, OpNe, OpLt, OpLe, OpGt, OpGe, OpDistinct, OpNotDistinct, OpAdd, OpSub, OpMul, OpDiv, OpMod, OpConcat}
		return &Binary{Op: rapid.SampledFrom(ops).Draw(t, "op"), L: sub(), R: sub()}
	case 1:
		ops := []Op{OpNot, OpAdd, OpSub, OpIsNull, OpIsNotNull, OpIsTrue, OpIsNotFalse, OpIsUnknown}
		return &Unary{Op: rapid.SampledFrom(ops).Draw(t, "op"), X: sub()}
	case 2:
		return &Between{X: sub(), Low: sub(), High: sub(), Not: rapid.Bool().Draw(t, "not"), Symmetric: rapid.Bool().Draw(t, "symmetric")}
	case 3:
		return &In{X: sub(), List: []Expr{sub(), sub()}, Not: rapid.Bool().Draw(t, "not")}
	case 4:
		l := &LikeExpr{X: sub(), Pattern: sub(), Not: rapid.Bool().Draw(t, "not"), Similar: rapid.Bool().Draw(t, "similar")}
		if rapid.Bool().Draw(t, "escape") {
			l.Escape = sub()
		}
		return l
	case 5:
		return &Case{Operand: sub(), Whens: []When{{sub(), sub()}}, Else: sub()}
	case 6:
		return &Cast{X: sub(), Type: columnar.TimestampOf(3), Try: rapid.Bool().Draw(t, "try")}
	case 7:
		name := rapid.SampledFrom([]string{"COALESCE", "UPPER", "myFunc"}).Draw(t, "function")
		return &Call{Name: ObjectName{Parts: []Name{{Text: name}}}, Func: strings.ToUpper(name), Args: []Expr{sub()}}
	default:
		return drawAtom(t)
	}
}

func drawAtom(t *rapid.T) Expr {
	switch rapid.IntRange(0, 3).Draw(t, "atom") {
	case 0:
		n := rapid.Int32Range(0, 1000).Draw(t, "int")
		return &Literal{Kind: LitInt, Int: int64(n), Text: strconv.Itoa(int(n))}
	case 1:
		return &Literal{Kind: LitString, Text: rapid.String().Draw(t, "string")}
	case 2:
		return &Literal{}
	default:
		name := rapid.StringMatching(`[a-zA-Z_. $\x60ä]{1,6}`).Draw(t, "name")
		return &Ident{Parts: []Name{{Text: name}}}
	}
}
