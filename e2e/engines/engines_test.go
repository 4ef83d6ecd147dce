package engines

import (
	"fmt"
	"os"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	db        = "e2e_engines"
	firstRows = 400 // rows that are there before the job starts; they are never deleted
	customers = 20  // whose rows those are
	laterRows = 300 // ids from 1000 on come and go, each with a customer of its own number
)

// sink is one table of the lake.
type sink struct {
	name, columns, query string
	options              []string
}

var sinks = []sink{
	{ // What the source has, by its key: dynamic buckets, their hash index, and deletion vectors.
		name: "copies", columns: "id BIGINT NOT NULL, customer BIGINT, amount BIGINT, state STRING, ver BIGINT, PRIMARY KEY (id) NOT ENFORCED",
		query:   "SELECT id, customer, amount, state, ver",
		options: []string{"bucket", "-1", "dynamic-bucket.target-row-num", "250", "changelog-producer", "lookup", "deletion-vectors.enabled", "true"},
	},
	{ // Two groups by the same version, one of which lets deletes remove the row.
		name: "parts", columns: "id BIGINT NOT NULL, v1 BIGINT, state STRING, v2 BIGINT, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED",
		query: "SELECT id, ver, state, ver, amount",
		options: []string{
			"bucket", "2", "merge-engine", "partial-update", "fields.v1.sequence-group", "state", "fields.v2.sequence-group", "amount",
			"partial-update.remove-record-on-sequence-group", "v1", "changelog-producer", "lookup",
		},
	},
	{ // Old rows are taken back from the sums.
		name: "sums", columns: "customer BIGINT NOT NULL, total BIGINT, n BIGINT, least BIGINT, PRIMARY KEY (customer) NOT ENFORCED",
		query: "SELECT customer, amount, 1, id",
		options: []string{
			"bucket", "1", "merge-engine", "aggregation", "fields.total.aggregate-function", "sum", "fields.n.aggregate-function", "sum",
			"fields.least.aggregate-function", "min", "fields.least.ignore-retract", "true", "changelog-producer", "full-compaction",
		},
	},
	{
		name: "firsts", columns: "customer BIGINT NOT NULL, id BIGINT, PRIMARY KEY (customer) NOT ENFORCED",
		query:   "SELECT customer, id",
		options: []string{"bucket", "1", "merge-engine", "first-row", "ignore-delete", "true", "changelog-producer", "lookup"},
	},
}

func script() string {
	s := harness.Settings("engines", "200ms") +
		harness.MySQLTable("src", "id BIGINT NOT NULL, customer BIGINT NOT NULL, amount BIGINT NOT NULL, state STRING, ver BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED",
			"orders", "scan.incremental.snapshot.chunk.size", "100", "leat.snapshot.readers", "1") + harness.LakeDatabase
	inserts := "EXECUTE STATEMENT SET BEGIN\n"
	for _, k := range sinks {
		s += harness.LakeTable(k.name, k.columns, "", append(harness.KeepAll(), append(k.options, "num-sorted-run.compaction-trigger", "3")...)...)
		inserts += fmt.Sprintf("INSERT INTO %s %s FROM default_catalog.default_database.src;\n", k.name, k.query)
	}
	return s + inserts + "END;\n"
}

// work is one transaction: amounts and states change, later rows come and go.
func work(x *harness.Tx) bool {
	time.Sleep(3 * time.Millisecond)
	for range 1 + x.Rand.IntN(4) {
		x.Exec("UPDATE orders SET amount = amount + %d, ver = ver + 1, state = IF(ver %% 5 = 0, NULL, CONCAT('s', ver)) WHERE id = %d", x.Rand.IntN(90)-30, x.Rand.IntN(firstRows))
	}
	// A row that comes again is of a later version, or its group would not take it.
	id := 1000 + x.Rand.IntN(laterRows)
	switch x.Rand.IntN(3) {
	case 0:
		x.Exec("INSERT IGNORE INTO orders SELECT %d, %d, %d, 'new', COALESCE(MAX(ver), 0) + 1 FROM gone WHERE id = %d", id, id, x.Rand.IntN(100), id)
	case 1:
		x.Exec("UPDATE orders SET ver = ver + 1, amount = -amount WHERE id = %d", id)
	default:
		x.Exec("REPLACE INTO gone SELECT id, ver FROM orders WHERE id = %d", id)
		x.Exec("DELETE FROM orders WHERE id = %d", id)
	}
	return x.Rand.IntN(12) > 0
}

