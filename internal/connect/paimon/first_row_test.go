package paimon

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio/recordfs"
)

var rewriteTrace = flag.Bool("rewrite-trace", false, "write testdata/first_row.txt anew")

// TestFirstRow records every change that one transaction makes on the disk, from
// the take-over to the snapshot. When testdata/first_row.txt changes, the
// protocol has changed; -rewrite-trace writes it anew.
func TestFirstRow(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "1")
	w.interval = 0
	rec := recordfs.New(w.disk, recordfs.Options{})
	if err := w.runUpTo(t.Context(), rec, 1); err != nil {
		t.Fatal(err)
	}
	// Sizes depend on the clock and the process.
	got := regexp.MustCompile(`(?m) [0-9]+$`).ReplaceAllString(rec.Take(), "")
	const file = "testdata/first_row.txt"
	if *rewriteTrace {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the calls differ (-want +got):\n%s", diff)
	}
}
