package job_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShownTablesCanBeMadeAgain runs what SHOW CREATE TABLE prints of golden
// tables, and of one with odd names, in a new warehouse: the same table comes out.
func TestShownTablesCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	odd := t.TempDir()
	_, err := shell(t.Context(), odd, "table", "CREATE DATABASE db; CREATE TABLE db.`odd name` (k INT NOT NULL COMMENT 'it''s', `a b` ROW<x INT, `y z` ARRAY<STRING>>,"+
		"m MAP<STRING, DECIMAL(10, 2)>, at_time TIMESTAMP_LTZ(3), PRIMARY KEY (k) NOT ENFORCED) COMMENT 'of ''odd'' names' WITH ('bucket' = '3', 'merge-engine' = 'partial-update')")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{"odd name": odd}
	for table, dir := range map[string]string{"legacy_true": "../../lakehouse/testdata/golden/partition_types", "t": "../../lakehouse/testdata/golden/partial_update_seqgroup", "k_dec38": "../../lakehouse/testdata/golden/bucket_keys", "t0": "../../lakehouse/testdata/golden/stats_and_thin", "k": "../../lakehouse/testdata/golden/sequence_field"} {
		if tables[table], err = filepath.Abs(filepath.Join(dir, "wh")); err != nil {
			t.Fatal(err)
		}
	}
	for table, from := range tables {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			text, err := shell(t.Context(), from, "table", "SHOW CREATE TABLE db.`"+table+"`")
			if err != nil {
				t.Fatal(err)
			}
			to := t.TempDir()
			if out, err := shell(t.Context(), to, "table", "CREATE DATABASE db; "+text); err != nil {
				t.Fatalf("%v\n%s\n%s", err, text, out)
			}
			again, err := shell(t.Context(), to, "table", "SHOW CREATE TABLE db.`"+table+"`")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(text, "\n"), strings.Split(again, "\n")); d != "" {
				t.Errorf("(-shown +made again):\n%s", d)
			}
			cells := "SELECT fields, partition_keys, primary_keys, options, comment FROM db.`" + table + "$schemas`"
			want, err := shell(t.Context(), from, "ndjson", cells)
			if err != nil {
				t.Fatal(err)
			}
			got, err := shell(t.Context(), to, "ndjson", cells)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-table +made again):\n%s", d)
			}
		})
	}
}
