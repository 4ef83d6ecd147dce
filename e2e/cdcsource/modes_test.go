package cdcsource

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// endOfLog gives file, offset and GTID set of the server now.
func endOfLog(t *testing.T, s *mysqld.Server) (file string, offset uint64, gtids string) {
	t.Helper()
	end, err := s.EndOfLog()
	if err != nil {
		t.Fatal(err)
	}
	return end.File, end.Offset, end.GTIDs
}

// TestStartupModes makes three changes and starts between the first and the second.
func TestStartupModes(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		change := func(id int) {
			if err := s.Exec("BEGIN", fmt.Sprintf("INSERT INTO %s.accounts VALUES (%d, 1, 'a', 1, NULL)", db, id), fmt.Sprintf("INSERT INTO %s.accounts VALUES (%d, 1, 'a', 1, NULL)", db, id+1), "COMMIT"); err != nil {
				t.Fatal(err)
			}
		}
		change(1_000_001)
		file, offset, gtids := endOfLog(t, s)
		time.Sleep(1100 * time.Millisecond)
		now := time.Now().UnixMilli()
		time.Sleep(10 * time.Millisecond)
		if err := s.Exec("FLUSH BINARY LOGS"); err != nil {
			t.Fatal(err)
		}
		change(1_000_003)
		change(1_000_005)
		for _, tt := range []struct {
			name  string
			start cdc.Startup
			rows  int
		}{
			{"latest", cdc.Startup{Mode: cdc.StartLatest}, 0},
			{"earliest", cdc.Startup{Mode: cdc.StartEarliest}, rowsAtStart + 6},
			{"offset", cdc.Startup{Mode: cdc.StartOffset, File: file, Offset: offset}, 4},
			{"gtids", cdc.Startup{Mode: cdc.StartOffset, GTIDs: gtids}, 4},
			{"timestamp", cdc.Startup{Mode: cdc.StartTimestamp, Millis: now}, 4},
			{"snapshot", cdc.Startup{Mode: cdc.StartSnapshot}, rowsAtStart + 6},
		} {
			t.Run(tt.name, func(t *testing.T) {
				cfg := config(s, db)
				cfg.Startup = tt.start
				if tt.name == "gtids" && gtids == "" {
					cfg.Startup.GTIDs = "11111111-2222-3333-4444-555555555555:1"
					r, err := cdc.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					failsWith(t, r.Open(t.Context(), nil), diag.CodeBadOption, "gtid-set")
					return
				}
				col := catchUp(t, cfg, nil, copies{{}}, nil)
				if n := len(col.tables[0]); n != tt.rows {
					t.Errorf("%d rows, want %d", n, tt.rows)
				}
				if !col.report().Complete || !col.report().CaughtUp {
					t.Errorf("status %+v", col.report())
				}
				st, err := col.reader.SnapshotState(t.Context(), 9)
				if err != nil {
					t.Fatal(err)
				}
				if st.Properties[cdc.PropComplete] != "true" || (gtids != "") != (st.Properties[cdc.PropGTID] != "") || st.Properties[cdc.PropServerUUID] == "" {
					t.Errorf("properties %v", st.Properties)
				}
				// From there on nothing is doubled and nothing is missed.
				after := catchUp(t, cfg, st.Data, col.tables.clone(), nil)
				if n := len(after.tables[0]); n != tt.rows {
					t.Errorf("after a restart %d rows, want %d", n, tt.rows)
				}
			})
		}
	})
}

// TestStartAtATimeOfManyFiles starts at a time in whose second several binlog
// files were begun after it.
func TestStartAtATimeOfManyFiles(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 20*time.Millisecond)))
		now := time.Now().UnixMilli()
		time.Sleep(10 * time.Millisecond)
		const changes = 5
		for i := range changes {
			if err := s.Exec(fmt.Sprintf("INSERT INTO %s.accounts VALUES (%d, 1, 'a', 1, NULL)", db, 1_000_001+i), "FLUSH BINARY LOGS"); err != nil {
				t.Fatal(err)
			}
		}
		cfg := config(s, db)
		cfg.Startup = cdc.Startup{Mode: cdc.StartTimestamp, Millis: now}
		if n := len(catchUp(t, cfg, nil, copies{{}}, nil).tables[0]); n != changes {
			t.Errorf("%d rows, want %d", n, changes)
		}
	})
}

func TestStartOffsetThatCannotBe(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	for _, start := range []cdc.Startup{
		{Mode: cdc.StartOffset, File: "binlog.999999", Offset: 4},
		{Mode: cdc.StartOffset, File: "binlog.000001", Offset: 1 << 40},
		{Mode: cdc.StartOffset, GTIDs: "nonsense"},
	} {
		cfg := config(s, db)
		cfg.Startup = start
		r, err := cdc.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		failsWith(t, r.Open(t.Context(), nil), diag.CodeBadOption, "scan.startup.specific-offset")
	}
}

// TestIdleSourceMoves watches position and lag while other tables are written, and
// while nothing is.
func TestIdleSourceMoves(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		x := run(t, config(s, db), nil, copies{{}}, nil)
		x.await("the snapshot is not complete", complete)
		before := x.col.report().Position
		if err := s.Exec("CREATE TABLE "+db+".other (a INT)", "INSERT INTO "+db+".other VALUES (1)", "FLUSH BINARY LOGS"); err != nil {
			t.Fatal(err)
		}
		x.await("position and lag do not follow", func(st dataflow.SourceStatus) bool {
			return st.Position != before && st.LagBytes == 0 && st.Lag == 0 && st.CaughtUp
		})
		x.await("the position is not the end of the log", func(st dataflow.SourceStatus) bool {
			// MariaDB writes into a new file by itself for a while.
			file, offset, _ := endOfLog(t, s)
			return strings.HasPrefix(st.Position, fmt.Sprintf("%s:%d", file, offset))
		})
		x.end()
	})
}
