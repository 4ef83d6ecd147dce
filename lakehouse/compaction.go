package lakehouse

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// commitBuckets is how many buckets a compaction job commits at a time.
const commitBuckets = 256

// Compaction is a job that compacts a table apart from its writers, which may
// go on: best they have 'write-only' = 'true', or both may compact one bucket
// and the later commit is dropped.
type Compaction struct {
	// Full takes every bucket to its deepest level, or joins all small files of an
	// append table; otherwise the strategies of background compaction decide.
	Full bool
	// User is the commit user; "" makes one.
	User string
	// Commit are the options of the commits; Attempt is that of the WriteConfig.
	Commit commit.Options
	// Properties go onto each snapshot.
	Properties map[string]string
}

// Compacted says what a compaction job did.
type Compacted struct {
	// Buckets were compacted, Dropped were not because somebody else changed them
	// meanwhile. Both count a bucket once for each time.
	Buckets, Dropped int
	Snapshots        []int64
}

// RunCompaction gives postponed rows their buckets and compacts the buckets of the table, or of the partitions that
// cfg picks, until nothing is due in those that were there at the start. It
// commits as it goes; cfg.Pool bounds the processors it takes.
func (t *Table) RunCompaction(ctx context.Context, cfg WriteConfig, c Compaction) (Compacted, error) {
	if cfg.Pool == nil {
		cfg.Pool = NewWorkPool(1)
	}
	if c.User == "" {
		c.User = uuid.NewString()
	}
	r := compaction{t: t, cfg: cfg, user: c.User, properties: c.Properties}
	c.Commit.Attempt = cfg.Attempt
	c.Commit.Dropped = r.drop
	r.c = commit.New(t.FS, t.Path, t.Schema, c.Commit, cfg.Log)
	if err := r.distribute(ctx); err != nil {
		return r.done, err
	}
	for range maxRounds {
		tasks, err := t.compactTasks(ctx, cfg, c.Full)
		if err != nil || len(tasks) == 0 {
			return r.done, err
		}
		before := r.done.Buckets
		for len(tasks) > 0 {
			n := min(len(tasks), commitBuckets)
			if err := r.run(ctx, tasks[:n]); err != nil {
				return r.done, err
			}
			tasks = tasks[n:]
		}
		if r.done.Buckets == before || c.Full && t.Options.Compaction.ForceRewrite {
			break // all were taken by others, or would be written anew again
		}
	}
	return r.done, nil
}

// maxRounds bounds the rounds of a job beside writers that never rest.
const maxRounds = 64

// compaction is a job under way.
type compaction struct {
	t    *Table
	cfg  WriteConfig
	c    *commit.Committer
	user string
	id   int64
	done Compacted
	// properties go onto each snapshot.
	properties map[string]string
}

func (r *compaction) run(ctx context.Context, tasks []compactTask) error {
	msgs, err := runTasks(ctx, r.cfg.Pool, tasks)
	if err != nil {
		return err
	}
	return r.commit(ctx, msgs)
}

// distribute is the first step where rows are postponed.
func (r *compaction) distribute(ctx context.Context) error {
	if r.t.mode() != postponedBuckets {
		return nil
	}
	msgs, err := r.t.Distribute(ctx, r.cfg)
	if err != nil {
		return err
	}
	return r.commit(ctx, msgs)
}

func (r *compaction) commit(ctx context.Context, msgs []spec.CommitMessage) error {
	if len(msgs) == 0 {
		return nil
	}
	r.id++
	dropped := r.done.Dropped
	ids, err := r.c.Commit(ctx, commit.Request{User: r.user, Identifier: r.id, Messages: msgs, Properties: r.properties})
	if err != nil {
		return fmt.Errorf("committing a compaction: %w", err)
	}
	r.done.Snapshots = append(r.done.Snapshots, ids...)
	r.done.Buckets += len(msgs) - (r.done.Dropped - dropped)
	return nil
}

// drop removes the files of compactions that came too late; what stays carries the attempt's name.
func (r *compaction) drop(_ int64, msgs []spec.CommitMessage) {
	r.done.Dropped += len(msgs)
	for i := range msgs {
		m := &msgs[i]
		old := map[string]bool{}
		for k := range m.CompactBefore {
			old[m.CompactBefore[k].FileName] = true
		}
		for _, files := range [][]spec.DataFileMeta{m.CompactAfter, m.CompactChangelog} {
			for k := range files {
				if !old[files[k].FileName] {
					r.remove(m, &files[k])
				}
			}
		}
	}
}

func (r *compaction) remove(m *spec.CommitMessage, f *spec.DataFileMeta) {
	paths, err := r.t.paths.FilePaths(m.Partition, m.Bucket, f)
	for _, p := range paths {
		if err == nil {
			err = r.t.FS.Remove(context.Background(), p)
		}
	}
	if err != nil && r.cfg.Log != nil {
		r.cfg.Log.Warn("data file left behind", "table", r.t.Path, "file", f.FileName, "error", err)
	}
}
