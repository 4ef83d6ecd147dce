package cdcsource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// TestGeneratedColumnsThatTheLogLacks reads generated columns of a MariaDB that has them in its
// binlog, and of a newer one that leaves them out.
func TestGeneratedColumnsThatTheLogLacks(t *testing.T) {
	newer, err := mysqld.FetchRelease(t.Context(), "mariadb-11.8", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mysqld.Start(t.Context(), mysqld.Options{Install: newer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	servers := []*mysqld.Server{s}
	if !mariaServer.Install.AtLeast(11, 8, 0) {
		servers = append(servers, mariaServer)
	}
	for i, s := range servers {
		cfg, _ := small(t, s, "generated")
		if err := s.Exec("ALTER TABLE generated.accounts ADD COLUMN twice INT AS (balance * 2) STORED"); err != nil {
			t.Fatal(err)
		}
		cfg.Tables[0].Schema.Fields = append(cfg.Tables[0].Schema.Fields, field("twice", columnar.Of(columnar.Int)))
		x := run(t, cfg, nil, copies{{}}, nil)
		x.await("the snapshot is not complete", complete)
		if err := s.Exec("UPDATE generated.accounts SET balance = 7 WHERE id = 10"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			failsWith(t, x.err(), diag.CodeSourceBinlog, "twice", "compute them in the script")
			continue
		}
		want := copies{{"10": "7|14", "20": "2|4", "30": "3|6"}}
		x.await("the change is not read", func(dataflow.SourceStatus) bool {
			x.col.mu.Lock()
			defer x.col.mu.Unlock()
			return cmp.Equal(want, x.col.tables)
		})
		x.end()
	}
}
