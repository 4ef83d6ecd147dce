package crash

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestCrashTwoTables carries two tables of one server as one job, while
// transactions move amounts between them, and kills it: at every checkpoint the
// two lake tables together hold what the two source tables always hold.
func TestCrashTwoTables(t *testing.T) {
	t.Parallel()
	const db, rows, amount = "crash_two", 400, 1000
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db)
	script := harness.Settings("two", "150ms")
	inserts := "EXECUTE STATEMENT SET BEGIN\n"
	for _, side := range []string{"left_side", "right_side"} {
		judge.Exec(t, s, fmt.Sprintf("CREATE TABLE %s.%s (id INT NOT NULL PRIMARY KEY, balance DECIMAL(20,2) NOT NULL)", db, side),
			fmt.Sprintf("INSERT INTO %s.%s WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, %d FROM n", db, side, rows, amount))
		script += harness.MySQLTable("src_"+side, "id INT NOT NULL, balance DECIMAL(20, 2) NOT NULL, PRIMARY KEY (id) NOT ENFORCED", side)
		inserts += fmt.Sprintf("INSERT INTO %s SELECT * FROM default_catalog.default_database.src_%s;\n", side, side)
	}
	script += harness.LakeDatabase
	for _, side := range []string{"left_side", "right_side"} {
		script += harness.LakeTable(side, "id INT NOT NULL, balance DECIMAL(20, 2) NOT NULL, PRIMARY KEY (id) NOT ENFORCED", "",
			append(harness.KeepAll(), "bucket", "1", "num-sorted-run.compaction-trigger", "3")...)
	}
	j := harness.NewJob(t, script+inserts+"END;\n", harness.SourceEnv(s, db)...)
	load := harness.StartLoad(t, s, db, 3, func(x *harness.Tx) bool {
		time.Sleep(2 * time.Millisecond)
		cents := 1 + x.Rand.IntN(5000)
		from, to := "left_side", "right_side"
		if x.Rand.IntN(2) == 0 {
			from, to = to, from
		}
		x.Exec("UPDATE %s SET balance = balance - %d.%02d WHERE id = %d", from, cents/100, cents%100, 1+x.Rand.IntN(rows))
		x.Exec("UPDATE %s SET balance = balance + %d.%02d WHERE id = %d", to, cents/100, cents%100, 1+x.Rand.IntN(rows))
		return true
	})
	rnd := rand.New(rand.NewPCG(33, uint64(time.Now().UnixNano())))
	for range 10 {
		run := j.Start()
		time.Sleep(time.Duration(200+rnd.IntN(1200)) * time.Millisecond)
		run.Kill()
	}
	load.MustStop(t)
	j.CatchUp()

	left, right := perCheckpoint(t, j.Lake("d.left_side")), perCheckpoint(t, j.Lake("d.right_side"))
	want := new(big.Rat).SetInt64(2 * rows * amount)
	checked := 0
	for c := max(left.first, right.first); c <= max(left.last, right.last); c++ {
		if got := new(big.Rat).Add(left.at(c), right.at(c)); got.Cmp(want) != 0 {
			t.Errorf("at checkpoint %d the tables hold %s and %s", c, left.at(c).FloatString(2), right.at(c).FloatString(2))
		}
		checked++
	}
	t.Logf("%d checkpoints checked", checked)
	for _, side := range []string{"left_side", "right_side"} {
		j.Lake("d."+side).CheckJava(t, judge.SourceRows(t, s, "SELECT * FROM "+db+"."+side))
		j.Lake("d." + side).CheckNoOrphans(t)
	}
}

// history is the sum of a table as of each checkpoint that made a snapshot,
// from the first complete one on.
type history struct {
	first, last int64
	sums        map[int64]*big.Rat
}

// at gives the sum as of checkpoint c: that of the newest snapshot up to it.
func (h history) at(c int64) *big.Rat {
	for ; c > h.first; c-- {
		if s := h.sums[c]; s != nil {
			return s
		}
	}
	return h.sums[h.first]
}

func perCheckpoint(t *testing.T, l harness.Lake) history {
	t.Helper()
	h := history{sums: map[int64]*big.Rat{}}
	complete := l.CheckProperties(t, true)
	checkpoint := map[int64]int64{}
	for _, s := range judge.Java(t).Snapshots(t, l.Warehouse, l.Table) {
		n, err := strconv.ParseInt(harness.Property(s, "leat.checkpoint"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint[s.Int("id")] = n
	}
	for _, s := range judge.Java(t).Sums(t, l.Warehouse, l.Table, []string{"balance"}, "--from", strconv.FormatInt(complete, 10)) {
		c := checkpoint[s.Snapshot]
		sum, ok := new(big.Rat).SetString(s.Sums["balance"])
		if !ok {
			t.Fatalf("sum %q", s.Sums["balance"])
		}
		if h.first == 0 {
			h.first = c
		}
		h.last = c
		h.sums[c] = sum
	}
	return h
}
