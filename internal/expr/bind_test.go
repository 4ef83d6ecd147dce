package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
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

func TestNotices(t *testing.T) {
	t.Parallel()
	ts := NamedColumn(0, "ts", columnar.TimestampOf(3))
	for pattern, want := range map[string]int{"yyyy-MM-dd": 0, "%Y-%m-%d": 2, "YYYY-MM-dd": 1, "yyyy'Y'": 0} {
		if got := Notices(mustCall("UPPER", mustCall("DATE_FORMAT", ts, LitString(pattern)))); len(got) != want {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

func TestNestedColumns(t *testing.T) {
	t.Parallel()
	elem := columnar.Of(columnar.Int)
	list := columnar.DataType{Kind: columnar.Array, Elem: &elem, Nullable: true}
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
	b.AppendNull()
	b.Append(true)
	col := array.NewSlice(b.NewArray(), 1, 2)
	null, err := Coerce(LitNull(columnar.DataType{}), list)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]Expr{Column(0, list), mustCall("IS NULL", Column(0, list)), null}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Eval(memory.DefaultAllocator, []arrow.Array{col}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out[0], out[1], out[2]); got != "[[]] [false] [(null)]" {
		t.Errorf("got %s", got)
	}
	if _, err := Call("GREATEST", Column(0, list), null); err == nil || !strings.Contains(err.Error(), "GREATEST does not take (ARRAY<INT>, ARRAY<INT>)") {
		t.Errorf("got %v", err)
	}
}

// TestProgramsRunSideBySide uses one batch from several programs at once.
func TestProgramsRunSideBySide(t *testing.T) {
	t.Parallel()
	exprs, cols := ordersBatch()
	var wg sync.WaitGroup
	for _, k := range kernelCases(exprs) {
		for range 2 {
			wg.Go(func() {
				p, err := Compile([]Expr{k.e}, Env{})
				if err != nil {
					t.Error(err)
					return
				}
				out, err := p.Eval(memory.DefaultAllocator, cols, benchRows)
				if err != nil {
					t.Error(err)
					return
				}
				out[0].Release()
			})
		}
	}
	wg.Wait()
}
