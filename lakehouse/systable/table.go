package systable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/lakehouse"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// Request is what a system table is read from.
type Request struct {
	Table *lakehouse.Table
	// Snapshot is the one that files, manifests, partitions and buckets show; nil
	// for a table without snapshots.
	Snapshot *spec.Snapshot
	// Zone is that of times; nil is UTC.
	Zone *time.Location
}

type definition struct {
	schema *columnar.Schema
	read   func(ctx context.Context, r *reader) error
}

var definitions = map[string]definition{
	"snapshots": {columns(
		must("snapshot_id", long), must("schema_id", long), must("commit_user", text), must("commit_identifier", long),
		must("commit_kind", text), must("commit_time", when), must("base_manifest_list", text), must("delta_manifest_list", text),
		may("changelog_manifest_list", text), may("total_record_count", long), may("delta_record_count", long),
		may("changelog_record_count", long), may("watermark", long),
	), readSnapshots},
	"schemas": {columns(
		must("schema_id", long), must("fields", text), must("partition_keys", text), must("primary_keys", text), must("options", text),
		may("comment", text), must("update_time", when),
	), readSchemas},
	"options": {columns(must("key", text), must("value", text)), readOptions},
	"manifests": {columns(
		must("file_name", text), must("file_size", long), must("num_added_files", long), must("num_deleted_files", long), must("schema_id", long),
		may("min_partition_stats", text), may("max_partition_stats", text),
	), readManifests},
	"files": {columns(
		may("partition", text), must("bucket", whole), must("file_path", text), must("file_format", text), must("schema_id", long),
		must("level", whole), must("record_count", long), must("file_size_in_bytes", long), may("min_key", text), may("max_key", text),
		must("null_value_counts", text), must("min_value_stats", text), must("max_value_stats", text),
		may("min_sequence_number", long), may("max_sequence_number", long), may("creation_time", when), may("deleteRowCount", long), may("file_source", text),
	), readFiles},
	"partitions": {columns(
		may("partition", text), must("record_count", long), must("file_size_in_bytes", long), must("file_count", long), may("last_update_time", when),
	), readPartitions},
	"buckets": {columns(
		may("partition", text), must("bucket", whole), must("record_count", long), must("file_size_in_bytes", long), must("file_count", long), may("last_update_time", when),
	), readBuckets},
	"tags": {columns(
		must("tag_name", text), must("snapshot_id", long), must("schema_id", long), must("commit_time", when), may("record_count", long),
		may("create_time", when), may("time_retained", text),
	), readTags},
	"aggregation_fields": {columns(
		must("field_name", text), must("field_type", text), may("function", text), may("function_options", text), may("comment", text),
	), readAggregationFields},
	"statistics": {columns(
		must("snapshot_id", long), must("schema_id", long), may("mergedRecordCount", long), may("mergedRecordSize", long), may("colstat", text),
	), readStatistics},
	"table_indexes": {columns(
		may("partition", text), must("bucket", whole), must("index_type", text), must("file_name", text), must("file_size", long),
		must("row_count", long), may("dv_ranges", vectorRanges),
	), readTableIndexes},
	"branches":  {columns(must("branch_name", text), must("create_time", when)), readBranches},
	"consumers": {columns(must("consumer_id", text), must("next_snapshot_id", long)), readConsumers},
}

// Names lists the system tables that Read knows.
func Names() []string { return slices.Sorted(maps.Keys(definitions)) }

// Schema gives the columns of a system table; false if there is none of the name.
func Schema(name string) (*columnar.Schema, bool) {
	d, ok := definitions[strings.ToLower(name)]
	return d.schema, ok
}

// reader fills a sheet.
type reader struct {
	Request
	*Sheet
}

// Read gives the rows of a system table, which the caller releases.
func Read(ctx context.Context, name string, r Request) (*columnar.Batch, error) {
	d, ok := definitions[strings.ToLower(name)]
	if !ok {
		return nil, fmt.Errorf("reading system table %s: there is none", name)
	}
	if r.Zone == nil {
		r.Zone = time.UTC
	}
	x := &reader{Request: r, Sheet: NewSheet(d.schema)}
	err := d.read(ctx, x)
	b := x.Batch()
	if err != nil {
		b.Release()
		return nil, fmt.Errorf("reading system table %s: %w", name, err)
	}
	return b, nil
}

