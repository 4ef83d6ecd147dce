package dataflow

import (
	"context"
	"sync"

	"leat/internal/columnar"
)

// message is what travels through a channel: a batch, a barrier, a change of the
// table or the end.
type message struct {
	batch *columnar.Batch
	// bytes is batch.Bytes() for the channel's bound, 0 for the others.
	bytes   int64
	barrier CheckpointID
	change  *Change
	kind    messageKind
}

// batchMessage takes b over. Bytes are at least 1, so that the bound holds for any number of batches.
func batchMessage(b *columnar.Batch) message { return message{batch: b, bytes: max(b.Bytes(), 1)} }

type messageKind uint8

const (
	messageBatch messageKind = iota
	messageBarrier
	messageEnd
	messageChange
)

// inbox is the input side of a task: one bounded channel for each producer.
//
// It is one structure and not a Go channel each, because the bound is in bytes,
// because a task reads whichever input has something and because alignment stops
// reading single inputs. A producer that finds its channel full waits on its own
// space signal; the one consumer waits on ready. Both signals are channels of
// size one that are sent to after the state was changed under the lock and are
// re-checked in a loop by the receiver, so none is lost and a stale one is harmless.
type inbox struct {
	limit int64
	ready chan struct{}

	mu     sync.Mutex
	inputs []input
	// turn is the input to look at first, so that no input starves another.
	turn int
}

// input is the channel of one producer.
type input struct {
	queue []message
	bytes int64
	space chan struct{}
	// held stops reading while the barrier of another input is awaited.
	held bool
}

func newInbox(producers int, limit int64) *inbox {
	b := &inbox{limit: limit, ready: make(chan struct{}, 1), inputs: make([]input, producers)}
	for i := range b.inputs {
		b.inputs[i].space = make(chan struct{}, 1)
	}
	return b
}

// outlet is the producer's end of one input.
type outlet struct {
	to    *inbox
	input int
}

// send puts m into the channel and takes its batch over. It waits while the
// channel is full; barriers and ends never wait. When a context ends before, the
// batch is released.
func (o outlet) send(ctx context.Context, m message) error {
	for !o.to.offer(o.input, m) {
		select {
		case <-o.to.inputs[o.input].space:
		case <-ctx.Done():
			m.batch.Release()
			return context.Cause(ctx)
		}
	}
	return nil
}

// offer appends m unless the channel is full. An empty channel takes a batch of any size.
func (b *inbox) offer(i int, m message) bool {
	b.mu.Lock()
	in := &b.inputs[i]
	if m.kind == messageBatch && in.bytes > 0 && in.bytes+m.bytes > b.limit {
		b.mu.Unlock()
		return false
	}
	in.queue = append(in.queue, m)
	in.bytes += m.bytes
	b.mu.Unlock()
	signal(b.ready)
	return true
}

// next waits for a message of an input that is not held.
func (b *inbox) next(ctx context.Context) (message, int, error) {
	for {
		if ctx.Err() != nil {
			return message{}, 0, context.Cause(ctx)
		}
		if m, i, ok := b.poll(); ok {
			return m, i, nil
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
		}
	}
}

func (b *inbox) poll() (message, int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.inputs {
		i := (b.turn + k) % len(b.inputs)
		in := &b.inputs[i]
		if in.held || len(in.queue) == 0 {
			continue
		}
		m := in.queue[0]
		in.queue[0] = message{}
		in.queue = in.queue[1:]
		in.bytes -= m.bytes
		b.turn = i + 1
		signal(in.space)
		return m, i, true
	}
	return message{}, 0, false
}

func (b *inbox) hold(i int) {
	b.mu.Lock()
	b.inputs[i].held = true
	b.mu.Unlock()
}

func (b *inbox) releaseHeld() {
	b.mu.Lock()
	for i := range b.inputs {
		b.inputs[i].held = false
	}
	b.mu.Unlock()
}

// queued is the bytes that wait.
func (b *inbox) queued() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n int64
	for i := range b.inputs {
		n += b.inputs[i].bytes
	}
	return n
}

// drain releases what is left. It is called after producers and consumer have ended.
func (b *inbox) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.inputs {
		for _, m := range b.inputs[i].queue {
			if m.batch != nil {
				m.batch.Release()
			}
		}
		b.inputs[i].queue, b.inputs[i].bytes = nil, 0
	}
}

// signal wakes the one receiver of c, now or at its next wait.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
