package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
)

func TestOrdersAreAFunctionOfIDAndVersion(t *testing.T) {
	t.Parallel()
	got := string(makeOrder(1_234_567, 2).appendTo(nil, ',', "'"))
	want := "1234567,365317,30463.49,2,'2026-07-02 05:37:46.588','2026-07-02 05:39:46.837','2026-07-02'"
	if got != want {
		t.Errorf("order\n %s, want\n %s", got, want)
	}
}

// TestLimitsSeeEveryRow runs the limits on small data: each must see all of it.
func TestLimitsSeeEveryRow(t *testing.T) {
	t.Parallel()
	s, err := openSource(judge.MySQL(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	const rows, changes = 20_000, 30_000
	w1, err := s.ensure("limits_scan", rows, s.load(rows))
	if err != nil {
		t.Fatal(err)
	}
	w2, err := s.ensure("limits_backlog", changes, s.backlog(changes))
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.ensure("limits_backlog", changes, s.load(1))
	if err != nil || cmp.Diff(w2, again) != "" {
		t.Fatalf("a second preparation gives %+v, %v, want %+v", again, err, w2)
	}
	if n, _, err := s.total("limits_backlog.orders"); err != nil || n != w2.Rows || w2.Changes != changes {
		t.Fatalf("%d rows, %v, want %d after %d changes", n, err, w2.Rows, w2.Changes)
	}
	for _, l := range Limits {
		in := limitInput{Port: s.srv.Port, ScanFrom: "limits_scan.orders", From: w2.From, To: w2.To, Rows: w1.Rows}
		if strings.HasPrefix(l.Name, "binlog") {
			in.Rows = w2.Changes
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := RunLimit(t.Context(), l.Name, string(b)); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
}

func TestSteadyCommitsAreFoundInGTIDSets(t *testing.T) {
	t.Parallel()
	s, err := openSource(judge.OwnMySQL(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	b := &bench{src: s}
	if err := b.newTable("steady", 1); err != nil {
		t.Fatal(err)
	}
	commits, f, err := s.steady(t.Context(), "steady.orders", 1000, 300*time.Millisecond)
	if err != nil || f.changes() < 200 || int64(len(commits)) != f.transactions {
		t.Fatalf("%d changes, %d commits, %v", f.changes(), len(commits), err)
	}
	id, err := s.uuid()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.place()
	if err != nil {
		t.Fatal(err)
	}
	if last := commits[len(commits)-1].gno; lastGNO(p.GTID, id) != last {
		t.Errorf("the server is at %s, the last commit has number %d", p.GTID, last)
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	const id = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	t0 := time.Unix(0, 0)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	commits := []commitTime{{5, at(0)}, {6, at(400)}, {7, at(900)}}
	snapshots := []seen{{at: at(100), gtid: id + ":1-4"}, {at: at(500), gtid: id + ":1-6"}, {at: at(1000), gtid: id + ":1-9"}}
	got, err := freshness(commits, snapshots, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{100, 100, 500}, got); d != "" {
		t.Errorf("delays (-want +got):\n%s", d)
	}
	if _, err := freshness(append(commits, commitTime{10, at(950)}), snapshots, id); err == nil {
		t.Error("a commit that is in no snapshot gives no error")
	}
}

func TestResultLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := &bench{Config: Config{Out: json.NewEncoder(&out), Facts: map[string]any{"cpus": 2}}}
	if err := b.emit("W1", line{"cpu_s": 1.23456}, io.ErrUnexpectedEOF); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "at")
	want := map[string]any{"workload": "W1", "cpus": 2.0, "cpu_s": 1.235, "ok": false, "error": "unexpected EOF"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("line (-want +got):\n%s", d)
	}
}

func TestChildIsMeasured(t *testing.T) {
	t.Parallel()
	c, err := startChild(t.Context(), filepath.Join(t.TempDir(), "log"), nil, "/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo gone; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.wait()
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v, want the child's output", err)
	}
	if u.cpu <= 0 || u.wall < u.cpu/2 || u.rssMB <= 0 || u.rssMB > 50 {
		t.Errorf("usage %+v", u)
	}
}