func readSnapshots(ctx context.Context, r *reader) error {
	ids, err := r.Table.Snapshots().List(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := r.Table.Snapshots().Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // expired meanwhile
		}
		if err != nil {
			return err
		}
		r.Long(s.ID).Long(s.SchemaID).Text(s.CommitUser).Long(s.CommitIdentifier).Text(string(s.CommitKind)).
			Time(time.UnixMilli(s.TimeMillis), r.Zone).Text(s.BaseManifestList).Text(s.DeltaManifestList).TextOr(s.ChangelogManifestList).
			LongOr(s.TotalRecordCount).LongOr(s.DeltaRecordCount).LongOr(s.ChangelogRecordCount).LongOr(s.Watermark)
	}
	return nil
}

func readSchemas(ctx context.Context, r *reader) error {
	infos, err := r.Table.FS.List(ctx, r.Table.FS.Join(r.Table.Home(), spec.SchemaDir))
	if err != nil {
		return err
	}
	var ids []int64
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, err := r.Table.SchemaOf(ctx, id)
		if err != nil {
			return err
		}
		c, err := spec.SchemaCells(s)
		if err != nil {
			return err
		}
		var comment *string
		if s.Comment != "" {
			comment = &s.Comment
		}
		r.Long(id).Text(c.Fields).Text(c.PartitionKeys).Text(c.PrimaryKeys).Text(c.Options).TextOr(comment).Time(time.UnixMilli(s.TimeMillis), r.Zone)
	}
	return nil
}

func readOptions(_ context.Context, r *reader) error {
	for _, k := range slices.Sorted(maps.Keys(r.Table.Schema.Options)) {
		r.Text(k).Text(r.Table.Schema.Options[k])
	}
	return nil
}

func readManifests(ctx context.Context, r *reader) error {
	if r.Snapshot == nil {
		return nil
	}
	metas, err := r.Table.Manifests().All(ctx, r.Snapshot)
	if err != nil {
		return err
	}
	if list := r.Snapshot.ChangelogManifestList; list != nil {
		changelog, err := r.Table.Manifests().List(ctx, *list)
		if err != nil {
			return err
		}
		metas = append(metas, changelog...)
	}
	for i := range metas {
		m := &metas[i]
		r.Text(m.FileName).Long(m.FileSize).Long(m.NumAddedFiles).Long(m.NumDeletedFiles).Long(m.SchemaID)
		for _, row := range []spec.BinaryRow{m.PartitionStats.Min, m.PartitionStats.Max} {
			s, err := partitionText(r.Table.Layout().Partitions, row)
			if err != nil {
				return err
			}
			r.Text(s)
		}
	}
	return nil
}

func readTags(ctx context.Context, r *reader) error {
	tags, err := maintain.Tags(ctx, r.Table.FS, r.Table.Home())
	if err != nil {
		return err
	}
	for i := range tags {
		t := &tags[i]
		r.Text(t.Name).Long(t.Snapshot.ID).Long(t.Snapshot.SchemaID).Time(time.UnixMilli(t.Snapshot.TimeMillis), r.Zone).LongOr(t.Snapshot.TotalRecordCount)
		if t.Retained == 0 {
			r.Null().Null()
			continue
		}
		// The creation time is stored as a wall clock, which is shown as it is.
		r.Time(t.Created, time.Local).Text(javaDuration(t.Retained))
	}
	return nil
}

func readBranches(ctx context.Context, r *reader) error {
	all, err := maintain.Branches(ctx, r.Table.FS, r.Table.Path)
	if err != nil {
		return err
	}
	for _, b := range all {
		r.Text(b.Name).Time(b.Created, r.Zone)
	}
	return nil
}

func readConsumers(ctx context.Context, r *reader) error {
	all, err := maintain.Consumers(ctx, r.Table.FS, r.Table.Home())
	if err != nil {
		return err
	}
	for _, c := range all {
		r.Text(c.ID).Long(c.Next)
	}
	return nil
}
