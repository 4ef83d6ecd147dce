package shell_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"leat/e2e/judge"
)

// systemTables are those whose rows are compared with Java's.
var systemTables = []string{"snapshots", "schemas", "options", "manifests", "files", "partitions", "buckets", "tags", "branches", "consumers", "audit_log", "binlog", "ro", "aggregation_fields", "statistics", "table_indexes"}

// TestSystemTablesEqualJavas compares the rows of every system table.
func TestSystemTablesEqualJavas(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for _, dir := range goldenDirs(t, "tags_branch", "overwrite_partition", "partition_types", "stats_and_thin", "pk_partitioned_odd", "compaction_snapshots", "changelog_input",
		"append_unaware", "schema_evolution", "pk_parquet_all_types", "pk_avro_all_types", "deletion_vectors_pk", "dynamic_bucket", "postpone_bucket", "aggregation", "first_row") {
		warehouse := absolute(t, filepath.Join(dir, "wh"))
		for _, table := range tablesOf(t, dir) {
			t.Run(filepath.Base(dir)+"/"+table, func(t *testing.T) {
				t.Parallel()
				for _, system := range systemTables {
					name := table + "$" + system
					want := normal(java.Rows(t, warehouse, "db."+name))
					if d := judge.Diff("java", want, "leat", normal(run(t, warehouse, "SELECT * FROM db.`"+name+"`"))); d != "" {
						t.Errorf("%s: %s", name, d)
					}
				}
			})
		}
	}
}

// normal puts JSON in cells into one order of keys.
func normal(rows []judge.Row) []judge.Row {
	out := make([]judge.Row, len(rows))
	for i, r := range rows {
		out[i] = maps.Clone(r)
		for _, k := range []string{"options", "fields"} {
			var v any
			if text, ok := r[k].(string); ok && json.Unmarshal([]byte(text), &v) == nil {
				if b, err := json.Marshal(v); err == nil {
					out[i][k] = string(b)
				}
			}
		}
	}
	return out
}

func TestCatalogTables(t *testing.T) {
	t.Parallel()
	warehouse := absolute(t, "../../lakehouse/testdata/golden/tags_branch/wh")
	want := normal(judge.Java(t).Rows(t, warehouse, "sys.all_table_options"))
	if d := judge.Diff("java", want, "leat", normal(run(t, warehouse, "SELECT * FROM sys.all_table_options"))); d != "" {
		t.Error(d)
	}
	rows := run(t, warehouse, "SELECT * FROM sys.catalog_options")
	if !slices.ContainsFunc(rows, func(r judge.Row) bool { return r.Text("key") == "warehouse" && r.Text("value") == warehouse }) {
		t.Errorf("catalog options %v", rows)
	}
}
