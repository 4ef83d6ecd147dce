package job

import (
	"context"
	"fmt"
	"strings"
	"time"

	"leat/internal/columnar"
	"leat/internal/query"
)

// analyze runs a SELECT and tells what it read.
func (a *application) analyze(ctx context.Context, sel *query.Select) error {
	ctx, progress := query.Observe(ctx)
	rows, begin := 0, time.Now()
	if err := sel.Run(ctx, func(b *columnar.Batch) error { rows += b.Rows(); return nil }); err != nil {
		return err
	}
	var lines [][]string
	for line := range strings.Lines(a.step.Analyze) {
		lines = append(lines, []string{strings.TrimSuffix(line, "\n")})
	}
	lines = append(lines, []string{"== Run =="})
	for _, r := range progress.Reads() {
		lines = append(lines, []string{"Read " + r.String()})
	}
	took := time.Since(begin).Round(time.Millisecond)
	return a.table([]string{"plan"}, append(lines, []string{fmt.Sprintf("%d rows in %s", rows, took)}))
}
