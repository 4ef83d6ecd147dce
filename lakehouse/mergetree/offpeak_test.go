package mergetree

import (
	"testing"
	"time"

	"leat/lakehouse/spec"
)

func TestOffPeakHours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    OffPeak
		hour int
		want int
	}{
		{OffPeak{Start: -1, End: -1, Ratio: 50}, 3, 0},
		{OffPeak{Start: 1, End: 5, Ratio: 50}, 1, 50},
		{OffPeak{Start: 1, End: 5, Ratio: 50}, 5, 0},
		{OffPeak{Start: 22, End: 4, Ratio: 50}, 23, 50},
		{OffPeak{Start: 22, End: 4, Ratio: 50}, 3, 50},
		{OffPeak{Start: 22, End: 4, Ratio: 50}, 4, 0},
		{OffPeak{Start: 4, End: 4, Ratio: 50}, 4, 0},
	} {
		if got := c.o.ratio(time.Date(2026, 1, 1, c.hour, 30, 0, 0, time.UTC)); got != c.want {
			t.Errorf("%+v at %d: %d, want %d", c.o, c.hour, got, c.want)
		}
	}
}

// At quiet hours a larger run is taken along.
func TestOffPeakCompactsMore(t *testing.T) {
	t.Parallel()
	var runs []Run
	for _, size := range []int64{100, 100, 250, 10000, 100000} {
		runs = append(runs, Run{Files: []spec.DataFileMeta{{FileSize: size}}})
	}
	o := UniversalOptions{Trigger: 5, Levels: 6, MaxSizeAmp: 200, SizeRatio: 1, OffPeak: OffPeak{Start: 1, End: 2, Ratio: 50}}
	day, night := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	if n := NewUniversal(o).pick(runs, day); n != 2 {
		t.Errorf("by day %d runs", n)
	}
	if n := NewUniversal(o).pick(runs, night); n != 3 {
		t.Errorf("by night %d runs", n)
	}
}
