package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// TestScripts runs testdata/*.txt. Commands:
//
//	bind [to=T_P_S]  prints type and text of an expression over the columns of the vector table, coerced to T(P, S)
//	eval             prints its value for the row of that table, in zone Asia/Shanghai
func TestScripts(t *testing.T) {
	t.Parallel()
	cols, arrays := vectorTable(t)
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Zone: zone, Now: func() time.Time { return time.Unix(1704164645, 678e6) }}
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				e, err := readSQL(strings.TrimSpace(line), cols)
				if err == nil && d.HasArg("to") {
					var name string
					d.ScanArgs(t, "to", &name)
					// DECIMAL_18_2 stands for DECIMAL(18, 2): arguments of a command hold no blanks.
					words := strings.Split(name, "_")
					toks := words[:1:1]
					if len(words) > 1 {
						toks = append(append(append(toks, "("), words[1:]...), ")")
					}
					to, terr := (&sqlReader{toks: toks}).dataType()
					if terr != nil {
						t.Fatal(terr)
					}
					e, err = Coerce(e, to)
				}
				switch {
				case err != nil:
					writeError(&b, err)
				case d.Cmd == "bind":
					fmt.Fprintf(&b, "%s: %s\n", e.Type(), String(e))
				default:
					p, err := Compile([]Expr{e}, env)
					if err != nil {
						writeError(&b, err)
						continue
					}
					out, err := p.Eval(memory.DefaultAllocator, arrays, 1)
					if err != nil {
						writeError(&b, err)
						continue
					}
					fmt.Fprintf(&b, "%s\n", flinkText(out[0], e.Type(), 0))
				}
			}
			return b.String()
		})
	})
}

func readSQL(sql string, cols map[string]Expr) (Expr, error) {
	toks, err := tokenize(sql)
	if err != nil {
		return nil, err
	}
	r := &sqlReader{toks: toks, columns: cols}
	e, err := r.expr()
	if err == nil && len(r.toks) > 0 {
		return nil, fmt.Errorf("%w: %v is left", errSyntax, r.toks)
	}
	return e, err
}

func writeError(b *strings.Builder, err error) {
	var d *diag.Error
	if !errors.As(err, &d) {
		fmt.Fprintf(b, "%v\n", err)
		return
	}
	fmt.Fprintf(b, "%s\n  do: %s\n", d.Error(), d.Hint)
}

func TestReferencesAndRemap(t *testing.T) {
	t.Parallel()
	intType := columnar.Of(columnar.Int)
	e := mustCall("+", NamedColumn(4, "d", intType), mustCall("*", Column(1, intType), NamedColumn(4, "d", intType)))
	if got := fmt.Sprint(References(e)); got != "[1 4]" {
		t.Errorf("references: %s", got)
	}
	mapping := []int{-1, 0, -1, -1, 1}
	if got := fmt.Sprint(References(Remap(e, mapping))); got != "[0 1]" {
		t.Errorf("references after mapping: %s", got)
	}
	in := Inline(e, []Expr{nil, LitInt(7), nil, nil, LitInt(2)})
	if got := String(in); got != "2 + (7 * 2)" || !IsConstant(in) {
		t.Errorf("inlined: %s", got)
	}
	if IsConstant(e) || IsConstant(mustCall("NOW")) {
		t.Error("columns and the clock are no constants")
	}
}

func TestFunctionsAreListed(t *testing.T) {
	t.Parallel()
	names := Functions()
	if len(names) < 100 {
		t.Errorf("%d functions", len(names))
	}
	for _, n := range names {
		if n != strings.ToUpper(n) {
			t.Errorf("%s is not in upper case", n)
		}
	}
}
