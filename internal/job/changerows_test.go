package job_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/connect/paimon"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/planner"
	"leat/sqlfront"
)

// meddler writes other rows between the read and the commit of a statement that
// changes rows, as often as times says.
type meddler struct {
	*paimon.Connector
	times  int
	meddle func(ctx context.Context) error
}

func (m *meddler) WriteStatement(ctx context.Context, st connect.Statement, give func(func(*columnar.Batch) error) error) (int64, error) {
	return m.Connector.WriteStatement(ctx, st, func(take func(*columnar.Batch) error) error {
		return give(func(b *columnar.Batch) error {
			if st.Changes && m.times > 0 {
				m.times--
				if err := m.meddle(ctx); err != nil {
					return err
				}
			}
			return take(b)
		})
	})
}

// TestChangesOfOthersAreKept commits rows of others while an UPDATE and a DELETE
// are under way: the statement sees them, or gives up without a trace.
func TestChangesOfOthersAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statement, other string
		times            int
		want             string
	}{
		{"UPDATE d.t SET n = n + 1", "INSERT INTO d.t VALUES (1, 1, 100)", 1, "1=101 2=21"},
		{"UPDATE d.t SET n = n + 1 WHERE n < 15", "INSERT INTO d.t VALUES (1, 1, 100)", 1, "1=100 2=20"},
		{"DELETE FROM d.t WHERE n < 15", "INSERT INTO d.t VALUES (1, 1, 100)", 1, "1=100 2=20"},
		{"DELETE FROM d.t WHERE n < 15", "INSERT INTO d.t VALUES (1, 3, 3)", 1, "2=20"},
		{"UPDATE d.t SET n = n + 1", "INSERT INTO d.t VALUES (2, 1, 5)", 1, "1=11 2=21 1=5"},
		{"UPDATE d.t SET n = n + 1", "CALL sys.compact('d.t')", 1, "1=11 2=21"},
		{"UPDATE d.t SET n = n + 1", "DELETE FROM d.t WHERE k = 1", 1, "2=21"},
		{"UPDATE d.t SET n = n + 1", "TRUNCATE TABLE d.t", 1, ""},
		{"UPDATE d.t SET n = n + 1", "INSERT INTO d.t VALUES (1, 1, 100)", 100, "LEAT-4003 1=100 2=20"},
	} {
		t.Run(fmt.Sprint(c.statement, " beside ", c.times, " ", c.other), func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			must := func(text string) string {
				t.Helper()
				out, err := shell(t.Context(), warehouse, "csv", text)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			must(`CREATE DATABASE d; CREATE TABLE d.t (p INT, k INT, n INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '1', 'write-only' = 'true');
				INSERT INTO d.t VALUES (1, 1, 10), (1, 2, 20)`)
			m := &meddler{Connector: paimon.New(), times: c.times, meddle: func(ctx context.Context) error {
				_, err := shell(ctx, warehouse, "csv", c.other)
				return err
			}}
			session, err := planner.NewSession(t.Context(), planner.Env{
				Registry: connect.NewRegistry(), Lake: m, OpenLake: job.OpenLake, Warehouse: warehouse, Settings: configs.Values{"table.local-time-zone": {Text: "UTC"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			script, err := sqlfront.Parse("-e", c.statement, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := session.Next(t.Context(), script.Statements[0])
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := job.Apply(t.Context(), r.Steps, nil); err != nil {
				var l diag.List
				l.Add(err)
				got = fmt.Sprintf("%s ", l[0].Code)
			}
			if m.times > 0 && c.times == 1 {
				t.Error("nobody wrote in between")
			}
			rows := strings.Fields(must("SELECT k, n FROM d.t"))[1:]
			got += strings.ReplaceAll(strings.Join(rows, " "), ",", "=")
			if got = strings.TrimSpace(got); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
