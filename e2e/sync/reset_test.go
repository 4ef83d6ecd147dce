package sync

import (
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestSyncNoticesReset resets the binlog of a server under a running job, which
// hears nothing more of it: with and without GTIDs the job must not go on as if it were caught up.
func TestSyncNoticesReset(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"gtid": nil, "file": {"--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := judge.OwnMySQL(t, flags...)
			c := &copies{t: t, server: s, db: "e2e_sync_reset", job: harness.NewJob(t, "", "LEAT_MYSQL_PASSWORD=")}
			c.exec("CREATE DATABASE e2e_sync_reset", "CREATE TABLE DB.a (id INT PRIMARY KEY)", "INSERT INTO DB.a VALUES (1)")
			run := c.job.StartCommand(c.args("DB.*", "--name", "reset")...)
			c.job.Wait("reset", "snapshot")
			c.exec("INSERT INTO DB.a VALUES (2)")
			c.job.Wait("reset", "caught-up")
			c.exec("RESET BINARY LOGS AND GTIDS", "INSERT INTO DB.a VALUES (3)")
			harness.Eventually(t, "the job ends", run.Ended)
			r := run.Wait()
			if r.Code != 3 || !strings.Contains(r.Stderr, "LEAT-30") || !strings.Contains(r.Stderr, "--fresh --replace") {
				t.Errorf("exit code %d:\n%s", r.Code, r.Stderr)
			}
			c.mustRun("DB.*", "--name", "reset", "--fresh", "--replace")
			c.lake("a").CheckJava(t, c.rows("a"))
		})
	}
}
