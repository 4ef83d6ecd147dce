package spec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seeds adds the files that match a pattern under testdata.
func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		f.Fatal(pattern, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// A schema that can be read is the same after it was written again.
func FuzzParseSchema(f *testing.F) {
	seeds(f, "golden/*/wh/db.db/*/schema/schema-*")
	f.Add([]byte(`{"id":0,"fields":[{"id":0,"name":"a","type":{"type":"ARRAY","element":{"type":"ROW","fields":[{"id":1,"name":"b","type":"INT"}]}}}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSchema(b)
		if err != nil {
			return
		}
		again, err := MarshalSchema(s)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParseSchema(again)
		if err != nil {
			t.Fatalf("written again it cannot be read: %v\n%s", err, again)
		}
		if d := cmp.Diff(s.Columns().Names(), second.Columns().Names()); d != "" {
			t.Error(d)
		}
		for i := range s.Fields {
			if got, want := second.Fields[i].Type.String(), s.Fields[i].Type.String(); got != want {
				t.Errorf("%s became %s", want, got)
			}
		}
		if _, err := SchemaCells(s); err != nil {
			t.Error(err)
		}
		s.TrimmedPrimaryKeys()
		s.BucketKeys()
	})
}

// Snapshots, and kept changelogs, which have the same form.
func FuzzParseSnapshot(f *testing.F) {
	seeds(f, "golden/*/wh/db.db/*/snapshot/snapshot-*")
	seeds(f, "golden/*/wh/db.db/*/tag/tag-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSnapshot(b)
		if err != nil {
			return
		}
		again, err := MarshalSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParseSnapshot(again)
		if err != nil {
			t.Fatalf("written again it cannot be read: %v\n%s", err, again)
		}
		second.Version = s.Version
		if second.ID != s.ID || second.BaseManifestList != s.BaseManifestList || second.CommitKind != s.CommitKind || second.TimeMillis != s.TimeMillis {
			t.Errorf("%+v became %+v", s, second)
		}
	})
}

func FuzzReadManifestList(f *testing.F) {
	seeds(f, "golden/*/wh/db.db/*/manifest/manifest-list-*")
	f.Fuzz(func(t *testing.T, b []byte) {
		metas, err := ReadManifestList(b)
		if err != nil {
			return
		}
		again, err := WriteManifestList(metas)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ReadManifestList(again)
		if err != nil || len(second) != len(metas) {
			t.Fatalf("%d rows became %d: %v", len(metas), len(second), err)
		}
	})
}

func FuzzReadIndexManifest(f *testing.F) {
	seeds(f, "index-manifest")
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ReadIndexManifest(b)
		if err != nil {
			return
		}
		for i := range entries {
			if checkName(entries[i].File.FileName) != nil {
				t.Errorf("file %q", entries[i].File.FileName)
			}
		}
		again, err := WriteIndexManifest(entries)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ReadIndexManifest(again)
		if err != nil || len(second) != len(entries) {
			t.Fatalf("%d rows became %d: %v", len(entries), len(second), err)
		}
	})
}

func FuzzParseStatistics(f *testing.F) {
	f.Add([]byte(`{"snapshotId":1,"schemaId":0,"mergedRecordCount":1,"mergedRecordSize":40,"colStats":{"v":{"colId":1,"min":"a\\\"","maxLen":1}}}`))
	f.Add([]byte(`{"snapshotId":1,"schemaId":0,"colStats":{}}`))
	f.Add([]byte(`{"snapshotId":1,"schemaId":0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseStatistics(b)
		if err != nil {
			return
		}
		text, err := s.ColumnText()
		if err != nil || text == "" {
			t.Fatalf("%q, %v", text, err)
		}
	})
}
