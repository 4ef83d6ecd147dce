package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// frozen is a set of buffers on the way to files. Its rows came before those of
// every later one: sequence numbers are given in order of freezing.
type frozen struct {
	batches []*columnar.Batch
	work    []frozenBucket
	bytes   int64
	prev    *frozen
	// numbered is closed when the sequence numbers are given, done when all files are durable.
	numbered, done chan struct{}
	err            error
}

type frozenBucket struct {
	b    *bucket
	buf  *mergetree.Buffer
	base int64
	res  mergetree.FlushResult
}

// freeze takes the buffers and starts their way to files; nil if there is
// nothing. The caller holds w.mu.
func (w *Writer) freeze() *frozen {
	if len(w.touched) == 0 {
		return nil
	}
	f := &frozen{
		batches: w.batches, work: make([]frozenBucket, len(w.touched)), prev: w.lastChunk,
		numbered: make(chan struct{}), done: make(chan struct{}), bytes: w.cfg.Budget.freeze(w),
	}
	for i, b := range w.touched {
		f.work[i] = frozenBucket{b: b, buf: b.buf}
		b.buf, b.lastEpoch = nil, w.epoch
		b.users++
	}
	w.batches, w.touched, w.entryBytes, w.lastChunk = nil, nil, 0, f
	w.chunks = append(w.chunks, f)
	w.wg.Go(func() { w.flush(f) })
	return f
}

