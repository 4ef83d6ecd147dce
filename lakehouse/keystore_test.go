package lakehouse_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// keyModel is a table of rows that move between partitions.
type keyModel struct {
	rows map[int64]order
	rnd  *rand.Rand
}

// epoch gives n changes: new keys, keys that stay, move, move there and back, or go.
func (m *keyModel) epoch(n, keys int) []order {
	var out []order
	for range n {
		o := order{kind: columnar.Insert, id: m.rnd.Int64N(int64(keys)), status: fmt.Sprint("s", m.rnd.IntN(1000)), dt: fmt.Sprint("d", m.rnd.IntN(4))}
		old, ok := m.rows[o.id]
		switch k := m.rnd.IntN(10); {
		case ok && k == 0:
			old.kind = columnar.Delete
			out = append(out, old)
			delete(m.rows, o.id)
			continue
		case ok && k < 4:
			was := old
			was.kind, o.kind = columnar.UpdateBefore, columnar.UpdateAfter
			out = append(out, was)
		case ok && k < 6:
			away := o
			away.dt = old.dt + "x"
			out = append(out, away)
			o.dt = old.dt
		}
		out = append(out, o)
		o.kind = columnar.Insert
		m.rows[o.id] = o
	}
	return out
}

func (m *keyModel) lines() []string {
	out := make([]string, 0, len(m.rows))
	for _, o := range m.rows {
		out = append(out, fmt.Sprintf("%d|%s|%s", o.id, o.status, o.dt))
	}
	slices.Sort(out)
	return out
}

// TestKeysBeyondMemory gives the index of keys room for some 500 of 3,000 keys, and a quarter of that once it is on the disk:
// every row has to be in its last partition alone, over epochs and restarts.
func TestKeysBeyondMemory(t *testing.T) {
	t.Parallel()
	for _, text := range []bool{false, true} {
		t.Run(fmt.Sprint("text=", text), func(t *testing.T) {
			t.Parallel()
			s := crossSchema(map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "500"})
			if text {
				s.Fields[4].Type = columnar.StringType().NotNull()
				s.PrimaryKeys = []string{"address", "order_id"}
			}
			scratch := t.TempDir()
			tab := newTable(t, crashfs.New(), "/wh/db.db/t", s)
			m := &keyModel{rows: map[int64]order{}, rnd: rand.New(rand.NewPCG(7, 7))}
			for round := range 3 {
				j := newJobWith(t, tab, fmt.Sprint("attempt", round), lakehouse.WriteConfig{Scratch: scratch, IndexBudget: 16_000})
				for range 4 {
					for range 3 {
						j.write(addressed(tab.Schema, m.epoch(400, 3000)))
					}
					j.commit()
				}
				compareLines(t, m.lines(), rowsOf(t, tab))
				if n := entries(t, scratch); n != 1 {
					t.Errorf("round %d: %d folders in use, want 1", round, n)
				}
				if err := j.w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := entries(t, scratch); n != 0 {
					t.Errorf("round %d: %d folders left behind", round, n)
				}
			}
		})
	}
}

// addressed makes a batch whose addresses are those of the ids.
func addressed(s *spec.TableSchema, rows []order) *columnar.Batch {
	for i := range rows {
		rows[i].address = fmt.Sprintf("street of %d", rows[i].id*7919%3001)
	}
	return orders(s, rows...)
}

func compareLines(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("row %d is %s, want %s", i, got[i], want[i])
		}
	}
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// BenchmarkKeyIndex routes rows that stay, of 2 million keys, with the index in
// memory and on the disk; opening reads all keys.
func BenchmarkKeyIndex(b *testing.B) {
	const keys = 2_000_000
	for _, where := range []string{"memory", "disk"} {
		b.Run(where, func(b *testing.B) {
			tab := newTable(b, localFS(b), b.TempDir()+"/orders", crossSchema(map[string]string{"bucket": "-1", "write-only": "true"}))
			first := newJob(b, tab, "first")
			for _, batch := range orderBatches(tab, keys, 0) {
				first.write(batch)
			}
			first.commit()
			batches := orderBatches(tab, 200_000, keys)
			cfg := lakehouse.WriteConfig{Scratch: b.TempDir()}
			if where == "disk" {
				cfg.IndexBudget = 16 << 20
			}
			for b.Loop() {
				cfg.Attempt = fmt.Sprint("bench", b.Elapsed().Nanoseconds())
				j := newJobWith(b, tab, cfg.Attempt, cfg)
				open := b.Elapsed()
				for _, batch := range batches {
					batch.Retain()
					j.write(batch)
				}
				b.Logf("opened in %s, 200,000 rows routed in %s", open, b.Elapsed()-open)
				if err := j.w.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
