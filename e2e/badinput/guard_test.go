package badinput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestOtherShape finds a table of the same name that Paimon made with other columns.
func TestOtherShape(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	prepare(t, s)
	j := harness.NewJob(t, good, envOf(s)...)
	judge.Java(t).Create(t, j.Warehouse(), "d.things",
		`{"fields":[{"name":"id","type":"INT NOT NULL"},{"name":"other","type":"STRING"}],"primaryKeys":["id"],"options":{"bucket":"2"}}`)
	before := harness.Tree(t, j.Warehouse())
	want{2, 4004, "16:28", []string{"d.things", "id INT NOT NULL", "id BIGINT NOT NULL"}}.check(t, j.Run("--catch-up"))
	unchanged(t, before, harness.Tree(t, j.Warehouse()))
}

// TestSecondStart starts a job that runs already.
func TestSecondStart(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	prepare(t, s)
	j := harness.NewJob(t, good, envOf(s)...)
	run := j.Start()
	j.Wait("bad", "snapshot")
	want{3, 5001, "", []string{"leat job"}}.check(t, j.Run())
	if run.Ended() {
		t.Fatal("the second start ended the first")
	}
	run.Stop()
}

// TestKnownJobWithoutItsTable resumes a job after its lake was taken away: going
// on would leave out all rows read before.
func TestKnownJobWithoutItsTable(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	prepare(t, s)
	for name, c := range map[string]struct {
		harm func(t *testing.T, j *harness.Job)
	}{
		"deleted warehouse": {func(t *testing.T, j *harness.Job) {
			t.Helper()
			if err := os.RemoveAll(j.Warehouse()); err != nil {
				t.Fatal(err)
			}
		}},
		"deleted table": {func(t *testing.T, j *harness.Job) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(j.Warehouse(), "d.db", "things")); err != nil {
				t.Fatal(err)
			}
		}},
		"table dropped and made again": {func(t *testing.T, j *harness.Job) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(j.Warehouse(), "d.db", "things")); err != nil {
				t.Fatal(err)
			}
			judge.Java(t).Create(t, j.Warehouse(), "d.things", `{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"name","type":"STRING"},{"name":"amount","type":"DECIMAL(10, 2)"}],
				"primaryKeys":["id"],"options":{"bucket":"2","bucket-key":"id","file.format":"parquet"}}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := harness.NewJob(t, good, envOf(s)...)
			j.CatchUp()
			c.harm(t, j)
			before := harness.Tree(t, j.Warehouse())
			want{3, 4005, "", []string{"things", "--fresh"}}.check(t, j.Run("--catch-up"))
			unchanged(t, before, harness.Tree(t, j.Warehouse()))
			// The way out that it names is one.
			j.CatchUp("--fresh")
			j.Lake("d.things").CheckJava(t, judge.SourceRows(t, s, "SELECT id, name, amount FROM bad.things"))
		})
	}
}

// TestUnknownJob asks for a job that does not run.
func TestUnknownJob(t *testing.T) {
	t.Parallel()
	j := harness.NewJob(t, good)
	for _, args := range [][]string{{"job", "show", "nobody"}, {"job", "stop", "nobody"}, {"job", "wait", "nobody"}} {
		want{2, 5004, "", []string{"nobody", "leat job list"}}.check(t, j.Leat(args...))
	}
	if r := j.Leat("job", "list", "--output", "json"); r.Code != 0 || strings.TrimSpace(r.Stdout) != "[]" {
		t.Errorf("job list: exit code %d, %q", r.Code, r.Stdout)
	}
}
