package crash

import (
	"fmt"
	"os"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// accounts is a table of accounts over three regions; every transaction of its
// load keeps the sum of all balances.
type accounts struct {
	server *mysqld.Server
	db     string
	n      int
}

const opening = 1000

func makeAccounts(t testing.TB, s *mysqld.Server, db string, n int) accounts {
	t.Helper()
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db,
		"CREATE TABLE "+db+".accounts (id BIGINT NOT NULL PRIMARY KEY, region VARCHAR(10) NOT NULL, balance BIGINT NOT NULL, note VARCHAR(200))",
		fmt.Sprintf(`INSERT INTO %s.accounts WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT /*+ SET_VAR(cte_max_recursion_depth = 10000000) */ i, CONCAT('r', i %% 3), %d, REPEAT(CHAR(97 + i %% 26), i %% 150) FROM n`, db, n-1, opening))
	return accounts{server: s, db: db, n: n}
}

func (a accounts) sum() int64 { return int64(a.n) * opening }

// work is one transaction: some transfers, and now and then an account that gets
// a new id, moves to another region, is closed, or is opened. Account 0 is always there.
func (a accounts) work(x *harness.Tx) bool {
	account := func() int { return 1 + x.Rand.IntN(a.n*11/10) }
	for range 1 + x.Rand.IntN(4) {
		amount := x.Rand.IntN(200)
		if x.Exec("UPDATE accounts SET balance = balance - %d WHERE id = %d", amount, account()) != 1 ||
			x.Exec("UPDATE accounts SET balance = balance + %d WHERE id = %d", amount, account()) != 1 {
			return amount == 0 // an UPDATE that changes nothing affects no row
		}
	}
	switch id := account(); x.Rand.IntN(6) {
	case 0:
		x.Exec("UPDATE accounts SET id = %d WHERE id = %d", account(), id)
	case 1:
		x.Exec("UPDATE accounts SET region = 'r%d', note = 'moved' WHERE id = %d", x.Rand.IntN(3), id)
	case 2:
		balance, ok := x.Int("SELECT balance FROM accounts WHERE id = %d FOR UPDATE", id)
		if ok && balance != 0 {
			x.Exec("DELETE FROM accounts WHERE id = %d", id)
			x.Exec("UPDATE accounts SET balance = balance + %d WHERE id = 0", balance)
		}
	case 3:
		x.Exec("INSERT INTO accounts VALUES (%d, 'r%d', 5, NULL)", id, x.Rand.IntN(3))
		x.Exec("UPDATE accounts SET balance = balance - 5 WHERE id = 0")
	}
	return x.Rand.IntN(20) > 0
}

// script carries the accounts into a table partitioned by region.
func (a accounts) script(name, interval, changelog string, more ...string) string {
	return harness.Settings(name, interval, "leat.memory.write-buffers", "16 mb") +
		harness.MySQLTable("src", "id BIGINT NOT NULL, region STRING NOT NULL, balance BIGINT, note STRING, PRIMARY KEY (id) NOT ENFORCED",
			"accounts", "scan.incremental.snapshot.chunk.size", "500", "leat.snapshot.readers", "1") +
		harness.LakeDatabase +
		harness.LakeTable("accounts", "id BIGINT NOT NULL, region STRING NOT NULL, balance BIGINT, note STRING, PRIMARY KEY (region, id) NOT ENFORCED",
			"PARTITIONED BY (region)", append([]string{"bucket", "2", "bucket-key", "id", "changelog-producer", changelog}, more...)...) +
		"INSERT INTO accounts SELECT id, region, balance, note FROM default_catalog.default_database.src;\n"
}

func (a accounts) env() []string { return harness.SourceEnv(a.server, a.db) }

func (a accounts) rows(t testing.TB) []judge.Row {
	t.Helper()
	return judge.SourceRows(t, a.server, "SELECT * FROM "+a.db+".accounts")
}