// flush writes the files of f. Everything it waits for comes to an end without Write being called.
func (w *Writer) flush(f *frozen) {
	defer func() {
		for _, b := range f.batches {
			b.Release()
		}
		f.batches = nil
		w.cfg.Budget.release(f.bytes)
		close(f.done)
	}()
	if f.prev != nil {
		<-f.prev.numbered
		f.prev = nil
	}
	f.err = w.number(f)
	close(f.numbered)
	if f.err != nil {
		return
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range f.work {
		select {
		case w.cfg.Pool.encode <- struct{}{}:
		case <-w.ctx.Done():
			mu.Lock()
			f.err = errors.Join(f.err, w.ctx.Err())
			mu.Unlock()
		}
		if w.ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-w.cfg.Pool.encode }()
			if err := w.flushBucket(&f.work[i], f.batches); err != nil {
				mu.Lock()
				f.err = errors.Join(f.err, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// number opens the trees of f's buckets and gives out their sequence numbers.
func (w *Writer) number(f *frozen) error {
	buckets := make([]*bucket, len(f.work))
	for i := range f.work {
		buckets[i] = f.work[i].b
	}
	if err := w.openTrees(buckets); err != nil {
		return err
	}
	if err := w.meetOthers(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range f.work {
		b := &f.work[i]
		b.base = b.b.tree.Reserve(b.buf.Arrived())
	}
	return nil
}

func (w *Writer) flushBucket(fb *frozenBucket, batches []*columnar.Batch) error {
	files := w.files(fb.b, w.t.Options.DataPrefix)
	files.Confirm = w.cfg.Pool.confirmFile
	var changelog *mergetree.Files
	if w.router.input {
		c := w.t.changelogFiles(files)
		changelog = &c
	}
	var err error
	fb.res, err = mergetree.FlushBuffer(w.ctx, w.layout, fb.buf, batches, fb.base, files, changelog)
	fb.buf = nil
	if err != nil {
		return fmt.Errorf("writing table %s: %w", w.t.Path, err)
	}
	return nil
}

// Prepared is an epoch on its way to files.
type Prepared struct {
	w      *Writer
	id     int64
	prev   *Prepared
	chunks []*frozen
	// index is what changed in the index of keys.
	index []indexChange
	ready chan struct{}
	msgs  []spec.CommitMessage
	err   error
}

// Prepare ends epoch id: it freezes what the buffers hold and returns at once.
func (w *Writer) Prepare(_ context.Context, id int64) (*Prepared, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return nil, err
	}
	w.freeze()
	w.epoch++
	p := &Prepared{w: w, id: id, prev: w.lastPrepared, chunks: w.chunks, ready: make(chan struct{})}
	w.chunks, w.lastPrepared = nil, p
	if w.router.dynamic != nil {
		p.index = w.router.dynamic.take()
	}
	if w.router.keyIndex != nil {
		if err := w.router.keyIndex.prepared(); err != nil {
			w.fail(err)
			return nil, err
		}
	}
	w.wg.Go(p.assemble)
	return p, nil
}

// Wait blocks until all files of the epoch are durable and gives one message for
// each (partition, bucket) that changed; none if nothing did.
func (p *Prepared) Wait(ctx context.Context) ([]spec.CommitMessage, error) {
	select {
	case <-p.ready:
		return p.msgs, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// assemble builds the messages once everything before is durable.
func (p *Prepared) assemble() {
	defer close(p.ready)
	if p.prev != nil {
		<-p.prev.ready
		p.prev = nil
	}
	for _, c := range p.chunks {
		<-c.done
		p.err = errors.Join(p.err, c.err)
	}
	w := p.w
	if p.err == nil {
		p.err = w.writeIndexes(w.ctx, p.index)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.err == nil {
		p.err = w.err
	}
	if p.err != nil {
		w.fail(p.err)
		return
	}
	p.msgs = w.messages(p)
	p.chunks, p.index = nil, nil
	if w.t.lifts() {
		w.mu.Unlock()
		err := w.lift(p)
		w.mu.Lock()
		if err != nil {
			p.err = err
			w.fail(err)
			return
		}
	}
	w.schedule()
}

// messages gives the files of p's chunks and the compactions that ended meanwhile. The caller holds w.mu.
func (w *Writer) messages(p *Prepared) []spec.CommitMessage {
	at := map[bucketID]int{}
	var msgs []spec.CommitMessage
	messageOf := func(partition spec.BinaryRow, no int32) *spec.CommitMessage {
		i, ok := at[idOf(partition, no)]
		if !ok {
			i = len(msgs)
			at[idOf(partition, no)] = i
			msgs = append(msgs, spec.CommitMessage{Partition: partition, Bucket: no, TotalBuckets: w.totalBuckets()})
		}
		return &msgs[i]
	}
	message := func(b *bucket) *spec.CommitMessage { return messageOf(b.part.row, b.no) }
	for _, c := range p.chunks {
		for i := range c.work {
			fb := &c.work[i]
			fb.b.users--
			if len(fb.res.Files)+len(fb.res.Changelog) > 0 {
				m := message(fb.b)
				m.NewFiles = append(m.NewFiles, fb.res.Files...)
				m.Changelog = append(m.Changelog, fb.res.Changelog...)
			}
		}
	}
	for i := range p.index {
		c := &p.index[i]
		m := messageOf(c.partition, c.bucket)
		m.NewIndex = []spec.IndexFileMeta{c.file}
		if old, ok := w.router.dynamic.replace(c); ok {
			m.GoneIndex = []spec.IndexFileMeta{old}
		}
	}
	for _, b := range w.buckets {
		if b.tree == nil {
			continue
		}
		var files []spec.DataFileMeta
		if i, ok := at[idOf(b.part.row, b.no)]; ok {
			files = msgs[i].NewFiles
		}
		if c := b.tree.Prepare(p.id, files); len(c.Before) > 0 {
			compactMessage{message(b)}.take(&c)
		}
	}
	return msgs
}

// totalBuckets is what messages say: the option, -1 for unaware append tables.
func (w *Writer) totalBuckets() int32 { return int32(w.t.Options.Bucket) }

// schedule starts the compactions that are due and drops idle buckets. The caller holds w.mu.
func (w *Writer) schedule() {
	for id, b := range w.buckets {
		if b.tree == nil {
			continue
		}
		if !w.t.Options.WriteOnly && !w.closed && !w.t.lifts() {
			if unit, ok := b.tree.Next(time.Now()); ok {
				b.lastEpoch = w.epoch
				w.compacting++
				w.wg.Go(func() { w.compact(b, unit) })
				continue
			}
		}
		if b.buf == nil && b.tree.Quiet() && b.users == 0 && w.epoch-b.lastEpoch > idleEpochs {
			delete(w.buckets, id)
			w.router.forget(b)
		}
	}
}
