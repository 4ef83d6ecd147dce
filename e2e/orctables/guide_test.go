package orctables

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// guideTable is the primary-key table of the production guide.
//
//go:embed testdata/pk_table.sql
var guideTable string

const orderColumns = "order_id BIGINT NOT NULL, user_id BIGINT, order_amount DECIMAL(18, 2), order_status TINYINT, create_time TIMESTAMP(3), update_time TIMESTAMP(3)"

// TestGuideTable runs the guide's definition unchanged: a snapshot of the source,
// then changes of all kinds in several runs, and the rows and the changelog as
// Java and PyPaimon read them, also after Java compacted the files.
func TestGuideTable(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS orctables", "CREATE DATABASE orctables",
		`CREATE TABLE orctables.orders (order_id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT, order_amount DECIMAL(18,2), order_status TINYINT, create_time DATETIME(3), update_time DATETIME(3))`,
		`INSERT INTO orctables.orders WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
			SELECT i, IF(i % 7 = 0, NULL, i % 97), i * 1.01 - 400, i % 5, TIMESTAMP('1969-12-30') + INTERVAL i % 4 DAY, IF(i % 3 = 0, NULL, '2026-07-06 01:02:03.456') FROM n`)
	script := harness.Settings("guide", "200ms") +
		harness.MySQLTable("orders_src", orderColumns+", PRIMARY KEY (order_id) NOT ENFORCED", "orders") + harness.LakeDatabase +
		strings.Replace(guideTable, "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1) +
		"INSERT INTO dwd_order_detail SELECT *, DATE_FORMAT(create_time, 'yyyy-MM-dd') FROM default_catalog.default_database.orders_src;\n"
	j := harness.NewJob(t, script, harness.SourceEnv(s, "orctables")...)
	j.CatchUp()
	for _, changes := range [][]string{
		{"UPDATE orctables.orders SET order_status = 9, update_time = '2026-07-07 00:00:00.001' WHERE order_id % 10 = 0", "DELETE FROM orctables.orders WHERE order_id % 10 = 1"},
		{"UPDATE orctables.orders SET create_time = create_time + INTERVAL 1 DAY WHERE order_id % 10 = 2", "INSERT INTO orctables.orders VALUES (5000, 1, -0.01, -128, '2026-07-08', NULL), (5001, NULL, 9999999999999999.99, 127, '1960-02-29 23:59:59.999', NULL)"},
		{"UPDATE orctables.orders SET user_id = NULL WHERE order_id < 300"},
	} {
		judge.Exec(t, s, changes...)
		j.CatchUp()
	}
	lake := j.Lake("d.dwd_order_detail")
	want := judge.SourceRows(t, s, "SELECT *, DATE_FORMAT(create_time, '%Y-%m-%d') AS dt FROM orctables.orders")
	lake.CheckRows(t, want)
	lake.CheckChangelog(t, want, "dt", "order_id")
	lake.CheckProperties(t, true)
	lake.CheckNoOrphans(t)

	orc := 0
	for _, f := range harness.Tree(t, lake.Warehouse) {
		name := filepath.Base(strings.Fields(f)[0])
		if !strings.HasPrefix(name, "data-") && !strings.HasPrefix(name, "changelog-") {
			continue
		}
		if filepath.Ext(name) != ".orc" {
			t.Errorf("file %s is not ORC", f)
		}
		orc++
	}
	if orc == 0 {
		t.Error("no data files found")
	}
	judge.Java(t).Compact(t, lake.Warehouse, lake.Table)
	lake.CheckJava(t, want)
}
