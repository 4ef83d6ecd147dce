package cdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// chunkReader is one session that reads chunks.
type chunkReader struct {
	sn   *snapshot
	conn *conn
	uuid string
	// server is the one that the session is on.
	server *server
	// locks is a second session for the marks of a server without GTIDs.
	locks *conn
	// failures counts the chunks in a row that broke.
	failures int
	// rows is how many rows of the chunk that broke were read.
	rows int64
	// witness shows rows of the chunk seen that cannot be read.
	witness *mysqlrow.Witness
	seen    *chunk
}

func (r *chunkReader) close() {
	r.conn.close()
	r.locks.close()
	r.conn, r.locks = nil, nil
}

func (r *chunkReader) run(ctx context.Context) error {
	for {
		c, err := r.step(ctx)
		switch {
		case errors.Is(err, errStopped):
			return err
		case errors.Is(err, errTooLarge):
			// The rest of the rows is on its way: another session is less work.
			r.close()
			if err := r.deliver(ctx, delivery{chunk: c, count: r.rows, err: err}); err != nil {
				return err
			}
		case err == nil && c == nil:
			return nil
		case err != nil && !r.again(ctx, c, err):
			var row *badRow
			if c == nil || errors.As(err, &row) && !c.table.def.BadRowsAside {
				return err
			}
			return c.table.alone(err)
		case err != nil:
			r.close()
			if c != nil {
				err = r.deliver(ctx, delivery{chunk: c, err: err})
			} else {
				err = nil
			}
			if err != nil {
				return err
			}
			select {
			case <-time.After(backoff(r.failures)):
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			r.failures = 0
		}
	}
}

var (
	errStopped  = errors.New("the snapshot is over")
	errTooLarge = errors.New("the rows take more memory than planned")
)

func (r *chunkReader) deliver(ctx context.Context, d delivery) error {
	select {
	case r.sn.read <- d:
		return nil
	case <-r.sn.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outdatedTries is how often in a row a chunk may find that its table has other
// columns by now, some five minutes: the stream comes to the statement meanwhile.
const outdatedTries = 40

// again reports whether a chunk that broke is worth another try.
func (r *chunkReader) again(ctx context.Context, c *chunk, err error) bool {
	if r.sn.outdated(err) {
		r.failures++
		return r.failures <= outdatedTries || r.changed(ctx, c)
	}
	return r.mayRetry(err) || r.changed(ctx, c)
}

// changed reports whether a table that is followed has other columns by now than
// those that the chunk was read by: its values may be of other types.
func (r *chunkReader) changed(ctx context.Context, c *chunk) bool {
	if c == nil || c.src == nil || !c.table.def.Follow {
		return false
	}
	n, err := r.sn.cfg.connect(ctx)
	if err != nil {
		return false
	}
	defer n.close()
	now, err := n.describe(c.table.def.Database, c.table.def.Name)
	return err == nil && (now == nil || !sameColumns(now.columns, c.src.columns))
}

// step reads one chunk. A chunk that comes with an error was taken and has to go back.
func (r *chunkReader) step(ctx context.Context) (*chunk, error) {
	if r.conn == nil {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	c, err := r.sn.next(r.conn)
	if c == nil || err != nil {
		return nil, err
	}
	if c.tries > 0 {
		select {
		case <-time.After(min(time.Duration(c.tries)*20*time.Millisecond, 2*time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	req := markRequest{chunk: c, answer: make(chan passedMark, 1)}
	var passed passedMark
	select {
	case r.sn.marks <- req:
	case <-r.sn.stopped:
		return nil, errStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case passed = <-req.answer:
	case <-r.sn.stopped:
		return nil, errStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if passed.void {
		return r.step(ctx)
	}
	return c, r.readChunk(ctx, c, passed)
}

// open starts the session: rows come as the plan expects them.
func (r *chunkReader) open(ctx context.Context) error {
	n, err := r.sn.cfg.connect(ctx)
	if err != nil {
		return err
	}
	r.conn = n
	set := append(mysqlrow.SessionStatements(),
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"SET SESSION net_write_timeout = 3600, wait_timeout = 28800")
	for _, sql := range set {
		if err := n.exec(sql); err != nil {
			return err
		}
	}
	if r.server, err = n.inspect(); err != nil {
		return err
	}
	r.uuid = r.server.uuid
	return nil
}

func (r *chunkReader) readChunk(ctx context.Context, c *chunk, passed passedMark) (err error) {
	mark := r.markExact
	switch {
	case c.table.src.transactional() && r.server.mariadb:
		mark = r.markSnapshot
	case c.table.src.transactional():
		if passed.gtids != nil {
			mark = r.markGTID
		}
	default:
		mark = r.markLocked
		defer func() {
			// A session that broke is closed, and loses its locks by that.
			if err == nil {
				err = r.conn.exec("UNLOCK TABLES")
			}
		}()
	}
	if err := mark(ctx, c, passed); err != nil {
		return err
	}
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(c.plan.SelectList(), ", "), c.table.sqlName(), c.plan.Between(c.keys.lo, c.keys.hi))
	// A table that is small by the server's estimate gets small buffers.
	b := mysqlrow.NewBuilder(c.plan, int(min(batchRows, max(firstRows, c.src.rows))))
	d := delivery{chunk: c}
	var size, rows, taken int64 // of the batch, of the chunk
	err = r.conn.rows(sql, func(packet []byte) error {
		if err := b.AppendText(columnar.Insert, packet); err != nil {
			if err = r.readBad(ctx, c, &d, packet, err); err != nil {
				return err
			}
		}
		size += int64(len(packet))
		if err := r.sn.pace.wait(ctx, r.sn.stopped, 1, int64(len(packet))); err != nil {
			return err
		}
		if b.Len() < batchRows && size < min(batchBytes, r.sn.cfg.chunkBytes()) {
			return nil
		}
		rows, taken, size = rows+int64(b.Len()), taken+size, 0
		r.keep(&d, b)
		b = mysqlrow.NewBuilder(c.plan, batchRows)
		switch {
		case c.whole:
			err := r.deliver(ctx, d)
			d = delivery{chunk: c}
			r.sn.room()
			return err
		case taken > splitTimes*r.sn.cfg.chunkBytes() && !c.single:
			return errTooLarge
		}
		return nil
	})
	if err == nil {
		rows, taken = rows+int64(b.Len()), taken+size
		if b.Len() > 0 {
			r.keep(&d, b)
		}
		r.seen = nil
		err = r.conn.exec("COMMIT")
	}
	if err != nil {
		r.sn.hold(-d.bytes)
		r.rows = rows
		return err
	}
	if c.size != nil {
		c.size.measured(rows, taken)
	}
	d.end = true
	return r.deliver(ctx, d)
}

func (r *chunkReader) keep(d *delivery, b *mysqlrow.Builder) {
	n := b.Bytes()
	d.rows = append(d.rows, b)
	d.count += int64(b.Len())
	d.bytes += n
	r.sn.hold(n)
}

// markGTID takes the marks in the order that makes them safe: low holds all that
// the stream has passed and the view holds all of low; high is beyond the view.
func (r *chunkReader) markGTID(ctx context.Context, c *chunk, passed passedMark) (err error) {
	if c.low, err = r.conn.awaitGTIDs(ctx, r.server, passed.gtids); err != nil {
		return err
	}
	if err := r.conn.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return err
	}
	c.high, err = r.conn.endOfLog(r.server)
	c.high.uuid = r.uuid
	return err
}

// markExact takes one mark while nobody can commit to the table.
func (r *chunkReader) markExact(ctx context.Context, c *chunk, _ passedMark) (err error) {
	if r.locks == nil {
		if r.locks, err = r.sn.cfg.connect(ctx); err != nil {
			return err
		}
	}
	if err = r.lock(r.locks, c); err == nil {
		err = r.conn.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT")
	}
	if unlock := r.locks.exec("UNLOCK TABLES"); err == nil {
		err = unlock
	}
	return err
}

// markLocked takes one mark while nobody can write the table, and leaves it
// locked: an engine without transactions has no view that stays as it is. The
// session that reads has the lock; another one would wait behind the writers.
func (r *chunkReader) markLocked(_ context.Context, c *chunk, _ passedMark) error {
	return r.lock(r.conn, c)
}

// lock keeps others from writing the table of c and takes its mark.
func (r *chunkReader) lock(n *conn, c *chunk) (err error) {
	if err := n.exec("SET SESSION lock_wait_timeout = 30"); err != nil {
		return err
	}
	if err := n.exec("LOCK TABLES " + c.table.sqlName() + " READ"); err != nil {
		return err
	}
	c.high, err = n.endOfLog(r.server)
	c.high.uuid = r.uuid
	return err
}

// mayRetry reports whether the chunk may be read again after err, and counts.
func (r *chunkReader) mayRetry(err error) bool {
	if !transient(err) {
		return false
	}
	r.failures++
	return r.failures <= max(r.sn.cfg.MaxRetries, 1)
}
