package paimon

import (
	"os"
	"path/filepath"
	"testing"

	"leat/internal/connect"
)

// TestHalfMadeTableHoldsNoRows is about a run that was killed while it made a table.
func TestHalfMadeTableHoldsNoRows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db.db", "t")
	if err := os.MkdirAll(filepath.Join(dir, "schema"), 0o755); err != nil {
		t.Fatal(err)
	}
	has, err := New().HasRows(t.Context(), &connect.Table{Name: "t", Location: "file://" + dir})
	if has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
}
