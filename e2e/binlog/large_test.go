package binlog

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// size is that of a transaction in MB.
func size() int {
	if n, err := strconv.Atoi(os.Getenv("LEAT_BIG_MB")); err == nil {
		return n
	}
	return 400
}

// The limit of a transaction of size(): what the program takes by itself beside
// the write buffers, and the share that the default buffers have of 400 MB.
func limit() (buffers string, peak int64) {
	if size() >= 1000 {
		return "128 mb", 400 << 20
	}
	return "32 mb", 350 << 20
}

const rowBytes = 1000

func fill(db, table string, from, rows int) string {
	return fmt.Sprintf(`INSERT INTO %s.%s WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
		SELECT x, x %% 97, CONCAT(SHA2(x, 512), SHA2(x + 1, 512), SHA2(x + 2, 512), REPEAT(CHAR(97 + x %% 26), %d))
		FROM (SELECT %d + a.i * 1000 + b.i AS x FROM n a, n b WHERE a.i < %d) y`, db, table, rowBytes-3*128, from, rows/1000)
}

// start makes two empty tables and a job that follows them.
func start(t testing.TB, s *mysqld.Server, db string) (*harness.Job, *harness.Child) {
	t.Helper()
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db,
		"CREATE TABLE "+db+".a (id BIGINT NOT NULL PRIMARY KEY, n INT, note LONGTEXT)", "CREATE TABLE "+db+".b LIKE "+db+".a")
	buffers, _ := limit()
	script := harness.Settings(db, "1s", "leat.memory.write-buffers", buffers)
	const columns = "id BIGINT NOT NULL, n INT, note STRING, PRIMARY KEY (id) NOT ENFORCED"
	script += harness.MySQLTable("a", columns, "a") + harness.MySQLTable("b", columns, "b") + harness.LakeDatabase +
		harness.LakeTable("a", columns, "", "bucket", "2") + harness.LakeTable("b", columns, "", "bucket", "2") +
		"EXECUTE STATEMENT SET BEGIN\n"
	for _, x := range []string{"a", "b"} {
		script += fmt.Sprintf("INSERT INTO %s SELECT * FROM default_catalog.default_database.%[1]s;\n", x)
	}
	j := harness.NewJob(t, script+"END;\n", harness.SourceEnv(s, db)...)
	c := j.Start()
	j.Wait(db, "snapshot")
	return j, c
}

// finish waits for the last change, compares, and looks at the memory.
func finish(t *testing.T, s *mysqld.Server, j *harness.Job, db string, tables ...string) {
	t.Helper()
	_, most := limit()
	peak := finishWithin(t, s, j, db, most, tables...)
	t.Logf("transaction of %d MB, peak memory %d MB", size(), peak>>20)
}

func finishWithin(t *testing.T, s *mysqld.Server, j *harness.Job, db string, most int64, tables ...string) int64 {
	t.Helper()
	if r := j.Leat("job", "wait", db, "--until", "caught-up", "--timeout", "9m"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	var status struct {
		Peak int64 `json:"peak_memory_bytes"`
	}
	if err := json.Unmarshal([]byte(j.Leat("job", "show", db).Stdout), &status); err != nil {
		t.Fatal(err)
	}
	if status.Peak > most {
		t.Errorf("the job took %d MB, more than %d", status.Peak>>20, most>>20)
	}
	for _, table := range tables {
		want := judge.SourceRows(t, s, fmt.Sprintf("SELECT COUNT(*) AS c, COALESCE(SUM(id), 0) AS s, COALESCE(SUM(n), 0) AS n FROM %s.%s", db, table))[0]
		last, err := judge.Java(t).LatestSum(j.Warehouse(), "d."+table, "id", "n")
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(last.Rows, last.Sums["id"], last.Sums["n"])
		if diff := cmp.Diff(fmt.Sprint(want["c"], want["s"], want["n"]), got); diff != "" {
			t.Errorf("table %s differs: %s", table, diff)
		}
	}
	return status.Peak
}

// TestLargeTransaction has a transaction over two tables.
func TestLargeTransaction(t *testing.T) {
	for _, compression := range []string{"OFF", "ON"} {
		t.Run("compression "+compression, func(t *testing.T) {
			s := judge.MySQL(t)
			db := "large_" + strings.ToLower(compression)
			j, c := start(t, s, db)
			rows := size() * 1000 / 2
			judge.Exec(t, s, "SET SESSION binlog_transaction_compression = "+compression, "BEGIN", fill(db, "a", 0, rows), fill(db, "b", 0, rows),
				"UPDATE "+db+".a SET n = -1 WHERE id < 1000", "DELETE FROM "+db+".b WHERE id < 1000", "COMMIT")
			finish(t, s, j, db, "a", "b")
			c.Stop()
		})
	}
}

// TestLargeXATransaction has rows that wait for XA COMMIT: they go to the disk.
// The job is killed before it comes, so that the next run reads them again.
func TestLargeXATransaction(t *testing.T) {
	s := judge.MySQL(t)
	const db = "large_xa"
	j, c := start(t, s, db)
	judge.Exec(t, s, "XA START 'large'", fill(db, "a", 0, size()*1000/2), "XA END 'large'", "XA PREPARE 'large'", "INSERT INTO "+db+".b VALUES (1, 1, 'after the first piece')")
	j.Wait(db, "caught-up")
	judge.Exec(t, s, "XA COMMIT 'large'")
	finish(t, s, j, db, "a", "b")

	judge.Exec(t, s, "XA START 'again'", fill(db, "b", 1_000_000, size()*1000/2), "XA END 'again'", "XA PREPARE 'again'", "INSERT INTO "+db+".b VALUES (2, 2, 'after the first piece')")
	j.Wait(db, "caught-up")
	c.Kill()
	judge.Exec(t, s, "XA COMMIT 'again'")
	c = j.Start()
	finish(t, s, j, db, "a", "b")
	c.Stop()
}

// TestLargeRows has rows of 64 MB, the largest packet that servers are often set
// to, inserted and updated in one transaction.
func TestLargeRows(t *testing.T) {
	s := judge.MySQL(t)
	const db = "large_rows"
	j, c := start(t, s, db)
	judge.Exec(t, s, "BEGIN", "INSERT INTO "+db+".a SELECT 1, 1, REPEAT('0123456789abcdef', 4 * 1024 * 1024 - 2)", "INSERT INTO "+db+".a SELECT 2, 2, note FROM "+db+".a WHERE id = 1",
		"UPDATE "+db+".a SET n = 3 WHERE id = 1", "COMMIT")
	peak := finishWithin(t, s, j, db, 900<<20, "a")
	t.Logf("peak memory %d MB with rows of 64 MB", peak>>20)
	c.Stop()
}
