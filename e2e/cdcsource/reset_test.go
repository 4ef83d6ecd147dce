package cdcsource

import (
	"fmt"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// TestResetLog resets the log while the job is down and writes a new one that
// reaches as far as the old one did: names of files, offsets and GTIDs are there
// again, and stand for other transactions.
func TestResetLog(t *testing.T) {
	maria, err := mysqld.FetchMariaDB(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opt  mysqld.Options
	}{
		{"gtid", mysqld.Options{}},
		{"plain", mysqld.Options{Flags: []string{"--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"}}},
		{"mariadb", mysqld.Options{Install: maria}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := mysqld.Start(t.Context(), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop() })
			reset := "RESET MASTER"
			if c.name != "mariadb" && s.Version >= "8.2" {
				reset = "RESET BINARY LOGS AND GTIDS"
			}
			if err := s.Exec(reset); err != nil {
				t.Fatal(err)
			}
			db := accounts(t, s, accountsDDL)
			cfg := config(s, db)
			state, err := stateAfterSnapshot(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			// An untouched log goes on.
			reopen := func() error {
				r, err := cdc.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				return r.Open(t.Context(), state)
			}
			if err := reopen(); err != nil {
				t.Fatal(err)
			}
			_, end, _ := endOfLog(t, s)
			time.Sleep(1100 * time.Millisecond) // files tell the second in which they were begun
			if err := s.Exec(reset, "UPDATE "+db+".accounts SET balance = 7 WHERE id = 10"); err != nil {
				t.Fatal(err)
			}
			for i := 0; ; i++ {
				if _, now, _ := endOfLog(t, s); now > end && i >= 20 {
					break
				}
				if err := s.Exec(fmt.Sprintf("UPDATE %s.accounts SET balance = %d", db, i)); err != nil {
					t.Fatal(err)
				}
			}
			failsWith(t, reopen(), diag.CodeSourceIdentity, "was reset", "--fresh --replace")
		})
	}
}
