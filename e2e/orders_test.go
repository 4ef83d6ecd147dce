package e2e_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"leat/configs"
	"leat/e2e/harness"
	"leat/e2e/judge"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const ordersTable = `CREATE TABLE %s.orders (
  order_id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT, order_amount DECIMAL(18,2), order_status TINYINT,
  create_time DATETIME(3), update_time DATETIME(3))`

// makeOrders makes a table of n orders, ids from 1, over four days.
func makeOrders(t testing.TB, db string, n int) {
	t.Helper()
	judge.Exec(t, judge.MySQL(t), "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, fmt.Sprintf(ordersTable, db), fmt.Sprintf(`INSERT INTO %s.orders
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT /*+ SET_VAR(cte_max_recursion_depth = 1000000) */ i, i %% 97, i * 1.01, i %% 5, TIMESTAMP('2026-07-06') + INTERVAL i %% 4 DAY, '2026-07-06 01:02:03.456' FROM n`, db, n))
}

// ordersWork is one transaction: new orders, changed orders, deletes, and orders
// that move to another day.
func ordersWork(x *harness.Tx) bool {
	const at = "TIMESTAMP('2026-07-06') + INTERVAL %d HOUR"
	hour := func() string { return fmt.Sprintf(at, x.Rand.IntN(96)) }
	some := func() int { return 1 + x.Rand.IntN(6000) }
	for range 1 + x.Rand.IntN(4) {
		x.Exec("INSERT INTO orders VALUES (%d, %d, %d.%02d, 0, %s, NULL)", 10_000+x.Rand.IntN(1<<40), x.Rand.IntN(50), x.Rand.IntN(900), x.Rand.IntN(100), hour())
	}
	first := some()
	x.Exec("UPDATE orders SET order_status = (order_status + 1) %% 100, order_amount = order_amount + 0.01, update_time = NOW(3) WHERE order_id BETWEEN %d AND %d", first, first+x.Rand.IntN(30))
	for range x.Rand.IntN(4) {
		x.Exec("UPDATE orders SET user_id = NULL WHERE order_id = %d", some())
	}
	if x.Rand.IntN(2) == 0 {
		x.Exec("UPDATE orders SET create_time = %s WHERE order_id = %d", hour(), some())
	}
	if x.Rand.IntN(3) == 0 {
		x.Exec("DELETE FROM orders WHERE order_id = %d", some())
	}
	if x.Rand.IntN(4) == 0 {
		x.Exec("DELETE FROM orders WHERE order_id > 10000 ORDER BY order_id DESC LIMIT 2")
	}
	return x.Rand.IntN(10) > 0
}

// TestOrders runs the example script under a live workload, stops it in order,
// catches up, and compares: source, both readers, the folded changelog.
func TestOrders(t *testing.T) {
	t.Parallel()
	const db = "e2e_orders"
	makeOrders(t, db, 6000)
	s := judge.MySQL(t)
	j := harness.NewJob(t, configs.OrdersSQL, harness.SourceEnv(s, db)...)
	load := harness.StartLoad(t, s, db, 3, func(x *harness.Tx) bool {
		time.Sleep(5 * time.Millisecond)
		return ordersWork(x)
	})
	run := j.Start()
	j.Wait("orders", "snapshot")
	time.Sleep(6 * time.Second)
	run.Stop()
	lake := j.Lake("shop.dwd_order_detail")
	stopped := len(judge.Java(t).Snapshots(t, lake.Warehouse, lake.Table))
	j.CatchUp() // ends although the workload does not
	load.MustStop(t)
	j.CatchUp()

	want := judge.SourceRows(t, s, "SELECT *, DATE_FORMAT(create_time, '%Y-%m-%d') AS dt FROM e2e_orders.orders")
	lake.CheckRows(t, want)
	changes := lake.CheckChangelog(t, want, "dt", "order_id")
	if n := harness.Moves(changes, "order_id", "dt"); n == 0 {
		t.Error("no order moved to another day")
	} else {
		t.Logf("%d changes, %d moves to another day, %d snapshots until the stop", len(changes), n, stopped)
	}
	lake.CheckProperties(t, true)
	lake.CheckNoOrphans(t)
}
