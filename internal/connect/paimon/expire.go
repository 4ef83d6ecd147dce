package paimon

import (
	"context"
	"sync"

	"leat/configs"
	"leat/lakehouse/maintain"
)

// expirer removes old snapshots beside the stream: one round at a time, after
// commits, so that a commit never waits for it.
type expirer struct {
	sink  *sink
	off   bool
	kickC chan struct{}
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

func newExpirer(s *sink) *expirer {
	ctx, cancel := context.WithCancel(context.Background())
	e := &expirer{sink: s, off: configs.WriteOnly.Get(s.spec.Table.Options), kickC: make(chan struct{}, 1), stop: cancel}
	if e.off {
		return e
	}
	e.wg.Go(func() { e.loop(ctx) })
	return e
}

// kick asks for a round; one that is under way is enough.
func (e *expirer) kick(context.Context) {
	select {
	case e.kickC <- struct{}{}:
	default:
	}
}

func (e *expirer) close() {
	e.stop()
	e.wg.Wait()
}

func (e *expirer) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.kickC:
		}
		// What could not be removed now is tried again after the next commit.
		if _, err := maintain.ExpireSnapshots(ctx, e.sink.fs, e.sink.path, e.options()); err != nil && ctx.Err() == nil {
			e.sink.log.Warn("snapshots not expired", "error", err)
		}
	}
}

func (e *expirer) options() maintain.ExpireOptions {
	v := e.sink.spec.Table.Options
	return maintain.ExpireOptions{
		RetainMin: configs.RetainMin.Get(v), RetainMax: configs.RetainMax.Get(v), RetainTime: configs.RetainTime.Get(v), Limit: configs.ExpireLimit.Get(v),
		CleanEmptyDirs: configs.CleanEmpty.Get(v),
	}
}
