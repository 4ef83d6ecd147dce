package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/judge"
)

func change(snapshot, kind, dt, id string) judge.Row {
	return judge.Row{"_snapshot": json.Number(snapshot), "_kind": kind, "dt": dt, "id": json.Number(id)}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	good := []judge.Row{change("1", "+I", "a", "1"), change("2", "-U", "a", "1"), change("2", "+U", "a", "1"), change("3", "-D", "a", "1")}
	if err := pairs(good, []string{"dt", "id"}); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string][]judge.Row{
		"alone":            {change("1", "-U", "a", "1")},
		"other snapshot":   {change("1", "-U", "a", "1"), change("2", "+U", "a", "1")},
		"delete between":   {change("1", "-U", "a", "1"), change("1", "-D", "a", "1")},
		"no -U before":     {change("1", "+U", "a", "1")},
		"other key before": {change("1", "-U", "a", "1"), change("1", "+U", "b", "1")},
	} {
		if err := pairs(bad, []string{"dt", "id"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	changes := []judge.Row{
		change("1", "+I", "a", "1"), change("2", "-D", "a", "1"), change("2", "+I", "b", "1"),
		change("3", "-D", "b", "1"), change("4", "+I", "a", "1"),
	}
	if n := Moves(changes, "id", "dt"); n != 1 {
		t.Errorf("%d moves, want 1", n)
	}
}

// TestNeededFilesOfAPaimonTable reads a table that Java wrote: all its files are needed.
func TestNeededFilesOfAPaimonTable(t *testing.T) {
	t.Parallel()
	l := Lake{Warehouse: t.TempDir(), Table: "db.t"}
	if err := os.CopyFS(l.Warehouse, os.DirFS("../judge/testdata/wh")); err != nil {
		t.Fatal(err)
	}
	l.CheckNoOrphans(t)
	need, err := l.needed()
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"data-", "changelog-", "manifest-list-", "manifest-"} {
		found := false
		for name := range need {
			found = found || strings.HasPrefix(name, prefix)
		}
		if !found {
			t.Errorf("no %s* is needed", prefix)
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir(), "bucket-0", "data-stray-0.parquet"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	l.CheckNoOrphans(r)
	if !strings.Contains(r.text, "data-stray-0.parquet") {
		t.Errorf("a stray file is not found: %q", r.text)
	}
}

// recorder keeps errors instead of failing.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Errorf(format string, args ...any) {
	b, _ := json.Marshal(args)
	r.text += format + string(b)
}
