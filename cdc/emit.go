package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

// chunks marks ranges that readers are about to read, and emits chunks that the
// stream has caught up with.
func (r *Reader) chunks(ctx context.Context) error {
	s := r.run
	for more := true; more; {
		select {
		case m := <-s.snap.marks:
			s.marks = append(s.marks, m)
		case d := <-s.snap.read:
			if err := r.delivered(d); err != nil {
				return err
			}
		default:
			more = false
		}
	}
	for _, m := range s.marks {
		if m.chunk.cutting != m.chunk.table.cuttings.Load() || m.chunk.table.absent.Load() {
			m.answer <- passedMark{void: true}
			continue
		}
		m.chunk.plan, m.chunk.src = m.chunk.table.plan, m.chunk.table.src
		m.chunk.table.seq.begin(m.chunk)
		s.marked[m.chunk.table] = struct{}{}
		passed := passedMark{at: mark{uuid: r.pos.ServerUUID, file: r.pos.File, offset: r.pos.Offset}}
		if r.pos.GTID != nil {
			passed.gtids = r.pos.GTID.Clone()
		}
		m.answer <- passed
	}
	s.marks = s.marks[:0]
	rest := s.waiting[:0]
	for _, c := range s.waiting {
		done, err := r.chunk(ctx, c)
		if err != nil {
			return err
		}
		if !done {
			rest = append(rest, c)
		}
		s.changed = s.changed || done
	}
	clear(s.waiting[len(rest):])
	s.waiting = rest
	if s.changed && r.complete() {
		s.snap.stop()
		s.snap = nil
		r.log.Info("snapshot complete", "rows", s.snapRows, "position", r.pos.String())
	}
	return nil
}

// within gives the rows emitted of a table that is emitted while it is read: a
// barrier has to wait for its end. 0 if there is none.
func (r *Reader) within() int64 {
	for _, c := range r.run.waiting {
		if c.started {
			return max(c.count, 1)
		}
	}
	return 0
}

// delivered takes rows of a chunk from its reader.
func (r *Reader) delivered(d delivery) error {
	s, c := r.run, d.chunk
	if !slices.Contains(s.waiting, c) {
		s.waiting = append(s.waiting, c)
	}
	c.rows, c.bad = append(c.rows, d.rows...), append(c.bad, d.bad...)
	c.count += d.count
	c.bytes += d.bytes
	c.ended, c.came = d.end, time.Now()
	c.err = d.err
	return nil
}

// chunk emits of c what is there, if the stream has passed its view; done says
// that it does not wait any more.
func (r *Reader) chunk(ctx context.Context, c *chunk) (done bool, err error) {
	s, seq := r.run, c.table.seq
	if c.err == nil && c.high.uuid != r.pos.ServerUUID && !s.connected {
		return false, nil // the stream may be about to follow to that server
	}
	if c.table.absent.Load() || c.cutting != c.table.cuttings.Load() {
		s.snap.hold(-c.bytes)
		c.rows, c.bytes = nil, 0
		return true, nil
	}
	if s.cut != nil && !c.started {
		return false, nil // it would come between the cut and the change
	}
	if c.err != nil || c.again || c.high.uuid != r.pos.ServerUUID {
		return r.readAgain(c)
	}
	if !c.high.reached(r.pos.File, r.pos.Offset) {
		return false, nil
	}
	if len(c.rows) == 0 && !c.ended {
		return false, nil
	}
	if seq.refresh && c.table.def.Compares && !c.whole {
		// The rows are compared with what the target has as of this edge. Some company
		// makes it worth a checkpoint, and a look at the target.
		if time.Since(c.came) < compareAfter && s.snap.holds() < r.cfg.snapshotBytes()/2 {
			return false, nil
		}
		return false, r.startCut(ctx, r.compareChunks)
	}
	if err := r.flush(ctx); err != nil {
		return false, err
	}
	return r.emitChunk(ctx, c)
}

