//go:build cgo

package duck

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	db "github.com/duckdb/duckdb-go-bindings"
)

// queuedBatches is the number of batches that wait between a scan and DuckDB.
const queuedBatches = 4

// relationInfo is what DuckDB keeps with the table function of a relation.
type relationInfo struct {
	relation Relation
	run      *run
}

// scan is one read of a relation: a goroutine gives batches, DuckDB's threads take them.
type scan struct {
	info *relationInfo
	// used are the columns that are read; place is where each of DuckDB's goes
	// among them, negative for one that holds no values, such as a row's number.
	used, place []int
	batches     chan batch
	stop        context.CancelFunc
	done        sync.WaitGroup
}

type batch struct {
	cols []arrow.Array
	rows int
}

// thread is what one of DuckDB's threads has in hand.
type thread struct {
	batch batch
	// at is the first row of the batch that was not given yet.
	at int
}

func (t *thread) close() { t.drop() }

func (t *thread) drop() {
	release(t.batch.cols)
	t.batch, t.at = batch{}, 0
}

func bind(info db.BindInfo) {
	r := kept[*relationInfo](db.BindGetExtraInfo(info))
	for i, f := range r.relation.Schema().Fields {
		t := logicalType(f.Type)
		db.BindAddResultColumn(info, ColumnName(i), t)
		db.DestroyLogicalType(&t)
	}
	if n := r.relation.Rows(); n >= 0 {
		db.BindSetCardinality(info, db.IdxT(n), false)
	}
}

func initialise(info db.InitInfo) {
	r := kept[*relationInfo](db.InitGetExtraInfo(info))
	s := &scan{info: r, batches: make(chan batch, queuedBatches)}
	fields := len(r.relation.Schema().Fields)
	for i := range db.InitGetColumnCount(info) {
		c := db.InitGetColumnIndex(info, i)
		if c >= db.IdxT(fields) {
			s.place = append(s.place, -1)
			continue
		}
		s.place = append(s.place, len(s.used))
		s.used = append(s.used, int(c))
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(r.run.ctx)
	s.done.Go(func() { s.read(ctx) })
	held, del := keep(s)
	db.InitSetInitData(info, held, del)
	db.InitSetMaxThreads(info, db.IdxT(r.run.threads))
}

func initialiseThread(info db.InitInfo) {
	held, del := keep(&thread{})
	db.InitSetInitData(info, held, del)
}

// read runs the relation's scan.
func (s *scan) read(ctx context.Context) {
	defer close(s.batches)
	err := s.info.relation.Scan(ctx, s.used, func(cols []arrow.Array, rows int) error {
		if rows == 0 {
			return nil
		}
		b := batch{cols: append([]arrow.Array(nil), cols...), rows: rows}
		for _, c := range b.cols {
			c.Retain()
		}
		select {
		case s.batches <- b:
			return nil
		case <-ctx.Done():
			release(b.cols)
			return ctx.Err()
		}
	})
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		s.info.run.fail(err)
	}
}

// close ends the scan, perhaps before its end: a LIMIT has enough.
func (s *scan) close() {
	s.stop()
	for b := range s.batches {
		release(b.cols)
	}
	s.done.Wait()
}

// fill gives the next rows; none at the end.
func fill(info db.FunctionInfo, out db.DataChunk) {
	s, t := kept[*scan](db.FunctionGetInitData(info)), kept[*thread](db.FunctionGetLocalInitData(info))
	n, err := s.fill(t, out)
	if err != nil {
		s.info.run.fail(err)
		db.FunctionSetError(info, err.Error())
		return
	}
	db.DataChunkSetSize(out, db.IdxT(n))
}

func (s *scan) fill(t *thread, out db.DataChunk) (int, error) {
	if t.at == t.batch.rows {
		t.drop()
		b, ok := <-s.batches
		if !ok {
			// A scan that was told to end has not given all rows.
			return 0, errors.Join(s.info.run.failure(), s.info.run.ctx.Err())
		}
		t.batch = b
	}
	n := min(t.batch.rows-t.at, int(db.VectorSize()))
	fields := s.info.relation.Schema().Fields
	for i, place := range s.place {
		if place < 0 {
			continue
		}
		f := &fields[s.used[place]]
		if err := write(db.DataChunkGetVector(out, db.IdxT(i)), 0, t.batch.cols[place], f.Type, t.at, n); err != nil {
			return 0, err
		}
	}
	t.at += n
	return n, nil
}
