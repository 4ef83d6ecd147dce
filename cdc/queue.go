package cdc

import (
	"context"
	"sync"

	"leat/cdc/mysqlrow"
)

// eventKind says what an event tells.
type eventKind uint8

const (
	// evBegin opens a transaction that holds rows of ours.
	evBegin eventKind = iota
	// evRows is a rows event of a table of ours.
	evRows
	// evCommit ends a transaction, with or without rows of ours.
	evCommit
	// evStatement is a statement in the log: DDL, or DML of a session that does not write rows.
	evStatement
	// evAdvance moves the position between transactions, as heartbeats and new
	// files do; millis is when the file was begun.
	evAdvance
	// evLost ends the events of a connection: err says why.
	evLost
)

// event is one step of the stream, as the network goroutine hands it over.
type event struct {
	kind eventKind
	// id and millis belong to evBegin, evCommit and evStatement.
	id     gtid
	millis int64
	// file and offset are the end of the event; of evBegin, where the transaction
	// begins; nothing for evRows.
	file   string
	offset uint64
	// begun is when the file was begun, in seconds since 1970; of evCommit and evAdvance.
	begun int64
	table *tableMap
	rows  mysqlrow.Rows
	// text and schema are the statement and the database it ran in.
	text, schema string
	session      session
	// xa belongs to an evCommit that ends a piece of an XA transaction.
	xa  *xaEnd
	err error
}

// cost estimates what the event holds in memory, in bytes.
func (e *event) cost() int { return 256 + len(e.rows.Data) + len(e.text) }

// queue hands events from the network goroutine to the decoding one. It is
// bounded in bytes: put waits, and with it the socket.
type queue struct {
	mu    sync.Mutex
	list  []event
	bytes int
	limit int
	// room is signalled when take emptied the queue; ready when put filled it.
	room  chan struct{}
	ready chan struct{}
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, room: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
}

// put appends e; it waits while the queue is full. An event larger than the
// limit goes into an empty queue.
func (q *queue) put(ctx context.Context, e event) error {
	cost := e.cost()
	for {
		q.mu.Lock()
		if q.bytes == 0 || q.bytes+cost <= q.limit {
			q.list = append(q.list, e)
			q.bytes += cost
			first := len(q.list) == 1
			q.mu.Unlock()
			if first {
				notify(q.ready)
			}
			return nil
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take gives everything queued and leaves spare, emptied, in its place.
func (q *queue) take(spare []event) []event {
	clear(spare)
	q.mu.Lock()
	list := q.list
	q.list, q.bytes = spare[:0], 0
	q.mu.Unlock()
	notify(q.room)
	return list
}

// notify signals a channel of capacity one that may hold a signal already.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
