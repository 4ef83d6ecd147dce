package cdc

import (
	"context"
	"errors"

	"leat/cdc/mysqlrow"
	"leat/internal/dataflow"
)

// A table that is followed takes the changes of its source: the stream waits at
// the statement until everything before it is committed, then the target changes
// its form or its rows, then the stream goes on. Where a statement changes rows
// that no event brings, the table is read again beside the stream.

// cut is a wait for everything before a place to be committed.
type cut struct {
	done <-chan error
	// then carries out what waits for it.
	then func(ctx context.Context) error
}

// startCut stops the stream before the event at hand until then was carried out.
func (r *Reader) startCut(ctx context.Context, then func(context.Context) error) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.run.cut = &cut{done: r.run.out.Cut(ctx), then: then}
	return nil
}

// cutDone goes on after a cut, or asks for another checkpoint where one failed.
func (r *Reader) cutDone(ctx context.Context, err error) error {
	c := r.run.cut
	switch {
	case errors.Is(err, dataflow.ErrStopped):
		// The last barrier comes; the statement is carried out after the restart.
		c.done = nil
		return nil
	case err != nil:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.log.Warn("a change of a source table waits for a checkpoint, which failed", "error", err)
		c.done = r.run.out.Cut(ctx)
		return nil
	}
	r.run.cut, r.run.changed = nil, true
	return c.then(ctx)
}

// carried is what a statement asks for one table.
type carried struct {
	table *table
	kind  effect
}

// carry lets the targets follow a statement.
func (r *Reader) carry(ctx context.Context, list []carried, statement string) error {
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer n.close()
	for _, c := range list {
		if err := r.carryTable(ctx, n, c, statement); err != nil {
			return c.table.alone(err)
		}
	}
	return nil
}

func (r *Reader) carryTable(ctx context.Context, n *conn, c carried, statement string) error {
	t := c.table
	end, err := n.endOfLog(r.server)
	if err != nil {
		return sourceError(n.addr, err)
	}
	src, err := r.describeNow(n, t.def.Database, t.def.Name)
	if err != nil {
		return sourceError(n.addr, err)
	}
	t.described, t.leaving = end, nil
	switch {
	case t.def.Evolution.Stop && (c.kind != altered || src == nil):
		return t.changed(errStops)
	case c.kind == truncated && t.def.Evolution.NoTruncate:
		r.log.Warn("source table was truncated: its rows stay in the lake", "table", t.id(), "statement", clip(statement))
		return nil
	case c.kind == truncated:
		r.log.Info("source table was truncated: its rows go in the lake", "table", t.id(), "statement", clip(statement))
		return r.adapt(ctx, t, t.src, statement, true, false)
	case c.kind == dropped, src == nil, src.view():
		t.leave()
		r.log.Warn("source table is gone: its rows stay in the lake", "table", t.id(), "statement", clip(statement))
		return nil
	case c.kind == created:
		t.absent.Store(false)
		r.log.Info("source table was made anew: its former rows go in the lake", "table", t.id(), "statement", clip(statement))
		return r.adapt(ctx, t, src, statement, true, true)
	case t.seq.waits() && !t.healing && (c.kind == renamed || c.kind == refilled):
		return r.adapt(ctx, t, src, statement, false, false) // nothing of it was read yet
	case c.kind == renamed || c.kind == refilled:
		t.absent.Store(false)
		r.log.Info("source table has other rows: it is read again", "table", t.id(), "statement", clip(statement))
		return r.adapt(ctx, t, src, statement, true, true)
	case mentions(statement, "PRIMARY"):
		// The key is as it was, and may have been another one for some time: changes
		// from then name rows by what is no key of the lake.
		r.log.Info("source table may have had another key: it is read again", "table", t.id(), "statement", clip(statement))
		return r.adapt(ctx, t, src, statement, true, true)
	default:
		return r.adapt(ctx, t, src, statement, false, false)
	}
}

// adapt brings port and target to the columns of src, and reads the table again
// where reread or the change itself asks for it.
func (r *Reader) adapt(ctx context.Context, t *table, src *sourceTable, statement string, truncate, reread bool) error {
	siblings := r.siblings(t)
	ev, err := t.evolve(t.src, src, statement, len(siblings) > 0)
	if err != nil {
		return t.changed(err)
	}
	if ev.rekeyed || ev.newKeys {
		r.log.Info("a column of the key has another type or other values: the table is emptied and read again", "table", t.id(), "statement", clip(statement))
		truncate, reread = true, true
	}
	for _, note := range ev.notes {
		r.log.Info("a column at the source has changed", "table", t.id(), "effect", note)
	}
	if ev.changed {
		r.log.Info("the lake follows the columns of the source", "table", t.id(), "statement", clip(statement))
	}
	next := &table{def: t.def, port: t.port, dropped: ev.dropped}
	ev.apply(&next.def)
	if err := next.adopt(src, r.cells()); err != nil {
		return t.changed(err)
	}
	if ev.changed {
		if err := r.adaptSiblings(siblings, ev); err != nil {
			return t.changed(err)
		}
	}
	ev.apply(&t.def)
	t.dropped = ev.dropped
	t.take(next)
	if t.def.Compares && (reread || ev.reread) && len(t.cut) == 0 {
		// It leaves while it is read, where no row can be compared.
		truncate = true
	}
	if ev.changed || truncate {
		if err := r.run.out.Change(ctx, t.port, ev.change(truncate, statement)); err != nil {
			return err
		}
	}
	for _, x := range siblings {
		if truncate && !x.absent.Load() {
			r.readEmptied(ctx, x) // its rows went, too
		}
	}
	if truncate && (reread || ev.reread) {
		r.readEmptied(ctx, t)
		return nil
	}
	t.reread = t.reread || reread || ev.reread
	return nil
}

