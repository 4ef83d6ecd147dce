package systable

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// readable gives the live files of buckets: rows of postponed ones wait for
// theirs, and readers do not see them yet.
func (r *reader) readable(ctx context.Context) ([]spec.ManifestEntry, error) {
	if r.Snapshot == nil {
		return nil, nil
	}
	live, err := r.Table.Manifests().Live(ctx, r.Snapshot)
	return slices.DeleteFunc(live, func(e spec.ManifestEntry) bool { return e.Bucket < 0 }), err
}

func readFiles(ctx context.Context, r *reader) error {
	live, err := r.readable(ctx)
	if err != nil {
		return err
	}
	schema := r.Table.Schema
	if r.Snapshot != nil {
		if schema, err = r.Table.SchemaOf(ctx, r.Snapshot.SchemaID); err != nil {
			return err
		}
	}
	for i := range live {
		if err := r.fileRow(ctx, schema, &live[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) fileRow(ctx context.Context, schema *spec.TableSchema, e *spec.ManifestEntry) error {
	f := &e.File
	partition, err := partitionText(r.Table.Layout().Partitions, e.Partition)
	if err != nil {
		return err
	}
	paths, err := r.Table.Layout().FilePaths(e.Partition, e.Bucket, f)
	if err != nil {
		return err
	}
	written, err := r.Table.SchemaOf(ctx, f.SchemaID)
	if err != nil {
		return err
	}
	keys := written.Types(written.TrimmedPrimaryKeys())
	low, err := keyText(f.MinKey, keys)
	if err != nil {
		return err
	}
	high, err := keyText(f.MaxKey, keys)
	if err != nil {
		return err
	}
	nulls, least, most, err := columnStats(schema, written, f)
	if err != nil {
		return err
	}
	r.Text(partition).Long(int64(e.Bucket)).Text(paths[0]).Text(strings.TrimPrefix(path.Ext(f.FileName), ".")).Long(f.SchemaID).Long(int64(f.Level)).
		Long(f.RowCount).Long(f.FileSize).TextOr(low).TextOr(high).Text(nulls).Text(least).Text(most).
		Long(f.MinSequenceNumber).Long(f.MaxSequenceNumber).MillisOr(f.CreationTimeMillis).LongOr(f.DeleteRowCount)
	if f.FileSource == nil {
		r.Null()
		return nil
	}
	r.Text(map[spec.FileSource]string{spec.SourceAppend: "APPEND", spec.SourceCompact: "COMPACT"}[*f.FileSource])
	return nil
}

// columnStats gives null counts, least and greatest values of the columns of
// schema; a column that the file was written without has nothing but nulls.
func columnStats(schema, written *spec.TableSchema, f *spec.DataFileMeta) (nulls, least, most string, err error) {
	var covered []columnar.Field
	if f.ValueStatsCols == nil {
		covered = written.Fields
	} else {
		for _, name := range *f.ValueStatsCols {
			if i := written.Index(name); i >= 0 {
				covered = append(covered, written.Fields[i])
			}
		}
	}
	inFile, at := map[int]bool{}, map[int]int{}
	for _, c := range written.Fields {
		inFile[c.ID] = true
	}
	for i, c := range covered {
		at[c.ID] = i
	}
	counts, low, high := map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range schema.Fields {
		counts[c.Name], low[c.Name], high[c.Name] = "null", "null", "null"
		i, ok := at[c.ID]
		if !ok {
			if !inFile[c.ID] {
				counts[c.Name] = strconv.FormatInt(f.RowCount, 10)
			}
			continue
		}
		s := &f.ValueStats
		if i < len(s.NullCounts) && s.NullCounts[i] != nil {
			counts[c.Name] = strconv.FormatInt(*s.NullCounts[i], 10)
		}
		if i < s.Min.Arity {
			if low[c.Name], err = statText(s.Min, i, covered[i].Type, c.Type); err != nil {
				return "", "", "", err
			}
		}
		if i < s.Max.Arity {
			if high[c.Name], err = statText(s.Max, i, covered[i].Type, c.Type); err != nil {
				return "", "", "", err
			}
		}
	}
	return mapText(counts), mapText(low), mapText(high), nil
}

// statText renders a bound of an older type in the form of the type of today.
func statText(r spec.BinaryRow, i int, from, to columnar.DataType) (string, error) {
	s, err := javaText(r, i, from)
	if err != nil || s == "null" {
		return s, err
	}
	switch more := to.Scale - from.Scale; {
	case from.Kind == columnar.Decimal && to.Kind == columnar.Decimal && more > 0:
		if from.Scale == 0 {
			s += "."
		}
		return s + strings.Repeat("0", more), nil
	case from.Kind == columnar.Float && to.Kind == columnar.Double:
		v, err := r.Float64(i, from)
		return spec.JavaFloat(v, false), err
	}
	return s, nil
}

// tally is what the partitions and buckets tables count.
type tally struct {
	partition           string
	bucket              int32
	rows, bytes, number int64
	last                *int64
}

// tallies adds up all entries of the manifests, as Paimon does: a file that is
// gone counts as the last one made until its entries are merged away.
func (r *reader) tallies(ctx context.Context, byBucket bool) ([]*tally, error) {
	if r.Snapshot == nil {
		return nil, nil
	}
	metas, err := r.Table.Manifests().All(ctx, r.Snapshot)
	if err != nil {
		return nil, err
	}
	entries, err := r.Table.Manifests().Read(ctx, metas)
	if err != nil {
		return nil, err
	}
	var out []*tally
	at := map[string]*tally{}
	for i := range entries {
		e := &entries[i]
		if e.Bucket < 0 && !byBucket {
			continue
		}
		key := string(e.Partition.Data)
		if byBucket {
			key += "/" + strconv.Itoa(int(e.Bucket))
		}
		t := at[key]
		if t == nil {
			p, err := partitionText(r.Table.Layout().Partitions, e.Partition)
			if err != nil {
				return nil, err
			}
			t = &tally{partition: p, bucket: e.Bucket}
			at[key] = t
			out = append(out, t)
		}
		t.add(e)
	}
	return slices.DeleteFunc(out, func(t *tally) bool { return t.number <= 0 }), nil
}

func (t *tally) add(e *spec.ManifestEntry) {
	sign := int64(1)
	if e.Kind == spec.Remove {
		sign = -1
	}
	t.rows += sign * e.File.RowCount
	t.bytes += sign * e.File.FileSize
	t.number += sign
	if c := e.File.CreationTimeMillis; c != nil && (t.last == nil || *c > *t.last) {
		t.last = c
	}
}

func readPartitions(ctx context.Context, r *reader) error {
	all, err := r.tallies(ctx, false)
	for _, t := range all {
		r.Text(t.partition).Long(t.rows).Long(t.bytes).Long(t.number).MillisOr(t.last)
	}
	return err
}

func readBuckets(ctx context.Context, r *reader) error {
	all, err := r.tallies(ctx, true)
	for _, t := range all {
		r.Text(t.partition).Long(int64(t.bucket)).Long(t.rows).Long(t.bytes).Long(t.number).MillisOr(t.last)
	}
	return err
}
