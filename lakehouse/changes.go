package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io"

	"leat/internal/columnar"
	"leat/internal/diag"
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

// ReadChanges gives the changes after snapshot from up to snapshot to, with
// their kinds; from 0 begins before the first. The batches are released after
// each returns.
func (t *Table) ReadChanges(ctx context.Context, from, to int64, mode ChangeMode, each func(*columnar.Batch) error) error {
	if mode == ChangesDiff {
		return t.diff(ctx, from, to, each)
	}
	if mode == ChangesAuto {
		mode = ChangesChangelog
		if t.Options.ChangelogProducer == ChangelogNone {
			mode = ChangesDelta
		}
	}
	for id := from + 1; id <= to; id++ {
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
	schema, err := t.schemaOf(ctx, s.SchemaID)
	if err != nil {
		return err
	}
	var entries []spec.ManifestEntry
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
		if e := &entries[i]; e.Kind == spec.Add {
			if err := t.readChanges(ctx, schema, e, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// diff compares two states of a primary-key table, bucket by bucket.
func (t *Table) diff(ctx context.Context, from, to int64, each func(*columnar.Batch) error) error {
	if len(t.Schema.PrimaryKeys) == 0 {
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Table: t.Path, Option: "incremental-between-scan-mode",
			Msg: "the states of a table without primary key cannot be compared row by row", Hint: "use the mode 'delta'",
		}
	}
	columns := make([]string, len(t.Schema.Fields))
	for i := range t.Schema.Fields {
		columns[i] = t.Schema.Fields[i].Name
	}
	var plans [2]*Plan
	for i, id := range []int64{from, to} {
		if id == 0 {
			continue
		}
		s, err := t.Snapshot(ctx, id)
		if err == nil {
			plans[i], err = t.ScanPlan(ctx, ScanOptions{At: s, Columns: columns})
		}
		if err != nil {
			return err
		}
	}
	if plans[1] == nil {
		return nil
	}
	order, sides := splitsByBucket(plans)
	for _, id := range order {
		if err := t.diffBucket(ctx, plans, sides[id], each); err != nil {
			return err
		}
	}
	return nil
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

func (t *Table) diffBucket(ctx context.Context, plans [2]*Plan, splits *[2][]*Split, each func(*columnar.Batch) error) (err error) {
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
		Changes: &mergetree.ChangeOptions{Deduplicate: true, Compare: true}, Keep: true, DropDelete: true,
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
	return &mergetree.Rows{Values: b.Cols, Seq: make([]int64, b.Rows()), Kinds: make([]int8, b.Rows())}, nil
}
