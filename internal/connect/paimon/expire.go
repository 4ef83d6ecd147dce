package paimon

import (
	"context"
	"sync"
	"time"

	"leat/configs"
	"leat/lakehouse/maintain"
)

// expirer removes old snapshots, and sees to tags, partitions and consumers, beside the stream: one round at a time, after
// commits, so that a commit never waits for it.
type expirer struct {
	sink   *sink
	upkeep maintain.Upkeep
	kickC  chan struct{}
	quit   chan struct{}
	wg     sync.WaitGroup
}

func newExpirer(s *sink) *expirer {
	e := &expirer{sink: s, upkeep: maintain.Upkeep{FS: s.fs, Path: s.path, Options: s.spec.Table.Options}, kickC: make(chan struct{}, 1), quit: make(chan struct{})}
	if !configs.WriteOnly.Get(s.spec.Table.Options) {
		e.wg.Go(e.loop)
	}
	return e
}

// kick asks for a round; one that is under way is enough.
func (e *expirer) kick(context.Context) {
	select {
	case e.kickC <- struct{}{}:
	default:
	}
}

// close waits for the round under way: one that is cut short leaves snapshots
// whose manifests are gone until the next.
func (e *expirer) close() {
	close(e.quit)
	e.wg.Wait()
}

func (e *expirer) loop() {
	for {
		select {
		case <-e.quit:
			return
		case <-e.kickC:
		}
		if o := e.options(); e.sink.last.Load() > o.RetainMin { // none of fewer may go
			// What could not be removed now is tried again after the next commit.
			if _, err := maintain.ExpireSnapshots(context.Background(), e.sink.fs, e.sink.path, o); err != nil {
				e.sink.log.Warn("snapshots not expired", "error", err)
			}
		}
		if err := e.upkeep.Run(context.Background(), time.Now()); err != nil {
			e.sink.log.Warn("table not kept in order", "error", err)
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
