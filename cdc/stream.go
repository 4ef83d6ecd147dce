package cdc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"leat/internal/dataflow"
)

// Limits at which batches close.
const (
	batchBytes = 4 << 20
	// linger is how long rows wait for company when the log is idle.
	linger = 20 * time.Millisecond
	// queueBytes is what may wait between network and decoding.
	queueBytes = 16 << 20
)

// runState is what one Run holds.
type runState struct {
	out    dataflow.Collector
	queue  *queue
	events []event // taken from the queue, given back for reuse

	snap *snapshot
	// cut is a wait for what is before the next of pending to be committed.
	cut     *cut
	pending []event
	// marks wait for the next edge; waiting are chunks whose rows are in.
	marks   []markRequest
	waiting []*chunk

	// dial brings a new binlog connection, or why there is none.
	dial      chan dialed
	failures  int
	clashes   int // connections that another client of the same server-id took
	connected bool

	// open is the transaction at hand, if its rows began to be applied.
	open openTxn
	// skip counts row events of open that were applied before the connection broke.
	skip int
	// resuming says that the next transaction must be open again.
	resuming bool

	// filled are the tables with rows that wait to be emitted, collected what their
	// images take, in bytes; marked may have chunks that are being read.
	filled    []*table
	collected int
	marked    map[*table]struct{}
	// changed says that a table may want to be read again, or has nothing outstanding
	// any more: with thousands of tables nobody looks at each after each transaction.
	changed bool

	// held says that events wait for a barrier that waits for the other reader;
	// barrierDue tells the one of tables that are behind of a barrier of the others.
	held       bool
	barrierDue func() bool
	// cancel ends the goroutines of tables that are behind.
	cancel context.CancelFunc

	// lingering is armed while rows wait to be emitted.
	lingering bool
	timer     *time.Timer
	inTxn     bool // the coordinator was told of an open transaction

	// generation counts how often tables were added.
	generation int

	rows      int64 // row changes and chunk rows emitted
	snapRows  int64
	snapTotal int64
	mon       *monitor
	told      atomic.Pointer[progress]
	// publishing guards readAsOf: everything committed before it was read.
	publishing sync.Mutex
	readAsOf   time.Time
	wg         sync.WaitGroup
}

// openTxn is a transaction whose end has not come yet.
type openTxn struct {
	active bool
	id     gtid
	// millis is when it was committed; file and offset are where it begins.
	millis int64
	file   string
	offset uint64
	events int
	rows   int64
}

type dialed struct {
	d      *dumper
	server *server
	err    error
}

// Run streams until ctx ends, the job stops, or a bounded run has all it wants.
func (r *Reader) Run(ctx context.Context, out dataflow.Collector) error {
	ctx, cancel := context.WithCancel(ctx)
	s := newRunState(r, out)
	s.mon.publish = s.publish
	r.guard.Store(s.mon.guard)
	r.run = s
	defer func() {
		cancel()
		r.behind.quit()
		s.wg.Wait()
	}()
	if err := r.fitTargets(ctx); err != nil {
		return err
	}
	if s.snap == nil && !r.complete() {
		r.startSnapshot(ctx)
	}
	s.wg.Go(func() { s.mon.run(ctx) })
	r.connect(ctx, 0)
	if r.behind != nil {
		if err := r.join(ctx, out); err != nil {
			return err
		}
	}
	err := r.loop(ctx)
	if errors.Is(err, errFinished) {
		return nil
	}
	return err
}

func newRunState(r *Reader, out dataflow.Collector) *runState {
	s := &runState{
		out: out, queue: newQueue(queueBytes), dial: make(chan dialed, 1), timer: time.NewTimer(time.Hour), marked: map[*table]struct{}{}, changed: true,
		mon: &monitor{cfg: &r.cfg, guard: newGuard(r)},
	}
	s.timer.Stop()
	return s
}

// startSnapshot begins to read what is outstanding.
func (r *Reader) startSnapshot(ctx context.Context) {
	s := r.run
	snap := newSnapshot(&r.cfg, r.server, r.tables)
	s.snap, s.snapTotal = snap, s.snapTotal+r.estimatedRows()
	s.wg.Go(func() { snap.run(ctx) })
}

// fitTargets gives targets that lack columns of their source these columns.
func (r *Reader) fitTargets(ctx context.Context) error {
	for _, t := range r.tables {
		if !t.def.Follow {
			continue
		}
		reread := t.reread
		if err := r.adapt(ctx, t, t.src, "", false, false); err != nil {
			return t.alone(err)
		}
		t.reread = reread // all of it is read, or was
	}
	return nil
}

// errFinished ends the loop of a bounded run.
var errFinished = errors.New("everything wanted was read")