// TestEngines carries one table into all sinks while it changes, with a kill in
// the snapshot and one in the stream.
func TestEngines(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db,
		"CREATE TABLE "+db+".orders (id BIGINT NOT NULL PRIMARY KEY, customer BIGINT NOT NULL, amount BIGINT NOT NULL, state VARCHAR(20), ver BIGINT NOT NULL)",
		"CREATE TABLE "+db+".gone (id BIGINT NOT NULL PRIMARY KEY, ver BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO %s.orders WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, i %% %d, i * 3, 'old', 1 FROM n", db, firstRows-1, customers))
	j := harness.NewJob(t, script(), harness.SourceEnv(s, db)...)
	load := harness.StartLoad(t, s, db, 3, work)
	run := j.Start()
	time.Sleep(400 * time.Millisecond)
	run.Kill()
	run = j.Start()
	j.Wait("engines", "snapshot")
	for before := load.Commits(); load.Commits() < before+150; {
		time.Sleep(20 * time.Millisecond)
	}
	run.Kill()
	run = j.Start()
	for before := load.Commits(); load.Commits() < before+100; {
		time.Sleep(20 * time.Millisecond)
	}
	load.MustStop(t)
	run.Stop()
	j.CatchUp()

	source := func(query string) []judge.Row { return judge.SourceRows(t, s, fmt.Sprintf(query, db)) }
	check := func(table string, want []judge.Row, key string) {
		t.Helper()
		l := j.Lake("d." + table)
		l.CheckJava(t, want)
		changes := l.CheckChangelog(t, want, key)
		if len(changes) <= len(want) {
			t.Errorf("%s: %d changes for %d rows", table, len(changes), len(want))
		}
		l.CheckNoOrphans(t)
	}
	check("copies", source("SELECT * FROM %s.orders"), "id")
	check("parts", source("SELECT id, ver v1, state, ver v2, amount FROM %s.orders"), "id")
	check("sums", checkSums(t, j.Lake("d.sums"), source("SELECT customer, CAST(SUM(amount) AS SIGNED) total, COUNT(*) n FROM %s.orders GROUP BY customer")), "customer")
	checkFirsts(t, j.Lake("d.firsts"), source("SELECT DISTINCT customer FROM %s.orders"))
}

// checkSums compares the sums with those of the source and gives the rows of the
// table: a customer without orders keeps a row of nothing.
func checkSums(t *testing.T, l harness.Lake, want []judge.Row) []judge.Row {
	t.Helper()
	rows := judge.Java(t).Rows(t, l.Warehouse, l.Table)
	var full []judge.Row
	for _, r := range rows {
		c := r.Int("customer")
		if least := r.Int("least"); least != c {
			t.Errorf("the least order of customer %d is %d", c, least)
		}
		if r.Int("n") != 0 {
			full = append(full, judge.Row{"customer": r["customer"], "total": r["total"], "n": r["n"]})
		} else if r.Int("total") != 0 {
			t.Errorf("a customer without orders has %s", r.Line())
		}
	}
	if d := judge.Diff("source", want, "sums", full); d != "" {
		t.Error(d)
	}
	return rows
}

// checkFirsts requires the first order of every customer that has one, and a
// changelog of nothing but their inserts.
func checkFirsts(t *testing.T, l harness.Lake, customers []judge.Row) {
	t.Helper()
	rows := judge.Java(t).Rows(t, l.Warehouse, l.Table)
	there := map[int64]bool{}
	for _, r := range rows {
		c := r.Int("customer")
		if there[c] = true; r.Int("id") != c {
			t.Errorf("the first order of customer %d is %d", c, r.Int("id"))
		}
	}
	for _, c := range customers {
		if !there[c.Int("customer")] {
			t.Errorf("customer %d has no first order", c.Int("customer"))
		}
	}
	for _, c := range l.CheckChangelog(t, rows, "customer") {
		if c.Kind() != "+I" {
			t.Errorf("a change of first rows: %s %s", c.Kind(), c.Line())
		}
	}
	l.CheckNoOrphans(t)
}
