package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/fileio"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// sink writes one table.
type sink struct {
	spec   connect.SinkSpec
	fs     fileio.FS
	path   string
	budget *lakehouse.MemoryBudget
	pool   *lakehouse.WorkPool
	log    *slog.Logger

	table *lakehouse.Table
	// created is the creation time of schema-0.
	created   int64
	committer *commit.Committer
	expire    *expirer
	claims    *claims

	mu      sync.Mutex
	writers []*lakehouse.Writer
	// replace is true until the first epoch of a replacing job was prepared.
	replace bool
	// dropped is set while a commit runs whose compaction was given up.
	dropped bool
	last    atomic.Int64
	// foreign is the newest snapshot of others with rows, of those after watched.
	foreign atomic.Int64
	watched *int64
}

// committable is what one writer prepared for one epoch.
type committable struct {
	Messages []spec.CommitMessage `json:"messages"`
	// Replace overwrites the table: all rows before this epoch go.
	Replace bool `json:"replace,omitempty"`
}

// open opens table and committer; it is the first step of Recover.
func (s *sink) open(ctx context.Context) error {
	t, err := lakehouse.Open(ctx, s.fs, s.path)
	if err != nil {
		return err
	}
	s.table, s.replace = t, s.spec.Replace
	if s.created, err = firstSchemaTime(ctx, s.fs, s.path); err != nil {
		return err
	}
	s.claims = newClaims(s)
	v := s.spec.Table.Options
	s.committer = commit.New(s.fs, s.path, t.Schema, s.commitOptions(v), s.log)
	s.expire = newExpirer(s)
	return s.refreshLast(ctx)
}

// claimTable claims a table without partitions. It comes after the look whether
// the table is the job's: one that is not is left as it is.
func (s *sink) claimTable() error {
	if len(s.table.Schema.PartitionKeys) > 0 {
		return nil
	}
	return s.claims.take("")
}

func (s *sink) refreshLast(ctx context.Context) error {
	snap, err := s.table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	if snap != nil {
		s.last.Store(snap.ID)
	}
	return nil
}

func (s *sink) commitOptions(v configs.Values) commit.Options {
	o := commit.Options{
		Attempt: s.spec.Attempt, MaxRetries: maxRetries(v), Dropped: func(int64, []spec.CommitMessage) { s.dropped = true },
		Foreign: s.watchOthers, Missed: s.missed,
		MinRetryWait: configs.CommitMinWait.Get(v), MaxRetryWait: configs.CommitMaxWait.Get(v), Timeout: configs.CommitTimeout.Get(v),
		ManifestTargetSize: configs.ManifestSize.Get(v), ManifestMergeMinCount: int(configs.ManifestMerge.Get(v)), ManifestFullCompactionSize: configs.ManifestFull.Get(v),
	}
	if configs.CommitRetryInterval.IsSet(v) {
		d := configs.CommitRetryInterval.Get(v)
		o.MinRetryWait, o.MaxRetryWait = min(d, o.MaxRetryWait), d
	}
	return o
}

// maxRetries gives commit.max-retries, -1 for none.
func maxRetries(v configs.Values) int {
	if n := configs.CommitMaxRetries.Get(v); n > 0 {
		return int(n)
	}
	return -1
}

// LastSnapshot is the newest snapshot seen.
func (s *sink) LastSnapshot() int64 { return s.last.Load() }

// NewWriter opens a writer; several subtasks write disjoint buckets.
func (s *sink) NewWriter(ctx context.Context, _, _ int) (dataflow.SinkWriter, error) {
	w, err := s.table.NewWriter(ctx, s.writeConfig())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers = append(s.writers, w)
	return &writer{sink: s, w: w}, nil
}

// writeConfig is that of each writer.
func (s *sink) writeConfig() lakehouse.WriteConfig {
	return lakehouse.WriteConfig{
		Attempt: s.spec.Attempt, User: s.spec.CommitUser, Budget: s.budget, Pool: s.pool,
		Log: s.log, Replace: s.replace, Scratch: s.spec.Env.Scratch, Claim: s.claims.take,
	}
}

// Observe gives what the next entry remembers of the table.
func (s *sink) Observe(context.Context) (json.RawMessage, error) {
	b, err := json.Marshal(s.observe())
	if err != nil {
		return nil, fmt.Errorf("encoding what is known of table %s: %w", s.spec.Table.Name, err)
	}
	return b, nil
}

func (s *sink) observe() observed {
	return observed{Location: s.path, Created: s.created, Snapshot: s.last.Load(), Foreign: s.foreign.Load(), Watched: s.watched}
}

