package job_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"leat/internal/diag"
)

// measured is what EXPLAIN ANALYZE prints otherwise each time, or with each change of a file's form.
var measured = regexp.MustCompile(`(?m)(^"?Read .* files, )[0-9]+ of [0-9]+( bytes)|(rows in )[0-9.]+[a-zµ]+`)

// TestShell runs testdata/shell/*.txt. The command is the form of results
// (table, json, ndjson), the input statements; what is printed follows, errors
// as a user sees them. The warehouse is new for each file and holds a copy of
// the golden table tags_branch as golden.t.
func TestShell(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/shell/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			if err := os.CopyFS(filepath.Join(warehouse, "golden.db"), os.DirFS("../../lakehouse/testdata/golden/tags_branch/wh/db.db")); err != nil {
				t.Fatal(err)
			}
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out, err := shell(t.Context(), warehouse, d.Cmd, d.Input)
				if err != nil {
					var b strings.Builder
					diag.Render(&b, err, func(string) (string, bool) { return d.Input, true })
					out += b.String()
				}
				out = measured.ReplaceAllString(strings.ReplaceAll(out, warehouse, "WAREHOUSE"), "$1$3…$2")
				return out
			})
		})
	}
}
