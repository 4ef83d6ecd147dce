package job_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedFilesAreNamed cuts each file of tables short, or writes something
// else into it: whoever reads it gets an error that names the file, or what the
// table holds where the file is not needed.
func TestDamagedFilesAreNamed(t *testing.T) {
	t.Parallel()
	for dir, reads := range map[string][]string{
		"../../lakehouse/testdata/golden/tags_branch": {
			"SELECT * FROM db.t", "SELECT * FROM db.t$files", "SELECT * FROM db.t$snapshots", "SELECT * FROM db.t$schemas", "SELECT * FROM db.t$tags",
			"SELECT * FROM db.t$consumers", "SELECT * FROM db.t$branches", "SELECT * FROM db.`t$branch_b1`", "SELECT * FROM db.t /*+ OPTIONS('scan.tag-name' = 't1') */",
			"SELECT * FROM db.t /*+ OPTIONS('scan.tag-name' = 't2') */",
		},
		"../../lakehouse/testdata/golden/deletion_vectors_pk": {
			"SELECT * FROM db.t", "SELECT * FROM db.t /*+ OPTIONS('scan.snapshot-id' = '4') */", "SELECT * FROM db.t$table_indexes", "SELECT * FROM db.t$files",
			"SELECT * FROM db.t$audit_log /*+ OPTIONS('incremental-between' = '0,4') */",
		},
	} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			if err := os.CopyFS(warehouse, os.DirFS(filepath.Join(dir, "wh"))); err != nil {
				t.Fatal(err)
			}
			var files []string
			err := filepath.WalkDir(filepath.Join(warehouse, "db.db", "t"), func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && d.Name() != "LATEST" && d.Name() != "EARLIEST" {
					files = append(files, path)
				}
				return err
			})
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			named := 0
			for _, path := range files {
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, damaged := range [][]byte{whole[:len(whole)/2], []byte("no such thing"), {}} {
					if err := os.WriteFile(path, damaged, 0o644); err != nil {
						t.Fatal(err)
					}
					for _, read := range reads {
						if _, err := shell(t.Context(), warehouse, "ndjson", read); err != nil {
							named++
							if !strings.Contains(err.Error(), filepath.Base(path)) {
								t.Errorf("%s: the error does not name %s: %v", read, filepath.Base(path), err)
							}
						}
					}
				}
				if err := os.WriteFile(path, whole, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if named == 0 {
				t.Error("no damage was seen")
			}
		})
	}
}
