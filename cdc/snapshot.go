package cdc

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// snapshot reads the outstanding chunks of all tables with a few sessions. What
// it shares with the goroutine of Run goes through three channels; the chunks
// themselves belong to one side at a time.
//
//	reader: plan a chunk ─ marks ─→ Run: mark the range at an edge, answer with
//	the transactions the stream has passed ─→ reader: low, view, high, SELECT
//	─ read ─→ Run: wait until the stream has passed high, merge, emit
//
// A table that cannot be cut comes in pieces, so that it need not fit in memory:
// Run emits them as they come, and lets no barrier pass until the last one.
type snapshot struct {
	cfg    *Config
	server *server
	marks  chan markRequest
	read   chan delivery
	fatal  chan error

	// cutting lets one reader at a time cut chunks. It is not mu: the query may
	// wait for a lock of the server, and what holds that lock may be another
	// reader, which needs mu to go on.
	cutting sync.Mutex
	// plans are the tables still to be cut, in order; cutting guards them. added,
	// under mu, go before them.
	plans []*chunkPlan
	added []*chunkPlan

	mu    sync.Mutex
	cond  *sync.Cond
	again []*chunk
	// planned says that all chunks were cut.
	planned bool
	// held is the memory of chunks that wait, in bytes.
	held int64
	over bool
	// stopped is closed when over is set.
	stopped chan struct{}
	pace    *pace
}

// passedMark is what the stream has passed: a view that a chunk reads has to hold it.
type passedMark struct {
	// void says that the range is none any more and is not to be read.
	void  bool
	gtids *GTIDSet // nil without GTIDs
	at    mark
}

// markRequest asks Run to mark the range of a chunk. The answer holds the
// transactions that the stream has passed, nil without GTIDs.
type markRequest struct {
	chunk  *chunk
	answer chan passedMark
}

// delivery hands rows of a chunk to Run; end says that they are the last ones,
// err that the chunk has to be read again.
type delivery struct {
	chunk *chunk
	rows  []*mysqlrow.Builder
	bad   []letter
	count int64
	bytes int64
	end   bool
	err   error
}

func newSnapshot(cfg *Config, s *server, tables []*table) *snapshot {
	sn := &snapshot{
		cfg: cfg, server: s, marks: make(chan markRequest), read: make(chan delivery), fatal: make(chan error, 1), stopped: make(chan struct{}),
		pace: newPace(cfg.SnapshotRows, cfg.SnapshotRate),
	}
	sn.cond = sync.NewCond(&sn.mu)
	for _, t := range tables {
		if t.seq.complete() {
			continue
		}
		sn.plans = append(sn.plans, newChunkPlan(cfg, t))
	}
	return sn
}

// add lets a table, or a range of it, be cut and read.
func (sn *snapshot) add(p *chunkPlan) {
	sn.mu.Lock()
	sn.added = append(sn.added, p)
	sn.planned = false
	sn.mu.Unlock()
	sn.cond.Broadcast()
}

// run reads until ctx ends or stop is called; it is a goroutine of its own.
func (sn *snapshot) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, sn.stop)
	defer stop()
	readers := sn.cfg.SnapshotReaders
	if readers <= 0 {
		readers = 2
	}
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			r := chunkReader{sn: sn}
			defer r.close()
			if err := r.run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) {
				select {
				case sn.fatal <- err:
				default:
				}
			}
		})
	}
	wg.Wait()
}

// stop lets the readers end.
func (sn *snapshot) stop() {
	sn.mu.Lock()
	if !sn.over {
		sn.over = true
		close(sn.stopped)
	}
	sn.mu.Unlock()
	sn.cond.Broadcast()
}

// hold adds n bytes to what waiting chunks hold.
func (sn *snapshot) hold(n int64) {
	sn.mu.Lock()
	sn.held += n
	sn.mu.Unlock()
	if n < 0 {
		sn.cond.Broadcast()
	}
}

// outdated reports an error that says that a table which is followed has other
// columns by now, or is gone: the stream will come to the statement.
func (sn *snapshot) outdated(err error) bool {
	switch errorCode(err) {
	case mysql.ER_BAD_FIELD_ERROR, mysql.ER_NO_SUCH_TABLE, mysql.ER_TABLE_DEF_CHANGED, mysql.ER_UNKNOWN_TABLE:
	default:
		// A value that no column had when the columns were looked up.
		var e *diag.Error
		refused := errors.As(err, &e) && (e.Code == diag.CodeNullability || e.Code == diag.CodeSourceChanged)
		if !refused && !errors.Is(err, mysqlrow.ErrMalformed) {
			return false
		}
	}
	return slices.ContainsFunc(sn.cfg.Tables, func(t Table) bool { return t.Follow })
}

// room waits until waiting chunks hold less than they may.
func (sn *snapshot) room() {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	for sn.held >= sn.limit() && !sn.over {
		sn.cond.Wait()
	}
}

// holds is what waiting chunks hold, in bytes.
func (sn *snapshot) holds() int64 {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	return sn.held
}

// limit is how much waiting chunks may hold, in bytes.
func (sn *snapshot) limit() int64 { return sn.cfg.snapshotBytes() }

// repeat queues c to be read again; its rows were dropped.
func (sn *snapshot) repeat(c *chunk) {
	sn.mu.Lock()
	sn.held -= c.bytes
	c.rows, c.bytes = nil, 0
	sn.again = append(sn.again, c)
	sn.mu.Unlock()
	sn.cond.Broadcast()
}

// next gives the next chunk to read. It waits while waiting chunks hold too
// much memory or all chunks are with others; nil says that all is read.
func (sn *snapshot) next(n *conn) (*chunk, error) {
	for {
		c, over := sn.wait()
		if c != nil || over {
			return c, nil
		}
		c, err := sn.cut(n)
		if c != nil || err != nil {
			return c, err
		}
	}
}

// wait waits until a chunk is to be read again, a new one may be cut (nil), or all is over.
func (sn *snapshot) wait() (again *chunk, over bool) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	for {
		switch {
		case sn.over:
			return nil, true
		case sn.held >= sn.limit():
		case len(sn.again) > 0:
			c := sn.again[0]
			sn.again = sn.again[1:]
			return c, false
		case !sn.planned:
			return nil, false
		}
		sn.cond.Wait()
	}
}

// cut gives the next new chunk, nil if there is none.
func (sn *snapshot) cut(n *conn) (*chunk, error) {
	sn.cutting.Lock()
	defer sn.cutting.Unlock()
	sn.mu.Lock()
	sn.plans = append(sn.added, sn.plans...)
	sn.added = nil
	sn.mu.Unlock()
	for len(sn.plans) > 0 {
		p := sn.plans[0]
		if p.void() {
			sn.plans = sn.plans[1:]
			continue
		}
		c, err := p.cut(n)
		if err != nil {
			return nil, err
		}
		if p.over {
			sn.plans = sn.plans[1:]
		}
		if c != nil {
			return c, nil
		}
	}
	sn.mu.Lock()
	sn.planned = len(sn.added) == 0
	sn.mu.Unlock()
	return nil, nil
}

// sqlName is the quoted name of the table.
func (t *table) sqlName() string { return sqlName(t.def.Database, t.def.Name) }

func sqlName(database, table string) string {
	return mysqlrow.QuoteName(database) + "." + mysqlrow.QuoteName(table)
}
