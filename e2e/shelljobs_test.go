package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestShellStartsJobs starts jobs by INSERT in the shell: they outlive it, are seen
// and stopped by statements, and go on where they stood when the INSERT is given again.
func TestShellStartsJobs(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_shelljobs")
	j := i.job(t, "fromshell")
	says := func(r harness.Result, code int, want ...string) {
		t.Helper()
		if r.Code != code {
			t.Fatalf("exit code %d, want %d\n%s\n%s", r.Code, code, r.Stdout, r.Stderr)
		}
		for _, w := range want {
			if !strings.Contains(r.Stdout+r.Stderr, w) {
				t.Errorf("does not say %q:\n%s\n%s", w, r.Stdout, r.Stderr)
			}
		}
	}
	same := func() {
		t.Helper()
		j.Wait("fromshell", "caught-up")
		lake := j.Lake("d.items")
		if d := judge.Diff("source", i.rows(t), "lake", judge.Java(t).Rows(t, lake.Warehouse, lake.Table)); d != "" {
			t.Error(d)
		}
	}
	t.Cleanup(func() { j.Leat("job", "stop", "fromshell") })

	says(j.Leat("shell", "-f", "script.sql"), 0, "job fromshell runs")
	j.Wait("fromshell", "snapshot")
	i.exec(t, "INSERT INTO items VALUES (4, 'four')", "UPDATE items SET v = 'ONE' WHERE id = 1", "DELETE FROM items WHERE id = 2")
	same()
	says(j.Leat("shell", "-e", "SHOW JOBS; DESCRIBE JOB 'fromshell'"), 0, "fromshell | RUNNING")
	says(j.Leat("shell", "-f", "script.sql"), 2, "LEAT-5001", "job fromshell runs already")
	says(j.Leat("shell", "-e", "STOP JOB 'fromshell' WITH SAVEPOINT"), 0, "savepoint path")
	says(j.Leat("shell", "-o", "csv", "-e", "SHOW JOBS"), 0, "job id,job name,status,start time\n")

	i.exec(t, "INSERT INTO items VALUES (5, 'five')")
	says(j.Leat("shell", "-f", "script.sql"), 0, "job fromshell runs")
	same()
	says(j.Leat("shell", "-e", "STOP JOB 'fromshell'"), 0, "OK")
	noSecrets(t, j)

	// A job that waits: it ends with its source, and the next statement sees its rows.
	j.SetScript(strings.ReplaceAll(strings.ReplaceAll(i.script("waits"), "INTO items", "INTO copy"), "EXISTS items", "EXISTS copy") + "SELECT COUNT(*) AS n FROM copy;\n")
	sync := "SET 'table.dml-sync' = 'true';\n" + strings.Replace(read(t, j), "'connector' = 'mysql-cdc'", "'connector' = 'mysql-cdc', 'scan.startup.mode' = 'snapshot'", 1)
	j.SetScript(sync)
	says(j.Leat("shell", "-o", "csv", "-f", "script.sql"), 0, "finished 4 rows", "n\n4\n")

	// One that cannot start says why in its own words.
	j.SetScript(strings.Replace(i.script("wrong"), "'table-name' = 'items'", "'table-name' = 'nothing'", 1))
	says(j.Leat("shell", "-f", "script.sql"), 2, "job wrong did not run", "LEAT-3005")
}

func read(t *testing.T, j *harness.Job) string {
	t.Helper()
	b, err := os.ReadFile(j.Dir + "/script.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// noSecrets looks for the statements of a job, which hold the password of its
// source, in what the state directory keeps.
func noSecrets(t *testing.T, j *harness.Job) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(j.State(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "'password'") {
			t.Errorf("%s holds the statements of the job", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Error(files, err)
	}
}
