package sync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leat/e2e/judge"
)

// argument gives the flags of a run for databases that begin with the name of c.
func (c *copies) arguments(name string, more ...string) []string {
	return append([]string{
		"sync", "mysql", "--mysql_conf", "hostname=127.0.0.1", "--mysql_conf", fmt.Sprintf("port=%d", c.server.Port), "--mysql_conf", "username=root",
		"--catalog_conf", "warehouse=" + c.job.Warehouse(), "--set", "execution.checkpointing.interval=150ms", "--name", name,
	}, more...)
}

func (c *copies) mustLeat(args ...string) string {
	c.t.Helper()
	r := c.job.Leat(args...)
	if r.Code != 0 {
		c.t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	return r.Stderr
}

// sameAs compares a table of the lake with the result of a query at the source.
func (c *copies) sameAs(table, query string) {
	c.t.Helper()
	want := judge.SourceRows(c.t, c.server, query)
	got := judge.Java(c.t).Rows(c.t, c.job.Warehouse(), table)
	if diff := judge.Diff("source", want, "lake", got); diff != "" {
		c.t.Errorf("%s\n%s", table, diff)
	}
	if len(want) == 0 {
		c.t.Errorf("%s: nothing is compared", table)
	}
}

// TestSyncShards puts tables of one name in several databases together, while
// they get columns, wider types and rows, one is emptied, another one comes, and
// the job is killed.
func TestSyncShards(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_shard_1", "DROP DATABASE IF EXISTS e2e_sync_shard_2", "DROP DATABASE IF EXISTS e2e_sync_shard_3", "CREATE DATABASE e2e_sync_shard_2",
		"CREATE TABLE DB.orders (id INT NOT NULL PRIMARY KEY, v VARCHAR(10), n INT, at DATETIME(3), only_1 INT)",
		"CREATE TABLE e2e_sync_shard_2.orders (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(30), n DECIMAL(12,2), at DATETIME(3), gone INT)",
		"INSERT INTO DB.orders VALUES (1, 'a', 1, '2024-01-02 03:04:05.678', 11), (2, NULL, NULL, '2024-02-02 03:04:05', 12)",
		"INSERT INTO e2e_sync_shard_2.orders VALUES (1, 'a longer text', 1.25, '2023-12-31 23:59:59.999', 1), (5000000000, 'b', 7, '2024-01-01', 2)")
	args := c.arguments("shards", "--including_dbs", "e2e_sync_shard_[0-9]", "--including-tables", "ord.*s", "--database", "ods", "--table_prefix", "all_",
		"--metadata_column", "database_name", "--computed_column", "day=date_format(at, yyyy-MM-dd)", "--computed-column", "twice = n * 2",
		"--primary_keys", "database_name,day,id", "--partition_keys", "day", "--table_conf", "bucket=1", "--rename_columns", "follow", "--drop_columns", "follow")
	run := c.job.StartCommand(args...)
	c.job.Wait("shards", "snapshot")
	c.exec("ALTER TABLE DB.orders ADD COLUMN fresh INT NOT NULL DEFAULT 7", "INSERT INTO DB.orders VALUES (3, 'c', 3, '2024-01-02', 13, 8)",
		"ALTER TABLE e2e_sync_shard_2.orders DROP COLUMN gone", "UPDATE e2e_sync_shard_2.orders SET at = '2024-05-05' WHERE id = 1",
		"ALTER TABLE DB.orders MODIFY v VARCHAR(50)", "UPDATE DB.orders SET v = REPEAT('x', 50) WHERE id = 1")
	c.job.Wait("shards", "caught-up")
	run.Kill()
	c.exec("ALTER TABLE e2e_sync_shard_2.orders ADD COLUMN fresh BIGINT", "INSERT INTO e2e_sync_shard_2.orders VALUES (6, 'd', 1, '2024-01-01', 5000000000)")
	run = c.job.StartCommand(args...)
	c.job.Wait("shards", "caught-up")
	c.exec("CREATE DATABASE e2e_sync_shard_3", "CREATE TABLE e2e_sync_shard_3.orders (id INT NOT NULL PRIMARY KEY, v VARCHAR(5), n INT, at DATETIME, later DATE)",
		"INSERT INTO e2e_sync_shard_3.orders VALUES (1, 'three', 3, '2024-01-02', '2024-01-03')")
	c.job.Wait("shards", "caught-up")
	c.exec("TRUNCATE TABLE DB.orders", "INSERT INTO DB.orders VALUES (9, 'again', 9, '2024-09-09', 19, 9)", "INSERT INTO e2e_sync_shard_3.orders VALUES (2, 'two', 2, '2024-01-02', NULL)")
	time.Sleep(300 * time.Millisecond)
	run.Kill()
	c.exec("DELETE FROM e2e_sync_shard_2.orders WHERE id = 6")
	c.mustLeat(append(args, "--catch-up")...)

	c.sameAs("ods.all_orders", `
SELECT id, v, CAST(n AS DECIMAL(12,2)) n, CAST(at AS DATETIME(3)) at, only_1, CAST(NULL AS SIGNED) gone, DATE_FORMAT(at, '%Y-%m-%d') day, CAST(n * 2 AS DECIMAL(13,2)) twice, 'e2e_sync_shard_1' database_name, fresh, CAST(NULL AS DATE) later FROM e2e_sync_shard_1.orders
UNION ALL SELECT id, v, n, at, NULL, NULL, DATE_FORMAT(at, '%Y-%m-%d'), n * 2, 'e2e_sync_shard_2', fresh, NULL FROM e2e_sync_shard_2.orders
UNION ALL SELECT id, v, n, at, NULL, NULL, DATE_FORMAT(at, '%Y-%m-%d'), n * 2, 'e2e_sync_shard_3', NULL, later FROM e2e_sync_shard_3.orders`)
}

