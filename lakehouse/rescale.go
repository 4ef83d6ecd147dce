package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// Rescale writes the rows of the partitions that cfg picks anew, into as many
// buckets as told, and replaces what is there by them in one OVERWRITE snapshot;
// its id is given. It fails with commit.ErrConflict if anybody commits meanwhile.
// What readers see only after a compaction is compacted at once. 'bucket' of the
// table stays as it is.
func (t *Table) Rescale(ctx context.Context, cfg WriteConfig, buckets int) (int64, error) {
	s, err := t.LatestSnapshot(ctx)
	if err != nil {
		return 0, err
	}
	if err := t.checkRescale(ctx, s, cfg, buckets); err != nil {
		return 0, err
	}
	return t.replaceRows(ctx, s, cfg, buckets, nil, false)
}

// replaceRows writes the rows of a snapshot anew and replaces it by them; whatever
// the changelog is, it does not tell of that.
func (t *Table) replaceRows(ctx context.Context, s *spec.Snapshot, cfg WriteConfig, buckets int, properties map[string]string, otherKeys bool) (int64, error) {
	msgs, err := t.writeAnew(ctx, s, cfg, buckets, otherKeys)
	if err != nil {
		return 0, fmt.Errorf("writing the rows of table %s anew: %w", t.Path, err)
	}
	c := commit.New(t.FS, t.Path, t.Schema, commit.Options{Attempt: cfg.Attempt}, cfg.Log)
	ids, err := c.Commit(ctx, commit.Request{
		User: uuid.NewString(), Identifier: spec.BatchIdentifier, Messages: msgs, Overwrite: true, Partition: cfg.Partition, Base: s.ID, Properties: properties,
	})
	if errors.Is(err, commit.ErrConflict) {
		t.Discard(ctx, msgs)
	}
	if err != nil {
		return 0, err
	}
	quiet, err := t.copyWith(map[string]string{"changelog-producer": "none"})
	if err != nil || !t.readsCompacted() && t.Options.ChangelogProducer != ChangelogLookup && t.Options.ChangelogProducer != ChangelogFull {
		return ids[0], err
	}
	// A later compaction would tell of the rows as if they were new.
	cfg.Attempt = uuid.NewString()
	_, err = quiet.RunCompaction(ctx, cfg, Compaction{Full: true, Properties: properties})
	return ids[0], err
}

func (t *Table) checkRescale(ctx context.Context, s *spec.Snapshot, cfg WriteConfig, buckets int) error {
	refuse := func(msg, hint string) error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Table: t.Path, Msg: msg, Hint: hint}
	}
	switch m := t.mode(); {
	case m != fixedBuckets && m != postponedBuckets:
		return refuse(fmt.Sprintf("its rows have no fixed number of buckets (%s)", m), "there is nothing to rescale")
	case buckets <= 0:
		return refuse("rows that wait for their buckets need a number of these", "give bucket_num")
	case s == nil:
		return refuse("the table has no snapshot", "there is nothing to rescale")
	}
	live, err := t.manifests.Live(ctx, s)
	if err != nil {
		return fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	if cfg.Partition != nil {
		live = slices.DeleteFunc(live, func(e spec.ManifestEntry) bool { return !cfg.Partition(e.Partition) })
	}
	if slices.ContainsFunc(live, func(e spec.ManifestEntry) bool { return e.Bucket < 0 }) {
		return refuse("rows wait for their buckets", "CALL sys.compact first, so that they have some")
	}
	if len(live) == 0 {
		return refuse("the partitions named have no files", "check the names; there is nothing to rescale")
	}
	return nil
}

// copyWith gives the table under other options.
func (t *Table) copyWith(options map[string]string) (*Table, error) {
	schema := *t.Schema
	schema.Options = maps.Clone(schema.Options)
	maps.Copy(schema.Options, options)
	return newTable(t.FS, t.Path, t.home, &schema)
}

// writeAnew writes the rows of a snapshot as new level-0 files. otherKeys says that
// files hold keys of another type.
func (t *Table) writeAnew(ctx context.Context, s *spec.Snapshot, cfg WriteConfig, buckets int, otherKeys bool) (msgs []spec.CommitMessage, err error) {
	to, err := t.copyWith(map[string]string{
		spec.OptionBucket: strconv.Itoa(buckets), "write-only": "true", "changelog-producer": "none", "deletion-vectors.enabled": "false",
	})
	if err != nil {
		return nil, err
	}
	cfg.Anew = true
	w, err := to.NewWriter(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	err = t.Scan(ctx, ScanOptions{At: s, Today: true, AllMeet: otherKeys, Partition: cfg.Partition}, func(b *columnar.Batch) error {
		kinds := make([]columnar.RowKind, b.Rows())
		for _, c := range b.Cols {
			c.Retain() // the writer owns what it is given
		}
		return w.Write(ctx, columnar.NewBatch(t.Schema.Columns(), kinds, slices.Clone(b.Cols), b.Rows()))
	})
	if err != nil {
		return nil, err
	}
	p, err := w.Prepare(ctx, 1)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// Discard removes the files of messages that a conflict kept out of the table.
// What compactions made of them, among which may be files that are live, and what
// cannot be removed is left to a sweep for orphans.
func (t *Table) Discard(ctx context.Context, msgs []spec.CommitMessage) {
	ctx = context.WithoutCancel(ctx)
	for i := range msgs {
		m := &msgs[i]
		for _, f := range slices.Concat(m.NewFiles, m.Changelog) {
			paths, err := t.paths.FilePaths(m.Partition, m.Bucket, &f)
			for _, p := range paths {
				if err == nil {
					err = t.FS.Remove(ctx, p)
				}
			}
			if err != nil {
				return
			}
		}
	}
}
