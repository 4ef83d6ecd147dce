package datagen

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/expr"
)

var (
	_ connect.RowReader = Connector{}
	_ connect.Endless   = Connector{}
)

// Endless reports whether nothing ends the table.
func (c Connector) Endless(t *connect.Table) bool { return !c.Bounded(t) }

// OpenRows makes the rows of a query. Those of a table with an end come as fast as
// they are made, the others at the rate of the table.
func (Connector) OpenRows(_ context.Context, t *connect.Table, _ connect.Env) (connect.Rows, error) {
	g, err := compile(t)
	if err != nil {
		return nil, err
	}
	return &rows{
		generator: g, schema: t.Schema, rate: RowsPerSecond.Get(t.Options),
		start: state{Seed: rand.Uint64(), Base: time.Now().UnixMilli()},
	}, nil
}

// rows gives the same rows each time that it is scanned.
type rows struct {
	*generator
	schema *columnar.Schema
	rate   int64
	start  state
}

// Estimate is the number of rows, -1 for no end.
func (r *rows) Estimate() int64 { return r.limit }

// Close has nothing to close.
func (*rows) Close() {}

// Scan leaves conditions to the query.
func (r *rows) Scan(ctx context.Context, used []int, _ []expr.Condition, each func(cols []arrow.Array, rows int) error) error {
	s := &source{limit: r.limit, rate: r.rate, state: r.start}
	p := port{schema: r.schema.Project(used)}
	for _, i := range used {
		p.fields = append(p.fields, r.fields[i])
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for began := time.Now(); s.limit < 0 || s.state.Next < s.limit; {
		if err := ctx.Err(); err != nil {
			return err
		}
		due := s.limit - s.state.Next
		if s.limit < 0 {
			due = int64(time.Since(began).Seconds()*float64(s.rate)) + 1 - s.state.Next
		}
		if n := min(due, maxBatch); n > 0 {
			b := s.batch(&p, int(n))
			err := each(b.Cols, int(n))
			b.Release()
			if err != nil {
				return err
			}
			s.state.Next += n
			continue
		}
		timer.Reset(max(pause, time.Second/time.Duration(s.rate)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