// TestSyncRenames lets columns of the lake be renamed and dropped as those of the
// source are, while they keep their identity: Java reads the snapshots from before.
func TestSyncRenames(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_renames", "CREATE TABLE DB.people (id INT NOT NULL PRIMARY KEY, a VARCHAR(10), b INT, c INT, d INT, fixed INT)",
		"INSERT INTO DB.people VALUES (1, 'x', 10, 100, 1000, 4), (2, 'y', 20, 200, 2000, 5)")
	args := c.args("DB.people", "--name", "renames", "--rename-columns", "follow", "--drop_columns", "follow", "--computed-column", "plus = fixed + 1")
	run := c.job.StartCommand(args...)
	c.job.Wait("renames", "snapshot")
	c.job.Wait("renames", "caught-up")
	table := c.db + ".people"
	before := judge.Java(t).Snapshots(t, c.job.Warehouse(), table)
	ids := c.fieldIDs(table)
	// Each statement is looked at before the next one comes: columns that have gone on
	// by then are read again under their last name, as new ones.
	for _, statements := range [][]string{
		{"ALTER TABLE DB.people RENAME COLUMN a TO name, CHANGE COLUMN b amount BIGINT NULL", "UPDATE DB.people SET amount = 5000000000 WHERE id = 1"},
		{"ALTER TABLE DB.people DROP COLUMN c, RENAME COLUMN d TO c", "INSERT INTO DB.people VALUES (3, 'z', 30, 3000, 6)"},
		{"ALTER TABLE DB.people RENAME COLUMN fixed TO moved"},
	} {
		c.exec(statements...)
		c.job.Wait("renames", "caught-up")
	}
	run.Kill()
	c.mustLeat(append(args, "--catch-up")...)

	after := c.fieldIDs(table)
	for from, to := range map[string]string{"a": "name", "b": "amount", "d": "c", "id": "id", "fixed": "fixed", "plus": "plus"} {
		if after[to] != ids[from] {
			t.Errorf("column %s had the id %s, and as %s it has %s", from, ids[from], to, after[to])
		}
	}
	if after["d"] != "" {
		t.Errorf("ids before %v, after %v", ids, after)
	}
	// What an expression reads keeps its name; the source has no such column any more.
	rows := judge.SourceRows(t, c.server, "SELECT id, name, amount, c, moved FROM "+table)
	got := judge.Java(t).Rows(t, c.job.Warehouse(), table)
	for _, r := range got {
		delete(r, "fixed")
		delete(r, "plus")
	}
	if diff := judge.Diff("source", rows, "lake", got); diff != "" {
		t.Error(diff)
	}
	old := judge.Java(t).Rows(t, c.job.Warehouse(), table, "--snapshot", fmt.Sprint(before[len(before)-1].Int("id")))
	if text := strings.Join(judge.Lines(old), "\n"); len(old) != 2 || !strings.Contains(text, `"a":"x"`) || !strings.Contains(text, `"c":100`) || !strings.Contains(text, `"plus":5`) {
		t.Errorf("the snapshot from before reads as\n%s", text)
	}
}

// fieldIDs gives the ids of the columns of a table of the lake by name.
func (c *copies) fieldIDs(table string) map[string]string {
	c.t.Helper()
	out := map[string]string{}
	fields, _ := judge.Java(c.t).Schema(c.t, c.job.Warehouse(), table)["fields"].([]any)
	for _, f := range fields {
		if m, ok := f.(map[string]any); ok {
			out[fmt.Sprint(m["name"])] = fmt.Sprint(m["id"])
		}
	}
	return out
}
