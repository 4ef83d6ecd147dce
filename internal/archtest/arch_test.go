package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "leat"

// layers orders the groups of packages from the ground up. A package may import
// lower layers and its own group, never a sibling group or a higher layer. The
// longest prefix decides which group a package belongs to.
var layers = [][]string{
	{"internal/diag", "internal/cachedir"},
	{"internal/columnar", "internal/fileio", "configs", "internal/mysqld"},
	{"sqlfront", "internal/expr", "internal/dataflow", "lakehouse"},
	{"catalog", "cdc"},
	{"internal/connect", "internal/procedure"},
	{"planner", "internal/query"},
	{"internal/job"},
	{"internal/console", "internal/demo"},
	{"cmd/leat"},
	{"e2e"},
}

// inside orders sub-packages of one group the same way; what is not listed
// stands above them.
var inside = map[string][][]string{
	"lakehouse": {
		{"lakehouse/spec"},
		{"lakehouse/format"},
		{"lakehouse/mergetree", "lakehouse/commit"},
		{"lakehouse/maintain"},
		{"lakehouse"},
	},
	"internal/dataflow": {
		{"internal/dataflow"},
		{"internal/dataflow/checkpoint", "internal/dataflow/state"},
		{"internal/dataflow/operators"},
	},
	"internal/fileio": {
		{"internal/fileio"},
		{"internal/fileio/local", "internal/fileio/flock", "internal/fileio/s3", "internal/fileio/faultfs", "internal/fileio/crashfs", "internal/fileio/recordfs", "internal/fileio/fileiotest"},
		{"internal/fileio/open"},
	},
	"internal/connect": {
		{"internal/connect"},
		{"internal/connect/"},
		{"internal/connect/builtin"},
	},
}

// allowed are edges that the layers forbid, each with its reason.
var allowed = map[[2]string]string{
	{"internal/dataflow/operators", "internal/expr"}: "the operators evaluate compiled expressions",
}

// forbidden are edges that the layers would allow.
var forbidden = []struct{ from, to, reason string }{
	{"planner", "internal/connect/", "plans are data: the registry tells what a connector can do"},
	{"internal/job", "internal/connect/", "connectors reach the job through the registry"},
	{"internal/job", "internal/mysqld", "servers are for the demo and tests"},
	{"cdc", "internal/mysqld", "servers are for the demo and tests"},
	{"internal/", "e2e", "tests look at the product, not the other way"},
}

type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	Imports    []string
	Module     *struct{ Path string }
}

// rel is the import path within the module; "" for the root.
func (p pkg) rel() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

var repoRoot = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
})

func root(t *testing.T) string {
	t.Helper()
	dir, err := repoRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Name,GoFiles,Imports,Module", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err != nil {
			if errors.Is(err, io.EOF) {
				return ps
			}
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			ps = append(ps, p)
		}
	}
}

// place gives the position of a package in an order of groups and the group's
// name; -1 if it belongs to none. A name that ends in '/' stands for all
// packages below that no longer name takes.
func place(order [][]string, rel string) (level int, group string) {
	level = -1
	for i, groups := range order {
		for _, g := range groups {
			in := rel == g || strings.HasPrefix(rel, strings.TrimSuffix(g, "/")+"/")
			if in && len(g) > len(group) {
				level, group = i, g
			}
		}
	}
	return level, group
}

// checkEdge gives the rule that an import breaks; "" if it breaks none.
func checkEdge(from, to string) string {
	if _, ok := allowed[[2]string{from, to}]; ok {
		return ""
	}
	for _, f := range forbidden {
		if (from == f.from || strings.HasPrefix(from, strings.TrimSuffix(f.from, "/")+"/")) && strings.HasPrefix(to, f.to) {
			return f.reason
		}
	}
	fromLevel, fromGroup := place(layers, from)
	toLevel, toGroup := place(layers, to)
	switch {
	case fromLevel < 0:
		return "the package is in no layer: add it to the list in this test"
	case toLevel < 0:
		return "the imported package is in no layer: add it to the list in this test"
	case fromGroup == toGroup:
		return checkInside(inside[fromGroup], from, to)
	case fromLevel == toLevel:
		return "siblings of one layer do not see each other"
	case fromLevel < toLevel:
		return "imports point down"
	}
	return ""
}

func checkInside(order [][]string, from, to string) string {
	fromLevel, fromGroup := place(order, from)
	toLevel, toGroup := place(order, to)
	switch {
	case len(order) == 0, from == to:
		return ""
	case fromLevel < toLevel:
		return "imports point down within the group too"
	case fromLevel == toLevel && (fromGroup != toGroup || strings.HasSuffix(fromGroup, "/")):
		return "siblings within a group do not see each other"
	}
	return ""
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			if broken := checkEdge(p.rel(), to); broken != "" {
				t.Errorf("%s imports %s: %s", p.rel(), to, broken)
			}
		}
	}
}

// TestRuleFindsOffenders keeps the rule itself honest.
func TestRuleFindsOffenders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"planner", "sqlfront", true},
		{"lakehouse/format", "lakehouse/spec", true},
		{"internal/connect/builtin", "internal/connect/paimon", true},
		{"internal/dataflow/operators", "internal/expr", true},
		{"cmd/leat", "internal/connect/builtin", true},
		{"sqlfront", "planner", false},
		{"sqlfront", "internal/expr", false},
		{"lakehouse", "internal/dataflow", false},
		{"lakehouse/spec", "lakehouse/format", false},
		{"lakehouse/mergetree", "lakehouse/commit", false},
		{"lakehouse/mergetree", "lakehouse", false},
		{"planner", "internal/connect/mysqlcdc", false},
		{"internal/connect/paimon", "internal/connect/mysqlcdc", false},
		{"internal/diag", "internal/fileio", false},
		{"internal/newthing", "internal/diag", false},
	} {
		if broken := checkEdge(tt.from, tt.to); (broken == "") != tt.ok {
			t.Errorf("%s -> %s: %q, want allowed: %v", tt.from, tt.to, broken, tt.ok)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Name != "main" && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", p.rel())
		}
	}
}

// files lists the repository's files that git knows or would add, relative to the root.
func files(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var fs []string
	for f := range strings.Lines(string(out)) {
		f = strings.TrimSpace(f)
		if _, err := os.Stat(filepath.Join(root(t), f)); err == nil {
			fs = append(fs, f)
		}
	}
	return fs
}

const maxLines = 800

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !slices.Contains([]string{".go", ".java", ".py", ".sh"}, filepath.Ext(f)) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root(t), f))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("\n")); n > maxLines && !bytes.Contains(b[:min(len(b), 200)], []byte("DO NOT EDIT")) {
			t.Errorf("%s has %d lines, at most %d are allowed", f, n, maxLines)
		}
	}
}

func TestTopLevelIsKnown(t *testing.T) {
	t.Parallel()
	known := "cmd sqlfront planner cdc lakehouse catalog configs e2e docs internal"
	for _, f := range files(t) {
		top, rest, _ := strings.Cut(f, "/")
		if rest != "" && !strings.HasPrefix(top, ".") && !slices.Contains(strings.Fields(known), top) {
			t.Errorf("%s: folder %s is not one of %s", f, top, known)
		}
	}
}

func fileLine(f string, line int) string { return fmt.Sprintf("%s:%d", f, line) }
