package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// `cmd/leat/run.go:run`, `cdc/decode.go:(*RowDecoder).Append`, `planner/doc.go`.
	codeForm = regexp.MustCompile("`([A-Za-z0-9_./-]+/[A-Za-z0-9_.-]+\\.(?:go|sql|sh|java|py|txt|yml|mod))(?::(\\(?\\*?[A-Za-z_][A-Za-z0-9_().*]*))?`")
	linkForm = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
)

// TestDocumentsNameWhatExists finds documents that code has left behind.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if filepath.Ext(f) != ".md" || strings.Contains(f, "testdata/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root(t), f))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			for _, problem := range checkLine(root(t), f, line) {
				t.Errorf("%s: %s", fileLine(f, n), problem)
			}
		}
	}
}

// checkLine gives what a line of document doc names that does not exist.
func checkLine(dir, doc, line string) []string {
	var problems []string
	for _, m := range codeForm.FindAllStringSubmatch(line, -1) {
		file, symbol := m[1], m[2]
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			problems = append(problems, file+" does not exist")
			continue
		}
		if symbol != "" && path.Ext(file) == ".go" && !declares(filepath.Join(dir, file), symbol) {
			problems = append(problems, file+" does not declare "+symbol)
		}
	}
	for _, m := range linkForm.FindAllStringSubmatch(line, -1) {
		if _, err := os.Stat(filepath.Join(dir, path.Dir(doc), m[1])); err != nil {
			problems = append(problems, "the link to "+m[1]+" leads nowhere")
		}
	}
	return problems
}

// declares reports whether file declares symbol: a function, type, constant or
// variable, or a method as (*T).M, (T).M or T.M.
func declares(file, symbol string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	want := strings.NewReplacer("(", "", ")", "", "*", "").Replace(symbol)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			if name == want {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == want {
						return true
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name == want {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestDocumentCheckFindsMistakes(t *testing.T) {
	t.Parallel()
	const here = "internal/archtest/docs_test.go"
	for _, tt := range []struct {
		line string
		bad  int
	}{
		{"see `" + here + ":checkLine` and `" + here + "`", 0},
		{"`internal/archtest/arch_test.go:pkg.rel`, `internal/archtest/arch_test.go:(pkg).rel`", 0},
		{"`" + here + ":nothing`", 1},
		{"`internal/archtest/gone.go:x`", 1},
		{"[guide](../nowhere.md) and [web](https://example.com/x.md)", 1},
		{"`SET 'a' = 'b'` and `s3://x/y.parquet`", 0},
	} {
		if got := checkLine(root(t), "docs/x.md", tt.line); len(got) != tt.bad {
			t.Errorf("%s: %v, want %d problems", tt.line, got, tt.bad)
		}
	}
}
