package dataflow

import (
	"context"
	"errors"
)

// Execution is one run of a graph. Make it with NewExecution, call Run once.
type Execution struct {
	graph    Graph
	cfg      Config
	log      Log
	restore  Restore
	listener Listener
}

// NewExecution prepares a run; it does no I/O.
func NewExecution(g Graph, cfg Config, log Log, from Restore, l Listener) (*Execution, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return &Execution{graph: g, cfg: cfg.withDefaults(), log: log, restore: from, listener: l}, nil
}

// Run recovers the sinks, opens the sources and writers and runs until
//   - all sources have ended, or Stop was called, and the last checkpoint is committed: nil;
//   - ctx ends: its cause, without a further checkpoint;
//   - something fails: that error, with the uid of the operator.
//
// It returns after all goroutines have ended and everything is closed, readers and sinks included.
func (e *Execution) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Stop asks for an orderly end: a last barrier at the next edge of every source,
// its checkpoint committed, then Run returns nil. It returns at once and may be called again.
func (e *Execution) Stop() {}

// TriggerNow takes a checkpoint without waiting for interval and pause, and
// returns when a checkpoint triggered after the call is committed (nil), has
// failed, or the execution or ctx has ended.
func (e *Execution) TriggerNow(ctx context.Context) error { return errors.ErrUnsupported }

// Stats describes the execution at this moment.
func (e *Execution) Stats() Stats { return Stats{} }
