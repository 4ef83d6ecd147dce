package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// diskCalls are the calls of package os that change a disk.
var diskCalls = strings.Fields("Create CreateTemp Rename WriteFile OpenFile Remove RemoveAll Mkdir MkdirAll MkdirTemp Link Symlink Truncate Chtimes CopyFS")

// diskPackages may use them: the file systems themselves and what runs servers and tests.
var diskPackages = []string{"internal/fileio", "internal/cachedir", "internal/mysqld", "internal/demo", "internal/tools", "e2e"}

// TestOnlyFileioTouchesDisks keeps the crash tests complete: what does not go
// through a fileio.FS cannot be cut, failed or recorded.
func TestOnlyFileioTouchesDisks(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if _, group := place([][]string{diskPackages}, p.rel()); group != "" {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, call := range osCalls(f) {
				if slices.Contains(diskCalls, call.Sel.Name) {
					pos := fset.Position(call.Pos())
					t.Errorf("%s: os.%s: go through fileio.FS", fileLine(p.rel()+"/"+name, pos.Line), call.Sel.Name)
				}
			}
		}
	}
}

// osCalls gives the uses of names of package os in f.
func osCalls(f *ast.File) []*ast.SelectorExpr {
	name := ""
	for _, imp := range f.Imports {
		if imp.Path.Value == `"os"` {
			name = "os"
			if imp.Name != nil {
				name = imp.Name.Name
			}
		}
	}
	var out []*ast.SelectorExpr
	if name == "" {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == name {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}