func (r *Reader) estimatedRows() int64 {
	var n int64
	for _, t := range r.tables {
		if !t.seq.complete() {
			n += t.src.rows
		}
	}
	return n
}

func (r *Reader) loop(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := r.edges(ctx); err != nil {
			return err
		}
		if more, err := r.goOn(ctx); err != nil {
			return err
		} else if more {
			continue
		}
		b := r.behind
		own, other := r.channels(), b.channels()
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-own.cutDone:
			err = r.afterCut(ctx, e)
		case e := <-other.cutDone:
			err = b.afterCut(ctx, e)
		case <-own.ready:
			err = r.drain(ctx)
		case <-other.ready:
			err = b.drain(ctx)
		case <-r.run.out.Due():
		case m := <-own.marks:
			r.run.marks = append(r.run.marks, m)
		case m := <-other.marks:
			b.run.marks = append(b.run.marks, m)
		case d := <-own.read:
			err = r.delivered(d)
		case d := <-other.read:
			err = b.delivered(d)
		case err = <-own.fatal:
		case err = <-other.fatal:
		case d := <-own.dial:
			err = r.dialed(ctx, d)
		case d := <-other.dial:
			// The log that they need may be gone, and that of the others not.
			err = b.tables[0].alone(b.dialed(ctx, d))
		case <-own.timer:
			err = r.lingered(ctx)
		case <-other.timer:
			err = b.lingered(ctx)
		case <-tick.C:
			err = r.checkReset(ctx)
			r.report()
		}
		if err != nil {
			return err
		}
	}
}

// edges does what is to be done between two transactions, of either reader.
func (r *Reader) edges(ctx context.Context) error {
	for _, x := range r.readers() {
		if x.run.open.active {
			continue
		}
		if err := x.edge(ctx); err != nil {
			return err
		}
	}
	return r.merge(ctx)
}

// afterCut goes on after a cut.
func (r *Reader) afterCut(ctx context.Context, err error) error {
	if err := r.cutDone(ctx, err); err != nil || r.run.held {
		return err
	}
	return r.resume(ctx)
}

// lingered emits rows that waited for company long enough.
func (r *Reader) lingered(ctx context.Context) error {
	r.run.lingering = false
	return r.flush(ctx)
}

// flush emits the rows that wait.
func (r *Reader) flush(ctx context.Context) error {
	s := r.run
	for i, t := range s.filled {
		n := t.seq.out.Len()
		s.filled[i] = nil
		if n == 0 {
			continue
		}
		b, err := t.seq.out.Finish(t.schema)
		if err != nil {
			return err
		}
		s.rows += int64(n)
		if s.open.active {
			s.inTxn = true
			s.out.InTransaction(s.open.rows)
		}
		if err := t.emit(ctx, s.out, b, t.from.take()); err != nil {
			return err
		}
	}
	s.filled, s.collected = s.filled[:0], 0
	if err := r.flushLetters(ctx); err != nil {
		return err
	}
	if s.lingering {
		s.lingering = false
		s.timer.Stop()
	}
	return nil
}

// edge is called between transactions: chunks are marked and emitted here,
// barriers injected, and bounded runs ended.
func (r *Reader) edge(ctx context.Context) error {
	s := r.run
	if s.snap != nil {
		if err := r.chunks(ctx); err != nil {
			return err
		}
	}
	if s.cut == nil && s.changed {
		if err := r.healed(ctx); err != nil {
			return err
		}
	}
	if s.cut == nil && s.changed {
		s.changed = false
		r.readAnew(ctx)
	}
	if rows := r.within(); rows > 0 {
		s.inTxn = true
		s.out.InTransaction(rows)
		return nil
	}
	if s.inTxn {
		s.inTxn = false
		s.out.InTransaction(0)
	}
	if s.out.BarrierDue() {
		if err := r.inject(ctx); err != nil {
			return err
		}
	}
	if r.catching && s.barrierDue() {
		s.held = true
	}
	if s.cut != nil || !r.finished() {
		return nil
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.report()
	return errFinished
}

// finished reports whether a bounded run has everything.
func (r *Reader) finished() bool {
	if r.run.snap != nil || r.behind != nil {
		return false
	}
	return r.cfg.Startup.Mode == StartSnapshot || r.target != nil && r.beyond(r.target)
}

// beyond reports whether the edge is at or after p.
func (r *Reader) beyond(p *Position) bool {
	if p.ServerUUID == r.pos.ServerUUID && !(mark{file: p.File, offset: p.Offset}).reached(r.pos.File, r.pos.Offset) {
		return false
	}
	return p.GTID == nil || r.pos.GTID != nil && r.pos.GTID.Contains(p.GTID)
}
