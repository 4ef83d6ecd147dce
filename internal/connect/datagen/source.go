package datagen

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/dataflow"
)

const (
	// maxBatch bounds a batch in rows.
	maxBatch = 8192
	// pause is the least time between two batches of a paced source, so that low
	// rates come smoothly and high ones in pieces worth sending.
	pause = 10 * time.Millisecond
)

// state is what a checkpoint stores.
type state struct {
	Seed uint64 `json:"seed"`
	// Base is the moment from which random timestamps count back, in milliseconds.
	Base int64 `json:"base"`
	// Next is the number of the next row, from 0.
	Next int64 `json:"next"`
}

type port struct {
	schema *columnar.Schema
	fields []field
}

// source is the reader of one table.
type source struct {
	ports   []port
	rate    int64
	limit   int64
	catchUp bool
	state   state
	made    int64 // in this run
}

var _ dataflow.SourceReader = (*source)(nil)

// Open takes up the numbering of the last checkpoint, or begins at row 0.
func (s *source) Open(_ context.Context, restored json.RawMessage) error {
	if restored == nil {
		s.state = state{Seed: rand.Uint64(), Base: time.Now().UnixMilli()}
		return nil
	}
	if err := json.Unmarshal(restored, &s.state); err != nil {
		return fmt.Errorf("reading the state of a datagen source: %w", err)
	}
	return nil
}

// Run makes rows at the rate of the table until its last one. A table without
// end has nothing to catch up with, so that it ends at once when asked to.
func (s *source) Run(ctx context.Context, out dataflow.Collector) error {
	if s.limit < 0 && s.catchUp {
		s.report(out)
		return nil
	}
	began, first := time.Now(), s.state.Next
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for s.limit < 0 || s.state.Next < s.limit {
		due := int64(time.Since(began).Seconds()*float64(s.rate)) + 1 - (s.state.Next - first)
		if s.limit >= 0 {
			due = min(due, s.limit-s.state.Next)
		}
		if due > 0 {
			if err := s.emit(ctx, out, min(due, maxBatch)); err != nil {
				return err
			}
		}
		if err := out.Edge(ctx); err != nil {
			return err
		}
		if due > maxBatch {
			continue
		}
		s.report(out)
		timer.Reset(max(pause, time.Second/time.Duration(s.rate)))
		select {
		case <-timer.C:
		case <-out.Due():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.report(out)
	return out.Edge(ctx)
}

func (s *source) report(out dataflow.Collector) {
	out.Report(dataflow.SourceStatus{
		Phase: "stream", Rows: s.made, CaughtUp: true, Complete: true, ReadAsOf: time.Now(),
		Position: fmt.Sprintf("row %d", s.state.Next),
	})
}

// emit sends the next n rows to every port.
func (s *source) emit(ctx context.Context, out dataflow.Collector, n int64) error {
	for i := range s.ports {
		if err := out.Emit(ctx, i, s.batch(&s.ports[i], int(n))); err != nil {
			return err
		}
	}
	s.state.Next += n
	s.made += n
	return nil
}

func (s *source) batch(p *port, n int) *columnar.Batch {
	builders := columnar.NewBuilders(memory.DefaultAllocator, p.schema)
	cols := make([]arrow.Array, len(builders))
	for i, b := range builders {
		b.Reserve(n)
		p.fields[i].fill(b, numbers{seed: s.state.Seed ^ p.fields[i].salt, base: s.state.Base, row: s.state.Next}, n)
		cols[i] = b.NewArray()
		b.Release()
	}
	return columnar.NewBatch(p.schema, nil, cols, n)
}

// SnapshotState stores seed and row number.
func (s *source) SnapshotState(context.Context, dataflow.CheckpointID) (dataflow.SourceState, error) {
	data, err := json.Marshal(s.state)
	return dataflow.SourceState{Data: data}, err
}

// Close has nothing to close.
func (s *source) Close() error { return nil }
