package systable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// vectorRanges is the type of dv_ranges (DeletionVectorMeta.java): the data
// file, offset and length of its vector, and how many rows that deletes.
var vectorRanges = func() columnar.DataType {
	row := columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{must("f0", text), must("f1", whole), must("f2", whole), may("_CARDINALITY", long)}}
	for i := range row.Fields {
		row.Fields[i].ID = i
	}
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &row}
}()

func readTableIndexes(ctx context.Context, r *reader) error {
	entries, err := r.Table.Manifests().Index(ctx, r.Snapshot)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil // as in Paimon: a table whose index manifest is gone shows none
	}
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		partition, err := partitionText(r.Table.Layout().Partitions, e.Partition)
		if err != nil {
			return err
		}
		r.Text(partition).Long(int64(e.Bucket)).Text(e.File.Type).Text(e.File.FileName).Long(e.File.FileSize).Long(e.File.RowCount).Vectors(e.File.Vectors)
	}
	return nil
}

func readStatistics(ctx context.Context, r *reader) error {
	if r.Snapshot == nil || r.Snapshot.Statistics == nil {
		return nil
	}
	path := r.Table.FS.Join(r.Table.Path, spec.StatsDir, *r.Snapshot.Statistics)
	b, err := r.Table.FS.ReadFile(ctx, path)
	if err != nil {
		return fmt.Errorf("reading statistics: %w", err)
	}
	s, err := spec.ParseStatistics(b)
	if err != nil {
		return &diag.Error{
			Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt, Msg: fmt.Sprintf("file %s cannot be read", path), Cause: err,
			Hint: "restore the file, or have the table analyzed anew",
		}
	}
	columns, err := s.ColumnText()
	if err != nil {
		return err
	}
	r.Long(s.SnapshotID).Long(s.SchemaID).LongOr(s.MergedRecordCount).LongOr(s.MergedRecordSize).Text(columns)
	return nil
}

// readAggregationFields shows the options fields.<column>.… of every column.
func readAggregationFields(_ context.Context, r *reader) error {
	schema := r.Table.Schema
	functions, keys := map[string][]string{}, map[string][]string{}
	for _, k := range javaOrder(schema.Options) {
		if parts := strings.Split(k, "."); len(parts) > 2 && parts[0] == "fields" {
			functions[parts[1]] = append(functions[parts[1]], schema.Options[k])
			keys[parts[1]] = append(keys[parts[1]], k)
		}
	}
	list := func(s []string) string { return "[" + strings.Join(s, ", ") + "]" }
	for i := range schema.Fields {
		f := &schema.Fields[i]
		r.Text(f.Name).Text(f.Type.String()).Text(list(functions[f.Name])).Text(list(keys[f.Name]))
		if f.Comment == "" {
			r.Null()
			continue
		}
		r.Text(f.Comment)
	}
	return nil
}

// javaOrder lists the keys of m in the order of Java's HashMap, in which Paimon
// shows several options of one column: by the hash in a table that grows in
// powers of two at three quarters full.
func javaOrder(m map[string]string) []string {
	size := 16
	for len(m) > size*3/4 {
		size *= 2
	}
	slot := func(key string) int {
		var h uint32
		for _, c := range utf16.Encode([]rune(key)) {
			h = 31*h + uint32(c)
		}
		return int(h^h>>16) & (size - 1)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := slot(a) - slot(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}
