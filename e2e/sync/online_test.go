package sync

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSyncLeavesOnlineChangesOut copies a whole database in which gh-ost and
// pt-online-schema-change change a table: their own tables are no copies, and the
// one they put in place is read.
func TestSyncLeavesOnlineChangesOut(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_online", "CREATE TABLE DB.orders (id INT PRIMARY KEY, note VARCHAR(10))", "INSERT INTO DB.orders VALUES (1, 'a'), (2, 'b')",
		"CREATE TABLE DB._stray_new (id INT PRIMARY KEY)")
	copied := func(want ...string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(c.job.Warehouse(), c.db+".db", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("copies (-want +got):\n%s", d)
		}
	}
	run := c.job.StartCommand(c.args("DB.*", "--name", "online")...)
	c.job.Wait("online", "snapshot")
	c.exec("CREATE TABLE DB._orders_ghc (id INT PRIMARY KEY)", "CREATE TABLE DB._orders_gho LIKE DB.orders", "ALTER TABLE DB._orders_gho ADD COLUMN state INT NOT NULL DEFAULT 7",
		"INSERT INTO DB._orders_gho (id, note) SELECT id, note FROM DB.orders", "RENAME TABLE DB.orders TO DB._orders_del, DB._orders_gho TO DB.orders", "INSERT INTO DB.orders VALUES (3, 'c', 8)")
	c.job.Wait("online", "caught-up")
	c.lake("orders").CheckJava(t, c.rows("orders"))
	c.exec("CREATE TABLE DB.__orders_new LIKE DB.orders", "ALTER TABLE DB.__orders_new MODIFY note VARCHAR(50)", "INSERT INTO DB.__orders_new SELECT * FROM DB.orders",
		"RENAME TABLE DB.orders TO DB._orders_old, DB.__orders_new TO DB.orders", "INSERT INTO DB.orders VALUES (4, 'longer than it could be before', 9)", "CREATE TABLE DB.other (id INT PRIMARY KEY)")
	c.job.Wait("online", "caught-up")
	run.Stop()
	c.lake("orders").CheckJava(t, c.rows("orders"))
	copied("_stray_new", "orders", "other")

	r := c.mustRun("DB.*", "--name", "online")
	for _, name := range []string{"_orders_del", "_orders_ghc", "_orders_old"} {
		if says := name + " stays out: it belongs to an online schema change of " + c.db + ".orders"; !strings.Contains(r.Stderr, says) {
			t.Errorf("the start does not say %q:\n%s", says, r.Stderr)
		}
	}
	copied("_stray_new", "orders", "other")
}
