package cdc

import (
	"context"
	"errors"
	"slices"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// drain applies what the queue holds.
func (r *Reader) drain(ctx context.Context) error {
	s := r.run
	s.events = s.queue.take(s.events)
	if err := r.apply(ctx, s.events); err != nil {
		return err
	}
	return r.drained()
}

// resume applies the events that a cut held up.
func (r *Reader) resume(ctx context.Context) error {
	list := r.run.pending
	r.run.pending = nil
	if err := r.apply(ctx, list); err != nil {
		return err
	}
	if r.run.cut == nil {
		notify(r.run.queue.ready) // what came meanwhile
	}
	return r.drained()
}

// apply applies events up to one that has to wait for a cut.
func (r *Reader) apply(ctx context.Context, list []event) error {
	for i := range list {
		if err := r.event(ctx, &list[i]); err != nil {
			return err
		}
		if r.run.cut != nil || r.run.held {
			r.run.pending = append([]event(nil), list[i+1:]...)
			return nil
		}
	}
	return nil
}

// drained sees to it that rows do not wait for company for ever.
func (r *Reader) drained() error {
	s := r.run
	if (len(s.filled) > 0 || r.letters.waiting()) && !s.lingering {
		s.lingering = true
		s.timer.Reset(linger)
	}
	if s.open.active {
		s.inTxn = true
		s.out.InTransaction(s.open.rows)
	}
	return nil
}

// event applies one event of the log.
func (r *Reader) event(ctx context.Context, e *event) error {
	s := r.run
	switch e.kind {
	case evBegin:
		return r.begin(e)
	case evRows:
		return r.rowsEvent(ctx, e)
	case evStatement:
		return r.statementEvent(ctx, e)
	case evCommit:
		if s.resuming || s.skip > 0 {
			return r.otherTransaction()
		}
		s.failures = 0
		for t := range s.marked {
			if len(t.seq.reading) == 0 {
				delete(s.marked, t)
				continue
			}
			t.seq.commit(e.id, e.file, e.offset)
		}
		r.pos.prepared.take(e.xa, &r.pos)
		if r.pos.GTID != nil && e.id.gno != 0 {
			r.pos.GTID.Add(e.id)
		}
		r.pos.TimeMillis = e.millis
		r.move(e)
		r.lowerFloors()
		s.open.active = false
		return r.edge(ctx)
	case evAdvance:
		s.failures = 0
		r.move(e)
		return nil
	case evLost:
		return r.lost(ctx, e.err)
	}
	return nil
}

// move takes over the place of an edge. A server that skips what we have starts
// before it: such places are not ours.
func (r *Reader) move(e *event) {
	if r.pos.File == "" || (mark{file: r.pos.File, offset: r.pos.Offset}).reached(e.file, e.offset) {
		r.pos.File, r.pos.Offset, r.pos.Begun = e.file, e.offset, e.begun
	}
}

func (r *Reader) begin(e *event) error {
	s := r.run
	if s.resuming {
		if e.id != s.open.id {
			return r.otherTransaction()
		}
		// The same transaction comes again from its start: what of it was applied
		// before the connection broke is passed over.
		s.resuming, s.skip = false, s.open.events
		return nil
	}
	s.open = openTxn{active: true, id: e.id, millis: e.millis, file: e.file, offset: e.offset}
	return nil
}

func (r *Reader) otherTransaction() error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
		Msg:  "the connection broke within a transaction, which the server does not send again",
		Hint: "the job starts again from its last checkpoint",
	}
}

func (r *Reader) rowsEvent(ctx context.Context, e *event) error {
	s := r.run
	if s.skip > 0 {
		s.skip--
		return nil
	}
	s.open.events++
	if !r.originWanted() {
		return nil
	}
	full := false
	for _, b := range r.bindings(e.table) {
		t := b.table
		if t.behind != r.catching {
			continue // the other reader's
		}
		if t.absent.Load() {
			continue // of a table of that name which is gone, too, by now
		}
		if t.seq.waits() || slices.Contains(t.def.Skip, e.rows.Op) {
			continue // nothing of it was read yet
		}
		if t.floor != nil && t.floor.holds(s.open.id, s.open.file, s.open.offset, false) {
			continue // read before it went back
		}
		if err := r.keyless(t, e.rows.Op); err != nil {
			return err
		}
		if b.layout == nil || b.plan != t.plan {
			l, err := r.bind(ctx, t, e.table.columns)
			s.changed = true
			if err != nil {
				return t.alone(err)
			}
			if l == nil {
				continue // the table is read again
			}
			b.layout, b.plan = l, t.plan
		}
		t.empty = false
		before := t.seq.out.Len()
		layout, rows := b.layout, e.rows
		if !layout.Whole(rows) {
			var err error
			if rows, layout, err = layout.Complete(rows, t.before); err != nil {
				return t.at(-1, r.incomplete(t, err))
			}
		}
		if bad := r.lettersOf(t, e.table); bad != nil {
			if err := t.seq.applyEach(t.plan, layout, rows, bad); err != nil {
				return t.alone(t.at(-1, err))
			}
		} else if err := t.seq.apply(layout, rows); t.otherColumns(err) {
			r.heal(t, err)
		} else if err != nil {
			if err = t.at(-1, err); t.def.BadRowsAside {
				return t.alone(err)
			}
			return err
		}
		n := t.seq.out.Len()
		if before == 0 && n > 0 {
			s.filled = append(s.filled, t)
		}
		s.open.rows += int64(n - before)
		s.collected += len(rows.Data)
		t.from.add(&s.open, n-before)
		full = full || n >= batchRows || t.seq.out.Bytes() >= batchBytes || s.collected >= queueBytes || r.letters.full()
	}
	if full {
		return r.flush(ctx)
	}
	return nil
}

// otherColumns reports an error that says that rows of a table that is followed are
// of other columns than those in use, as far as its table map could not tell.
func (t *table) otherColumns(err error) bool {
	var e *diag.Error
	return t.def.Follow && errors.As(err, &e) && e.Code == diag.CodeSourceChanged
}

// originWanted reports whether rows of the transaction at hand are read.
func (r *Reader) originWanted() bool {
	return r.cfg.Origin == nil || r.run.open.id.gno == 0 || r.cfg.Origin(r.run.open.id.sid.String())
}

// bind checks a table map against the columns in use. Where they differ, the
// table may have changed in a column nobody reads.
func (r *Reader) bind(ctx context.Context, t *table, m mysqlrow.TableMap) (*mysqlrow.Layout, error) {
	l, err := t.plan.Bind(m)
	if err == nil {
		return l, nil
	}
	return r.rebind(ctx, t, m, err)
}
