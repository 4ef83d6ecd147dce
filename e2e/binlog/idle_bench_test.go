package binlog

import (
	"testing"
	"time"

	"leat/e2e/judge"
)

// BenchmarkIdleJob gives the share of a core that a job takes that waits for
// changes and takes a checkpoint a second.
func BenchmarkIdleJob(b *testing.B) {
	_, c := start(b, judge.MySQL(b), "idle")
	for b.Loop() {
		before, _ := c.Usage()
		begun := time.Now()
		time.Sleep(20 * time.Second)
		after, _ := c.Usage()
		b.ReportMetric((after-before).Seconds()/time.Since(begun).Seconds(), "cores")
	}
	c.Stop()
}