// compareAfter is how long chunks wait for others to be compared with them.
const compareAfter = 400 * time.Millisecond

// compareChunks emits the chunks that are there of tables whose targets compare,
// table by table.
func (r *Reader) compareChunks(ctx context.Context) error {
	s := r.run
	slices.SortStableFunc(s.waiting, func(a, b *chunk) int { return a.table.port - b.table.port })
	rest := s.waiting[:0]
	var comparing *table
	end := func() error {
		if comparing == nil {
			return nil
		}
		t := comparing
		comparing = nil
		return s.out.Change(ctx, t.port, &dataflow.Change{Kind: dataflow.TakeRows, Schema: t.def.Schema, Reason: "reading again"})
	}
	for _, c := range s.waiting {
		t := c.table
		ready := t.seq.refresh && t.def.Compares && !c.whole && c.err == nil && !c.again && c.ended && !t.absent.Load() &&
			c.cutting == t.cuttings.Load() && c.high.uuid == r.pos.ServerUUID && c.high.reached(r.pos.File, r.pos.Offset)
		if !ready {
			rest = append(rest, c)
			continue
		}
		if t != comparing {
			if err := end(); err != nil {
				return err
			}
			comparing = t
			if err := s.out.Change(ctx, t.port, &dataflow.Change{Kind: dataflow.CompareRows, Schema: t.def.Schema, Reason: "reading again"}); err != nil {
				return err
			}
		}
		done, err := r.emitChunk(ctx, c)
		if err != nil {
			return err
		}
		if !done {
			rest = append(rest, c)
		}
	}
	clear(s.waiting[len(rest):])
	s.waiting = rest
	return end()
}

// emitChunk emits what is there of c.
func (r *Reader) emitChunk(ctx context.Context, c *chunk) (done bool, err error) {
	s, seq := r.run, c.table.seq
	batches, done, err := seq.finish(c)
	if errors.Is(err, errReadAgain) {
		return r.readAgain(c)
	}
	if err == nil {
		r.post(c)
	}
	for i, b := range batches {
		if err == nil {
			s.rows += int64(b.Rows())
			err = c.table.emit(ctx, s.out, b, nil)
			continue
		}
		batches[i].Release()
	}
	s.snap.hold(-c.bytes)
	c.bytes = 0
	s.snapRows += c.count - c.shown
	c.shown = c.count
	return done, err
}

// readAgain gives a chunk back to the readers. Once a part of it was emitted,
// only a restart from the last checkpoint can take that back.
func (r *Reader) readAgain(c *chunk) (done bool, err error) {
	why := c.reason(r.pos.ServerUUID)
	if c.started {
		return false, &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceReach, Retry: true, Table: c.table.def.Label,
			Msg:  "the table has to be read again, because " + why,
			Hint: "the job starts again from its last checkpoint",
		}
	}
	if c.whole && !c.ended && c.err == nil {
		// Its reader is still at work: what it brings is dropped.
		c.again = true
		r.run.snap.hold(-c.bytes)
		c.rows, c.bytes = nil, 0
		return false, nil
	}
	if errors.Is(c.err, errTooLarge) {
		c.table.seq.drop(c)
		r.run.snap.hold(-c.bytes)
		p := c.split(c.count)
		r.log.Debug("chunk is cut in smaller ones", "table", c.table.id(), "rows_read", c.count, "rows", p.limit)
		r.run.snap.add(p)
		return true, nil
	}
	if c.tries == 0 {
		r.log.Info("chunk is read again", "table", c.table.id(), "reason", why)
	}
	c.tries++
	c.table.seq.drop(c)
	r.run.snap.repeat(c)
	return true, nil
}

// reason says why a chunk cannot be used.
func (c *chunk) reason(uuid string) string {
	switch {
	case c.err != nil:
		return c.err.Error()
	case c.high.uuid == uuid:
		return "the table changed meanwhile"
	default:
		return fmt.Sprintf("the stream is on server %s, the chunk on %s", uuid, c.high.uuid)
	}
}
