package crash

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestBigTransaction changes every row of a table in one transaction that does
// not fit into the write buffers, twice, with a checkpoint due every 100 ms: rows
// go to files early, and no snapshot shows a part of it, although the job is
// killed while it reads the second one.
func TestBigTransaction(t *testing.T) {
	t.Parallel()
	a := makeAccounts(t, judge.MySQL(t), "big_transaction", 250_000)
	j := harness.NewJob(t, a.script("big", "100ms", "none", append(harness.KeepAll(), "write-buffer-size", "4 mb")...), a.env()...)
	lake := j.Lake("d.accounts")
	run := j.Start()
	j.Wait("big", "snapshot")
	// The sum over all accounts stays.
	big := []string{
		"USE " + a.db, "BEGIN", "UPDATE accounts SET balance = balance + 1, note = CONCAT(LEFT(COALESCE(note, ''), 150), 'x')",
		fmt.Sprintf("UPDATE accounts SET balance = balance - %d WHERE id = 0", a.n), "COMMIT",
	}
	judge.Exec(t, a.server, big...)
	j.Wait("big", "caught-up")
	lake.CheckJava(t, a.rows(t))
	var status struct {
		Peak int64 `json:"peak_memory_bytes"`
	}
	if err := json.Unmarshal([]byte(j.Leat("job", "show", "big").Stdout), &status); err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory %d MB with write buffers of 16 MB", status.Peak>>20)
	if status.Peak > 700<<20 {
		t.Errorf("the job took %d MB", status.Peak>>20)
	}

	judge.Exec(t, a.server, big...)
	time.Sleep(150 * time.Millisecond)
	run.Kill()
	j.CatchUp()
	lake.CheckJava(t, a.rows(t))
	lake.CheckSums(t, lake.CheckProperties(t, true), "balance", a.sum())
	lake.CheckNoOrphans(t)
}