// siblings are the other tables of the port of t.
func (r *Reader) siblings(t *table) []*table {
	var out []*table
	for _, x := range r.tables {
		if x != t && x.port == t.port && x.def.Follow {
			out = append(out, x)
		}
	}
	return out
}

// adaptSiblings gives the tables of a port the columns that one of them brought.
func (r *Reader) adaptSiblings(list []*table, ev *evolution) error {
	for _, x := range list {
		next := &table{def: x.def, port: x.port, dropped: x.dropped}
		ev.apply(&next.def)
		if err := next.adopt(x.src, r.cells()); err != nil {
			return err
		}
		ev.apply(&x.def)
		x.take(next)
	}
	return nil
}

// readEmptied begins to read a table whose target has no rows any more, as one
// that is new: changes of ranges that are not read yet are in what will be read.
func (r *Reader) readEmptied(ctx context.Context, t *table) {
	t.cuttings.Add(1) // what is being read is void
	t.seq.reading, t.reread = nil, false
	r.read(ctx, t, false)
}

// read begins to read all of a table; refresh says that its target has rows of it.
func (r *Reader) read(ctx context.Context, t *table, refresh bool) {
	t.seq.done, t.seq.refresh = rangeSet{}, refresh
	if r.run.snap != nil {
		r.run.snap.add(newChunkPlan(&r.cfg, t))
		return
	}
	r.startSnapshot(ctx)
}

// take goes on with the columns of next. Chunks under way are read again.
func (t *table) take(next *table) {
	recut := t.plan.KeyOrder() != next.plan.KeyOrder()
	t.schema, t.visible, t.src, t.plan, t.key, t.cut, t.uncut, t.before = next.schema, next.visible, next.src, next.plan, next.key, next.cut, next.uncut, next.before
	t.seq.out, t.seq.keyed = mysqlrow.NewBuilder(t.plan, firstRows), len(t.cut) > 0
	if recut {
		// Ranges under one order are none under the other: what is cut is void.
		t.cuttings.Add(1)
		t.seq.reading = nil
		if !t.seq.complete() {
			t.seq.done, t.reread = rangeSet{all: true}, true
		}
		return
	}
	for _, c := range t.seq.reading {
		c.again = true
		c.kept, c.kinds, c.ends = mysqlrow.NewBuilder(t.plan, 64), nil, nil
	}
}

// leave gives up reading a table that the source does not have any more: its
// rows stay, nothing of it is outstanding.
func (t *table) leave() {
	t.absent.Store(true)
	t.seq.done, t.seq.refresh, t.seq.reading = rangeSet{all: true}, false, nil
}

// readAnew begins to read tables again that ask for it.
func (r *Reader) readAnew(ctx context.Context) {
	for _, t := range r.tables {
		if t.reread && t.seq.complete() && !t.absent.Load() {
			t.reread = false
			r.read(ctx, t, true)
		}
	}
}

// heal asks for the table to be emptied and read again: events could not be
// read, because the log does not say which columns they have.
func (r *Reader) heal(t *table, why error) {
	if !t.healing {
		r.log.Warn("rows of the log cannot be read under the columns of now: the table is read again", "table", t.id(), "reason", why)
	}
	t.healing = true
	r.run.changed = true
}

// healed carries out what heal asked for, at the end of a transaction.
func (r *Reader) healed(ctx context.Context) error {
	var list []carried
	for _, t := range r.tables {
		if t.healing {
			list = append(list, carried{t, renamed})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return r.startCut(ctx, func(ctx context.Context) error {
		for _, c := range list {
			c.table.healing = false
		}
		return r.carry(ctx, list, "")
	})
}

// describedAfter reports whether the event lies before the place at which the columns of
// t were looked up: they may be newer than the event.
func (t *table) describedAfter(e *event, uuid string) bool {
	return t.described.uuid == uuid && t.described.file != "" && t.described.compare(e.file, e.offset) < 0
}

// follows reports the tables that a statement names and that follow it.
func (r *Reader) follows(kind effect, names []name, e *event) []carried {
	var list []carried
	for _, t := range r.tables {
		if !t.def.Follow || kind == created && !t.absent.Load() {
			continue // CREATE IF NOT EXISTS, of a table that was there
		}
		if t.floor != nil && t.floor.holds(e.id, e.file, e.offset, true) {
			continue // carried out before it went back
		}
		for _, n := range names {
			if n.covers(t.def.Database, t.def.Name) {
				list = append(list, carried{t, kind})
				break
			}
		}
	}
	return list
}
