package dataflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"leat/internal/diag"
)

// SavepointRef names a savepoint.
type SavepointRef struct {
	// Name is unique; targets hold their state under it.
	Name string `json:"name"`
	// Path is the folder or URL of the savepoint.
	Path string `json:"path"`
}

// Savepoint is a checkpoint that outlives its job: once all sinks have committed
// it, they hold what they have, and the whole is written to a place of its own.
type Savepoint struct {
	SavepointRef
	// Checkpoint is the entry of the log. All its epochs are committed.
	Checkpoint *Checkpoint
	// Held is what each Savepointer gave, by uid.
	Held map[string]json.RawMessage
}

// Savepointer is a Sink that can keep the state of its target for a savepoint.
type Savepointer interface {
	// Hold keeps what the target has now under name, until Release, and gives what
	// going back to it needs, in the form of Observe or more. last is the newest
	// epoch, which is committed. It may be called again.
	Hold(ctx context.Context, name string, last *Epoch) (json.RawMessage, error)
	// Release lets go of what was held under name; nothing held is no error.
	Release(ctx context.Context, name string) error
}

// SavepointRequest asks for a savepoint.
type SavepointRequest struct {
	SavepointRef
	// Stop makes the savepoint the end of the execution.
	Stop bool
	// Write makes the savepoint durable. Its retryable errors are retried.
	Write func(ctx context.Context, s *Savepoint) error

	done chan error
}

// savepointPatience is how long holding and writing a savepoint is tried again:
// the next checkpoint waits meanwhile.
const savepointPatience = 30 * time.Second

// Savepoint takes a savepoint with the next checkpoint that can be triggered: it
// waits for one under way, for its commit, and for the end of open source
// transactions. A checkpoint that fails hands the request on to the next. It
// returns when the savepoint is written, or cannot be; with Stop, Run then ends:
// with nil, or, if the savepoint failed, with a retryable error, as nothing was
// read after it. A request whose ctx ends is carried out nevertheless.
func (e *Execution) Savepoint(ctx context.Context, r SavepointRequest) error {
	r.done = make(chan error, 1)
	return e.await(ctx, request{done: r.done, savepoint: &r})
}

// savepoint holds and writes a savepoint whose checkpoint is committed. What was
// held is let go if it fails.
func (c *coordinator) savepoint(ctx context.Context, r *SavepointRequest, ck *Checkpoint) error {
	err := c.hold(ctx, r, ck)
	if err == nil {
		tell(c.e.listener.SavepointTaken, SavepointTaken{ID: ck.ID, SavepointRef: r.SavepointRef})
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rerr := c.e.eachSink(func(n *SinkNode) error {
		if s, ok := n.Sink.(Savepointer); ok {
			return s.Release(ctx, r.Name)
		}
		return nil
	})
	if rerr != nil {
		c.e.cfg.Log.Warn("what a failed savepoint held was not let go", "savepoint", r.Name, "error", rerr)
	}
	return err
}

func (c *coordinator) hold(ctx context.Context, r *SavepointRequest, ck *Checkpoint) error {
	s := &Savepoint{SavepointRef: r.SavepointRef, Checkpoint: ck, Held: map[string]json.RawMessage{}}
	sinks := c.e.sinks()
	for i := range sinks {
		n := &sinks[i]
		keeper, ok := n.Sink.(Savepointer)
		epochs := ck.Sinks[n.UID].Epochs
		if !ok || len(epochs) == 0 {
			continue // it holds nothing, or came after the barrier
		}
		err := c.patiently(ctx, func() (err error) {
			s.Held[n.UID], err = keeper.Hold(ctx, r.Name, &epochs[len(epochs)-1])
			return err
		})
		if err != nil {
			return fault(ctx, n.UID, fmt.Errorf("holding savepoint %s: %w", r.Name, err))
		}
	}
	return c.patiently(ctx, func() error { return r.Write(ctx, s) })
}

// patiently tries f again after retryable errors, for a while.
func (c *coordinator) patiently(ctx context.Context, f func() error) error {
	r := c.e.newRetry()
	for until := time.Now().Add(savepointPatience); ; {
		err := f()
		if err == nil || !diag.Retryable(err) || time.Now().Add(r.pause).After(until) {
			return err
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// savepointFailed is the end of an execution that was to stop with a savepoint.
func savepointFailed(err error) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSavepoint, Retry: true, Cause: err,
		Msg: "the job was to stop with a savepoint, which failed", Hint: savepointHint(err),
	}
}

func savepointHint(err error) string {
	var e *diag.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Hint
	}
	return "look at the folder of the savepoint and at the tables, and take it again"
}
