package dataflow

import (
	"context"
	"fmt"
)

// alignedInput reads an inbox and aligns its barriers: an input that delivered
// barrier n is not read until every input has delivered it, so that what comes
// out before the barrier is exactly what every producer sent before it. What
// arrives meanwhile waits in the channels, whose bound holds the producers back.
type alignedInput struct {
	in *inbox
	// waiting is the barrier under alignment, 0 if there is none; arrived counts
	// the inputs that delivered it, ended those that ended.
	waiting        CheckpointID
	arrived, ended int
}

// next gives batches one by one, a barrier once all inputs delivered it, and the
// end once all have ended.
func (a *alignedInput) next(ctx context.Context) (message, error) {
	for {
		m, i, err := a.in.next(ctx)
		if err != nil {
			return message{}, err
		}
		switch m.kind {
		case messageBarrier:
			if a.waiting != 0 && a.waiting != m.barrier {
				return message{}, fmt.Errorf("aligning barrier %d: input %d delivered barrier %d", a.waiting, i, m.barrier)
			}
			a.waiting = m.barrier
			a.arrived++
			a.in.hold(i)
		case messageEnd:
			a.ended++
		case messageBatch, messageChange:
			return m, nil
		}
		switch n := len(a.in.inputs); {
		case a.ended == n:
			return message{kind: messageEnd}, nil
		case a.waiting != 0 && a.arrived+a.ended == n:
			m := message{kind: messageBarrier, barrier: a.waiting}
			a.waiting, a.arrived = 0, 0
			a.in.releaseHeld()
			return m, nil
		}
	}
}