// Commit publishes epochs in order.
func (s *sink) Commit(ctx context.Context, epochs []dataflow.Epoch) error {
	for i := range epochs {
		if err := s.commitEpoch(ctx, &epochs[i], false); err != nil {
			return err
		}
	}
	s.expire.kick(ctx)
	return nil
}

func (s *sink) commitEpoch(ctx context.Context, e *dataflow.Epoch, recovered bool) error {
	req, err := s.request(e)
	if err != nil {
		return err
	}
	req.CheckAppend = recovered
	return s.commitRequest(ctx, e, req)
}

func (s *sink) commitRequest(ctx context.Context, e *dataflow.Epoch, req commit.Request) error {
	s.dropped = false
	snapshots, err := s.committer.Commit(ctx, req)
	if err != nil {
		return fmt.Errorf("committing checkpoint %d: %w", e.ID, err)
	}
	if n := len(snapshots); n > 0 {
		s.last.Store(snapshots[n-1])
	}
	// What was overwritten may be among the levels the writers know.
	s.dropped = s.dropped || req.Overwrite
	s.mu.Lock()
	writers := s.writers
	s.mu.Unlock()
	for _, w := range writers {
		if err := w.Committed(ctx, int64(e.ID), snapshots, s.dropped); err != nil {
			return fmt.Errorf("following the commit of checkpoint %d: %w", e.ID, err)
		}
	}
	return nil
}

func (s *sink) request(e *dataflow.Epoch) (commit.Request, error) {
	req := commit.Request{
		User: s.spec.CommitUser, Identifier: int64(e.ID), Properties: map[string]string{"leat.job": s.spec.Job, "leat.checkpoint": strconv.FormatInt(int64(e.ID), 10)},
		ForceSnapshot: configs.ForceCreateSnapshot.Get(s.spec.Table.Options),
	}
	maps.Copy(req.Properties, e.Properties)
	for _, raw := range e.Committables {
		c, err := decode(raw)
		if err != nil {
			return req, err
		}
		req.Messages = append(req.Messages, c.Messages...)
		req.Overwrite = req.Overwrite || c.Replace
	}
	return req, nil
}

func decode(raw json.RawMessage) (committable, error) {
	var c committable
	if len(raw) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("reading a committable: %w", err)
	}
	return c, nil
}

// settleTimeout bounds the last look at the snapshots made.
const settleTimeout = 10 * time.Second

// Close ends background work, and looks whether the last snapshots are still there.
func (s *sink) Close() error {
	if s.committer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
		defer cancel()
		if err := s.committer.Settle(ctx); err != nil {
			s.log.Error("the last commits could not be looked at again", "error", err)
		}
	}
	if s.expire != nil {
		s.expire.close()
		s.expire = nil
	}
	return s.claims.close()
}

// writer adapts a lakehouse.Writer.
type writer struct {
	sink *sink
	w    *lakehouse.Writer
	// compare finds what the table has of the rows that come, nil where they are new.
	compare *comparer
}

func (w *writer) Write(ctx context.Context, b *columnar.Batch) error {
	if w.compare == nil {
		return w.w.Write(ctx, b)
	}
	if full, err := w.compare.collect(b); err != nil || !full {
		return err
	}
	return w.writeDifferences(ctx)
}

// writeDifferences writes what the table lacks of the rows to compare.
func (w *writer) writeDifferences(ctx context.Context) error {
	list, err := w.compare.differences(ctx)
	if err != nil {
		return err
	}
	for i, d := range list {
		if err := w.w.Write(ctx, d); err != nil {
			for _, rest := range list[i+1:] {
				rest.Release()
			}
			return err
		}
	}
	return nil
}

func (w *writer) Prepare(ctx context.Context, id dataflow.CheckpointID) (dataflow.Prepared, error) {
	p, err := w.w.Prepare(ctx, int64(id))
	if err != nil {
		return nil, err
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	replace := w.sink.replace
	w.sink.replace = false
	force := configs.ForceCreateSnapshot.Get(w.sink.spec.Table.Options)
	return &prepared{p: p, replace: replace, force: force}, nil
}

func (w *writer) Close() error {
	if w.compare != nil {
		w.compare.close()
	}
	if err := w.w.Close(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

type prepared struct {
	p *lakehouse.Prepared
	// replace overwrites the table, force makes a snapshot of an empty epoch.
	replace, force bool
}

func (p *prepared) Wait(ctx context.Context) (json.RawMessage, error) {
	m, err := p.p.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if len(m) == 0 && !p.replace && !p.force {
		return nil, nil // nothing to commit
	}
	b, err := json.Marshal(committable{Messages: m, Replace: p.replace})
	if err != nil {
		return nil, fmt.Errorf("encoding a committable: %w", err)
	}
	return b, nil
}
