package lakehouse_test

import (
	"testing"

	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
)

// TestAllocsOfWrite guards that taking a batch allocates per batch, not per row.
func TestAllocsOfWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		s    func() *lakehouse.Table
	}{
		{"integer key", func() *lakehouse.Table {
			return newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "4"}))
		}},
		{"partitioned", func() *lakehouse.Table {
			return newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "4", "changelog-producer": "input"}, "dt"))
		}},
		{"append", func() *lakehouse.Table {
			return newTable(t, crashfs.New(), "/wh/o", appendSchema(nil, "dt"))
		}},
	} {
		tab := c.s()
		w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x", Budget: lakehouse.NewMemoryBudget(1 << 40)})
		if err != nil {
			t.Fatal(err)
		}
		b := orderBatches(tab, 8192, 0)[0]
		allocs := testing.AllocsPerRun(10, func() {
			b.Retain()
			if err := w.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 100 {
			t.Errorf("%s: %v allocations for %d rows", c.name, allocs, b.Rows())
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
