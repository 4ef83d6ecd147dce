package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Distribute gives the postponed rows of the latest snapshot their buckets: as
// many as their partition has, or 'postpone.default-bucket-num'. The messages,
// none if no row waits, are to be committed together: files of waiting rows
// leave, level-0 files with the same rows come. Readers see the rows from then on.
func (t *Table) Distribute(ctx context.Context, cfg WriteConfig) ([]spec.CommitMessage, error) {
	s, err := t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	entries, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	if cfg.Partition != nil {
		entries = slices.DeleteFunc(entries, func(e spec.ManifestEntry) bool { return !cfg.Partition(e.Partition) })
	}
	var msgs []spec.CommitMessage
	byTotal := t.waiting(entries)
	for _, total := range slices.Sorted(maps.Keys(byTotal)) {
		made, err := t.distribute(ctx, cfg, total, byTotal[total])
		if err != nil {
			return nil, fmt.Errorf("distributing rows of table %s: %w", t.Path, err)
		}
		msgs = append(msgs, made...)
	}
	return msgs, nil
}

// RowsWait reports whether the latest snapshot holds rows that wait for their
// buckets (bucket = -2), which no reader sees.
func (t *Table) RowsWait(ctx context.Context) (bool, error) {
	if t.mode() != postponedBuckets {
		return false, nil
	}
	s, err := t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return false, err
	}
	entries, err := t.manifests.Live(ctx, s)
	if err != nil {
		return false, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	return slices.ContainsFunc(entries, func(e spec.ManifestEntry) bool { return e.Bucket == spec.PostponeBucket }), nil
}

// waiting gives the entries of postponed files, in the order they were
// committed, by the number of buckets of their partition.
func (t *Table) waiting(entries []spec.ManifestEntry) map[int][]spec.ManifestEntry {
	totals := map[string]int{}
	for i := range entries {
		if e := &entries[i]; e.Bucket >= 0 && e.TotalBuckets > 0 {
			totals[string(e.Partition.Data)] = int(e.TotalBuckets)
		}
	}
	out := map[int][]spec.ManifestEntry{}
	for _, e := range entries {
		if e.Bucket != spec.PostponeBucket {
			continue
		}
		total := totals[string(e.Partition.Data)]
		if total == 0 {
			total = t.Options.Dynamic.PostponeBuckets
		}
		out[total] = append(out[total], e)
	}
	return out
}

// distribute writes the rows of postponed files into total buckets.
func (t *Table) distribute(ctx context.Context, cfg WriteConfig, total int, entries []spec.ManifestEntry) (msgs []spec.CommitMessage, err error) {
	schema := *t.Schema
	schema.Options = maps.Clone(schema.Options)
	schema.Options[spec.OptionBucket] = strconv.Itoa(total)
	schema.Options["write-only"] = "true"
	to, err := newTable(t.FS, t.Path, t.home, &schema)
	if err != nil {
		return nil, err
	}
	w, err := to.NewWriter(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	for i := range entries {
		if err := t.rewrite(ctx, w, &entries[i]); err != nil {
			return nil, err
		}
	}
	p, err := w.Prepare(ctx, 1)
	if err != nil {
		return nil, err
	}
	if msgs, err = p.Wait(ctx); err != nil {
		return nil, err
	}
	for i := range msgs {
		m := &msgs[i]
		m.CompactAfter, m.CompactChangelog = m.NewFiles, m.Changelog
		m.NewFiles, m.Changelog = nil, nil
	}
	at := map[string]int{}
	for i := range entries {
		e := &entries[i]
		k, ok := at[string(e.Partition.Data)]
		if !ok {
			k = len(msgs)
			at[string(e.Partition.Data)] = k
			msgs = append(msgs, spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets})
		}
		msgs[k].CompactBefore = append(msgs[k].CompactBefore, e.File)
	}
	return msgs, nil
}

// rewrite hands the rows of a postponed file to w.
func (t *Table) rewrite(ctx context.Context, w *Writer, e *spec.ManifestEntry) (err error) {
	r, err := t.openFile(ctx, e.Partition, e.Bucket, &e.File, t.Schema.Fields, true, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kinds := make([]columnar.RowKind, rows.Len())
		for i, k := range rows.Kinds {
			kinds[i] = columnar.RowKind(k)
		}
		for _, a := range rows.System {
			a.Release()
		}
		if err := w.Write(ctx, columnar.NewBatch(t.Schema.Columns(), kinds, slices.Clone(rows.Values), rows.Len())); err != nil {
			return err
		}
	}
}
