package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io"

	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// ChangeMode is an 'incremental-between-scan-mode'.
type ChangeMode uint8

// The change modes.
const (
	// ChangesAuto is ChangesDelta for tables without changelog producer, else ChangesChangelog.
	ChangesAuto ChangeMode = iota
	// ChangesDelta gives the rows of files that APPEND snapshots added.
	ChangesDelta
	// ChangesChangelog gives the rows of changelog files.
	ChangesChangelog
	// ChangesDiff compares the two states: -U, +U, +I and -D from one to the other.
	ChangesDiff
)

// Changes says which changes of a table to read: those after snapshot From up to
// snapshot To; From 0 begins before the first.
type Changes struct {
	From, To int64
	Mode     ChangeMode
	// Start and End are the states that ChangesDiff compares where no snapshot of
	// the table has them any more, such as those of tags; nil takes From and To.
	Start, End *spec.Snapshot
	// After has ChangesDiff leave out what rows were before, and give the others
	// with the kinds that they are stored with, as Paimon's reader does.
	After bool
}

// Compares says that two states are compared: nothing tells the rows before an update then, if After is set.
func (c *Changes) Compares() bool { return c.Mode == ChangesDiff }

// ReadChanges gives changes with their kinds and the columns that the table has
// today. The batches are released after each returns.
func (t *Table) ReadChanges(ctx context.Context, c Changes, each func(*columnar.Batch) error) error {
	mode := c.Mode
	switch {
	case mode == ChangesDiff:
		return t.diff(ctx, &c, each)
	case mode == ChangesAuto && t.Options.ChangelogProducer == ChangelogNone:
		mode = ChangesDelta
	case mode == ChangesAuto:
		mode = ChangesChangelog
	}
	for id := c.From + 1; id <= c.To; id++ {
		s, err := t.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		if mode == ChangesChangelog && s.CommitKind == spec.Overwrite || mode == ChangesDelta && s.CommitKind != spec.Append {
			continue
		}
		if err := t.readSnapshotChanges(ctx, s, mode == ChangesChangelog, each); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshotChanges gives the rows of the changelog files, or of the added files, of s.
func (t *Table) readSnapshotChanges(ctx context.Context, s *spec.Snapshot, changelog bool, each func(*columnar.Batch) error) error {
	var entries []spec.ManifestEntry
	var err error
	if !changelog {
		entries, err = t.manifests.Delta(ctx, s)
	} else if s.ChangelogManifestList != nil {
		var metas []spec.ManifestFileMeta
		if metas, err = t.manifests.List(ctx, *s.ChangelogManifestList); err == nil {
			entries, err = t.manifests.Read(ctx, metas)
		}
	}
	if err != nil {
		return fmt.Errorf("reading changes of table %s: %w", t.Path, err)
	}
	for i := range entries {
		// What no compaction has looked at is not there yet for readers of these
		// tables, and rows of postponed buckets are in no bucket yet.
		e := &entries[i]
		if e.Kind != spec.Add || e.Bucket < 0 || e.File.Level == 0 && t.readsCompacted() {
			continue
		}
		if err := t.readChanges(ctx, t.Schema, e, each); err != nil {
			return err
		}
	}
	return nil
}

// readsCompacted says that readers leave out level 0.
func (t *Table) readsCompacted() bool {
	return len(t.Schema.PrimaryKeys) > 0 && (t.Options.DeletionVectors || t.Options.Engine != nil && t.Options.Engine.Kind == mergetree.FirstRow)
}

// diff compares two states: of a primary-key table row by row, bucket by bucket;
// of another one by files.
func (t *Table) diff(ctx context.Context, c *Changes, each func(*columnar.Batch) error) error {
	states := [2]*spec.Snapshot{c.Start, c.End}
	for i, id := range []int64{c.From, c.To} {
		if states[i] != nil || id == 0 {
			continue
		}
		var err error
		if states[i], err = t.Snapshot(ctx, id); err != nil {
			return err
		}
	}
	if states[1] == nil {
		return nil
	}
	if len(t.Schema.PrimaryKeys) == 0 {
		return t.addedRows(ctx, states, each)
	}
	var plans [2]*Plan
	for i, s := range states {
		if s == nil {
			continue
		}
		var err error
		if plans[i], err = t.ScanPlan(ctx, ScanOptions{At: s, Columns: t.Schema.Columns().Names(), Today: true}); err != nil {
			return err
		}
		plans[i].keepKinds = c.After
	}
	order, sides := splitsByBucket(plans)
	for _, id := range order {
		if err := t.diffBucket(ctx, plans, sides[id], c.After, each); err != nil {
			return err
		}
	}
	return nil
}

// addedRows gives the rows of the files that only the later state has.
func (t *Table) addedRows(ctx context.Context, states [2]*spec.Snapshot, each func(*columnar.Batch) error) error {
	there := map[string]bool{}
	if states[0] != nil {
		live, err := t.manifests.Live(ctx, states[0])
		if err != nil {
			return fmt.Errorf("reading changes of table %s: %w", t.Path, err)
		}
		for i := range live {
			there[live[i].File.FileName] = true
		}
	}
	return t.Scan(ctx, ScanOptions{At: states[1], Today: true, File: func(e *spec.ManifestEntry) bool { return !there[e.File.FileName] }}, each)
}

// splitsByBucket groups the splits of two plans by bucket.
func splitsByBucket(plans [2]*Plan) ([]bucketID, map[bucketID]*[2][]*Split) {
	var order []bucketID
	out := map[bucketID]*[2][]*Split{}
	for side, p := range plans {
		if p == nil {
			continue
		}
		for i := range p.Splits {
			s := &p.Splits[i]
			id := idOf(s.Partition, s.Bucket)
			if out[id] == nil {
				out[id] = &[2][]*Split{}
				order = append(order, id)
			}
			out[id][side] = append(out[id][side], s)
		}
	}
	return order, out
}

func (t *Table) diffBucket(ctx context.Context, plans [2]*Plan, splits *[2][]*Split, after bool, each func(*columnar.Batch) error) (err error) {
	var streams []mergetree.RowReader
	for side, list := range splits {
		if len(list) == 0 {
			continue
		}
		p := plans[side]
		for _, s := range list {
			streams = append(streams, p.sortedStreams(ctx, s, int32(1-side))...)
		}
	}
	layout, err := t.layout()
	if err != nil {
		return err
	}
	m, err := mergetree.NewMerge(layout.Columns, layout.Keys, streams, mergetree.MergeOptions{
		Changes: &mergetree.ChangeOptions{Deduplicate: true, Compare: true, After: after}, Keep: true, DropDelete: true,
	})
	if err != nil {
		return fmt.Errorf("comparing states of table %s: %w", t.Path, err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for {
		rows, err := m.NextChanges(scanRows)
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
		b := columnar.NewBatch(layout.Columns, kinds, rows.Values, rows.Len())
		err = each(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}

// sortedStreams reads a split as streams in key order, as if their rows were of a level.
func (p *Plan) sortedStreams(ctx context.Context, s *Split, level int32) []mergetree.RowReader {
	if !p.alone {
		return []mergetree.RowReader{mergetree.AtLevel(&splitStream{r: p.Read(ctx, s)}, level)}
	}
	var out []mergetree.RowReader
	for i := range s.sections {
		r := p.Read(ctx, s)
		r.sections = s.sections[i : i+1]
		out = append(out, mergetree.AtLevel(&splitStream{r: r}, level))
	}
	return out
}

// splitStream gives the rows of a split as a merge takes them.
type splitStream struct{ r *SplitReader }

func (s *splitStream) Close() error { return s.r.Close() }

func (s *splitStream) Next() (*mergetree.Rows, error) {
	b, err := s.r.Next()
	if err != nil {
		return nil, err
	}
	rows := &mergetree.Rows{Values: b.Cols, Seq: make([]int64, b.Rows()), Kinds: make([]int8, b.Rows())}
	for i, k := range b.Kinds {
		rows.Kinds[i] = int8(k)
	}
	return rows, nil
}
