package sync

import (
	"fmt"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestSyncBesideLockedTables changes tables by a session that keeps them locked,
// as imports of dumps do: the copies of other tables go on meanwhile.
func TestSyncBesideLockedTables(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_locks", "CREATE TABLE DB.held (id INT PRIMARY KEY, v INT)", "INSERT INTO DB.held VALUES (1, 1)",
		"CREATE TABLE DB.free (id INT PRIMARY KEY)")
	run := c.job.StartCommand(c.args("DB.*", "--name", "locks")...)
	c.job.Wait("locks", "snapshot")
	conn, err := c.server.Connect(c.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for i, sql := range []string{
		"LOCK TABLES held WRITE", "ALTER TABLE held ADD COLUMN w INT DEFAULT 2", "INSERT INTO held VALUES (2, 2, 2)",
		"/*!40000 ALTER TABLE held DISABLE KEYS */", "ALTER TABLE held ADD COLUMN x INT DEFAULT 3", "INSERT INTO held VALUES (3, 3, 3, 3)", "UNLOCK TABLES",
		"CREATE TABLE made (id INT PRIMARY KEY)", "LOCK TABLES made WRITE", "INSERT INTO made VALUES (1)", "INSERT INTO made VALUES (2)",
	} {
		if _, err := conn.Execute(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		c.exec(fmt.Sprintf("INSERT INTO DB.free VALUES (%d)", i))
		harness.Eventually(t, "the row beside "+sql, func() bool {
			s, err := judge.Java(t).LatestSum(c.job.Warehouse(), c.db+".free", "id")
			return err == nil && s.Rows == int64(i+1)
		})
	}
	if _, err := conn.Execute("UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	c.job.Wait("locks", "caught-up")
	run.Stop()
	for _, table := range []string{"held", "made", "free"} {
		c.lake(table).CheckJava(t, c.rows(table))
	}
}
