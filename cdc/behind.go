package cdc

import (
	"context"
	"slices"
	"time"

	"leat/internal/dataflow"
)

// Tables that were set aside and go on are read beside the others, which keep
// their latency: by a Reader of their own, with a binlog connection of its own,
// from the earliest of their places on. It lives on the goroutine of Run and
// shares its barriers: one is injected where both stand between transactions, and
// who comes there first waits for the other. Once it has come up with the others
// its tables are read with them.

// behindCollector is the Collector of tables that are behind: barriers are those of
// the others.
type behindCollector struct{ dataflow.Collector }

func (behindCollector) BarrierDue() bool             { return false }
func (behindCollector) Due() <-chan struct{}         { return nil }
func (behindCollector) Edge(context.Context) error   { return nil }
func (behindCollector) InTransaction(int64)          {}
func (behindCollector) Report(dataflow.SourceStatus) {}

// leaveBehind lets tables be read beside the others, each from its place on.
func (r *Reader) leaveBehind(places map[*table]Position) {
	b := &Reader{
		cfg: *r.cfg.aside(), log: r.log, byName: map[string][]*table{}, locked: map[string]time.Time{}, kept: map[string]tableState{}, letters: r.letters,
		server: r.server, zone: r.zone, rights: r.rights, catching: true,
	}
	b.cfg.Watch, b.cfg.CatchUp = nil, false
	first := true
	for t, at := range places {
		if first || at.before(&b.pos) {
			b.pos, first = at.clone(), false
		}
		t.behind = true
		b.tables = append(b.tables, t)
		k := r.server.tableKey(t.def.Database, t.def.Name)
		b.byName[k] = append(b.byName[k], t)
	}
	for t, at := range places {
		if b.pos.before(&at) {
			own := at.clone()
			t.floor = &own
			b.floors++
		}
	}
	if b.pos.ServerUUID != r.server.uuid {
		b.pos.ServerUUID, b.pos.File, b.pos.Offset = r.server.uuid, "", 0
	}
	r.tables = slices.DeleteFunc(r.tables, func(t *table) bool { return t.behind })
	r.behind = b
	r.log.Info("tables that were set aside go on beside the others", "tables", len(b.tables), "position", b.pos.String())
}

// join begins to read the tables that are behind.
func (r *Reader) join(ctx context.Context, out dataflow.Collector) error {
	b := r.behind
	ctx, cancel := context.WithCancel(ctx)
	b.run = newRunState(b, behindCollector{out})
	b.run.barrierDue, b.run.cancel = out.BarrierDue, cancel
	if err := b.fitTargets(ctx); err != nil {
		return err
	}
	if b.run.snap == nil && !b.complete() {
		b.startSnapshot(ctx)
	}
	b.connect(ctx, 0)
	return nil
}

// quit ends the reading of tables that are behind; it may be called more than once.
func (r *Reader) quit() {
	if r != nil && r.run != nil {
		r.run.cancel()
		r.run.wg.Wait()
	}
}

// between reports whether the reader stands between two transactions, and emitted
// nothing whose rest is still to come.
func (r *Reader) between() bool { return !r.run.open.active && r.within() == 0 }

// merge lets tables that have come up with the others be read with them.
func (r *Reader) merge(ctx context.Context) error {
	b := r.behind
	if b == nil || !r.between() || !b.between() || r.run.cut != nil || b.run.cut != nil || b.run.snap != nil || b.run.changed || b.floors > 0 ||
		len(r.pos.prepared)+len(b.pos.prepared) > 0 || b.pos.before(&r.pos) {
		return nil
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	b.quit()
	for _, t := range b.tables {
		t.behind = false
		if r.pos.before(&b.pos) { // it overtook them
			at := b.pos.clone()
			t.floor = &at
			r.floors++
		}
		r.log.Info("table has caught up", "table", t.id())
	}
	r.tables = append(r.tables, b.tables...)
	r.run.rows += b.run.rows
	r.behind, r.run.changed = nil, true
	return nil
}

// inject injects a barrier that is due, unless tables that are behind stand within a transaction.
func (r *Reader) inject(ctx context.Context) error {
	s, b := r.run, r.behind
	if b != nil && !b.between() {
		s.held = true
		return nil
	}
	if b != nil {
		if err := b.flush(ctx); err != nil {
			return err
		}
		b.run.held = false
	}
	s.held = false
	if err := r.flush(ctx); err != nil {
		return err
	}
	return s.out.Edge(ctx)
}

// goOn applies events that waited for a barrier, of either.
func (r *Reader) goOn(ctx context.Context) (more bool, err error) {
	for _, x := range r.readers() {
		if len(x.run.pending) > 0 && x.run.cut == nil && !x.run.held {
			return true, x.resume(ctx)
		}
	}
	return false, nil
}

// readers are r and that of the tables that are behind.
func (r *Reader) readers() []*Reader {
	if r.behind == nil {
		return []*Reader{r}
	}
	return []*Reader{r, r.behind}
}

// allTables are those of both.
func (r *Reader) allTables() []*table {
	if r.behind == nil {
		return r.tables
	}
	return slices.Concat(r.tables, r.behind.tables)
}

// channels are what the loop listens to for one reader; a nil one never comes.
type channels struct {
	marks   chan markRequest
	read    chan delivery
	fatal   chan error
	dial    chan dialed
	ready   chan struct{}
	cutDone <-chan error
	timer   <-chan time.Time
}

func (r *Reader) channels() channels {
	if r == nil {
		return channels{}
	}
	s := r.run
	c := channels{dial: s.dial, timer: s.timer.C}
	if s.snap != nil {
		c.marks, c.read, c.fatal = s.snap.marks, s.snap.read, s.snap.fatal
	}
	switch {
	case s.cut != nil:
		c.cutDone = s.cut.done
	case !s.held:
		c.ready = s.queue.ready
	}
	return c
}
