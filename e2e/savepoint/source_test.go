package savepoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// bank is two tables between which every transaction moves money.
type bank struct {
	server *mysqld.Server
	db     string
	n      int
}

func makeBank(t *testing.T, db string, n int) bank {
	t.Helper()
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db)
	for _, name := range []string{"cash", "stock"} {
		judge.Exec(t, s, "CREATE TABLE "+db+"."+name+" (id BIGINT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL)",
			fmt.Sprintf(`INSERT INTO %s.%s WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				SELECT /*+ SET_VAR(cte_max_recursion_depth = 10000000) */ i, 1000 FROM n`, db, name, n-1))
	}
	return bank{server: s, db: db, n: n}
}

// work moves money between the tables, and closes or opens an account now and then.
func (b bank) work(x *harness.Tx) bool {
	time.Sleep(3 * time.Millisecond)
	id, amount := x.Rand.IntN(b.n), 1+x.Rand.IntN(100)
	if x.Exec("UPDATE cash SET amount = amount - %d WHERE id = %d", amount, id) != 1 ||
		x.Exec("UPDATE stock SET amount = amount + %d WHERE id = %d", amount, x.Rand.IntN(b.n)) != 1 {
		return false
	}
	if x.Rand.IntN(5) == 0 {
		x.Exec("INSERT INTO stock VALUES (%d, 0) ON DUPLICATE KEY UPDATE amount = amount", b.n+x.Rand.IntN(50))
		x.Exec("DELETE FROM stock WHERE id = %d AND amount = 0", b.n+x.Rand.IntN(50))
	}
	return true
}

func (b bank) script(name string, set ...string) string {
	text := harness.Settings(name, "150ms", set...)
	for _, table := range []string{"cash", "stock"} {
		text += harness.MySQLTable("src_"+table, "id BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED", table,
			"scan.incremental.snapshot.chunk.size", "500", "leat.snapshot.readers", "1")
	}
	text += harness.LakeDatabase
	for _, table := range []string{"cash", "stock"} {
		text += harness.LakeTable(table, "id BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED", "",
			append(harness.KeepAll(), "bucket", "2", "num-sorted-run.compaction-trigger", "3")...)
	}
	for _, table := range []string{"cash", "stock"} {
		text += fmt.Sprintf("INSERT INTO %s SELECT id, amount FROM default_catalog.default_database.src_%s;\n", table, table)
	}
	return text
}

func (b bank) job(t *testing.T, name string, set ...string) *harness.Job {
	t.Helper()
	return harness.NewJob(t, b.script(name, set...), harness.SourceEnv(b.server, b.db)...)
}

// check compares both tables with the source, by Java's reader.
func (b bank) check(t *testing.T, j *harness.Job) {
	t.Helper()
	for _, table := range []string{"cash", "stock"} {
		j.Lake("d."+table).CheckJava(t, judge.SourceRows(t, b.server, "SELECT * FROM "+b.db+"."+table))
	}
}

// savepoint takes one by a command and gives its folder.
func savepoint(t *testing.T, j *harness.Job, args ...string) string {
	t.Helper()
	r := j.Leat(append([]string{"job"}, args...)...)
	if r.Code != 0 {
		t.Fatalf("leat job %v: exit code %d\n%s", args, r.Code, r.Stderr)
	}
	path := strings.TrimSpace(r.Stdout)
	if _, err := os.Stat(filepath.Join(path, "_metadata")); err != nil {
		t.Fatalf("leat job %v printed %q: %v", args, r.Stdout, err)
	}
	return path
}

// latest gives the number of the latest snapshot of a table.
func latest(t *testing.T, j *harness.Job, table string) int64 {
	t.Helper()
	all := judge.Java(t).Snapshots(t, j.Warehouse(), "d."+table)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Int("id")
}

// expect runs the script and wants its exit code and words of its standard error.
func expect(t *testing.T, j *harness.Job, code int, words []string, args ...string) harness.Result {
	t.Helper()
	r := j.Run(args...)
	if r.Code != code {
		t.Errorf("leat run %v: exit code %d, want %d\n%s", args, r.Code, code, r.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("leat run %v does not say %q:\n%s", args, w, r.Stderr)
		}
	}
	return r
}
