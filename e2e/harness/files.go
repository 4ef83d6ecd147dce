package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// snapshotFile, manifestRef and manifestEntry are what this package reads of the
// table's metadata, on its own, so that it does not believe leat.
type snapshotFile struct {
	Base      string  `json:"baseManifestList"`
	Delta     string  `json:"deltaManifestList"`
	Changelog *string `json:"changelogManifestList"`
	Index     *string `json:"indexManifest"`
}

type manifestRef struct {
	FileName string `avro:"_FILE_NAME"`
}

// indexEntry is an entry of an index manifest, which names all index files of a
// snapshot: deletion vectors and hash indexes.
type indexEntry struct {
	Kind     int32  `avro:"_KIND"`
	FileName string `avro:"_FILE_NAME"`
}

type manifestEntry struct {
	Kind   int32 `avro:"_KIND"`
	Bucket int32 `avro:"_BUCKET"`
	File   struct {
		FileName   string   `avro:"_FILE_NAME"`
		Level      int32    `avro:"_LEVEL"`
		ExtraFiles []string `avro:"_EXTRA_FILES"`
	} `avro:"_FILE"`
}

func (l Lake) dir() string {
	db, table, _ := strings.Cut(l.Table, ".")
	return filepath.Join(l.Warehouse, db+".db", table)
}

// files are the names of the files that the retained snapshots need.
type files map[string]bool

// CheckNoOrphans requires that every file in the table's folder is one that a
// retained snapshot needs, or a snapshot, a hint or a schema. Temporary snapshot
// and schema files of killed processes go when they are a minute old; younger ones may be there.
func (l Lake) CheckNoOrphans(t testing.TB) {
	t.Helper()
	needed, err := l.needed()
	if err != nil {
		t.Fatal(err)
	}
	var orphans []string
	err = filepath.WalkDir(l.dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || needed[d.Name()] || metadata.MatchString(strings.TrimPrefix(path, l.dir()+"/")) {
			return err
		}
		info, err := d.Info()
		if err == nil && !(fresh.MatchString(path) && time.Since(info.ModTime()) < 2*time.Minute) {
			orphans = append(orphans, fmt.Sprintf("%s (%d bytes, %s)", strings.TrimPrefix(path, l.dir()+"/"), info.Size(), info.ModTime().Format("15:04:05.000")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(orphans); n > 0 {
		t.Errorf("%d files belong to no snapshot, %d do:\n  %s", n, len(needed), strings.Join(orphans[:min(n, 30)], "\n  "))
	}
}

var fresh = regexp.MustCompile(`/(snapshot|schema)/\.[A-Za-z0-9-]+\.[0-9a-f-]+\.tmp$`)

var metadata = regexp.MustCompile(`^(snapshot/(snapshot-\d+|LATEST|EARLIEST)|schema/schema-\d+)$`)

func (l Lake) needed() (files, error) {
	snapshots, err := filepath.Glob(filepath.Join(l.dir(), "snapshot", "snapshot-*"))
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	if len(snapshots) == 0 {
		return nil, fmt.Errorf("%s has no snapshot", l.Table)
	}
	need := files{}
	for _, name := range snapshots {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a snapshot: %w", err)
		}
		var s snapshotFile
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if err := l.live(need, s.Base, s.Delta); err != nil {
			return nil, err
		}
		if s.Changelog != nil {
			if err := l.live(need, *s.Changelog); err != nil {
				return nil, err
			}
		}
		if s.Index != nil {
			if err := l.indexes(need, *s.Index); err != nil {
				return nil, err
			}
		}
	}
	return need, nil
}

// indexes adds an index manifest and the index files it names.
func (l Lake) indexes(need files, manifest string) error {
	need[manifest] = true
	entries, err := readAvro[indexEntry](filepath.Join(l.dir(), "manifest", manifest))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind != 0 {
			return fmt.Errorf("index manifest %s deletes %s", manifest, e.FileName)
		}
		need[e.FileName] = true
	}
	return nil
}

// live adds the manifest lists, their manifests, and the data files that are
// live after all their entries.
func (l Lake) live(need files, lists ...string) error {
	type id struct {
		bucket, level int32
		name          string
	}
	alive := map[id][]string{}
	for _, list := range lists {
		need[list] = true
		refs, err := readAvro[manifestRef](filepath.Join(l.dir(), "manifest", list))
		if err != nil {
			return err
		}
		for _, ref := range refs {
			need[ref.FileName] = true
			entries, err := readAvro[manifestEntry](filepath.Join(l.dir(), "manifest", ref.FileName))
			if err != nil {
				return err
			}
			for _, e := range entries {
				k := id{bucket: e.Bucket, level: e.File.Level, name: e.File.FileName}
				if e.Kind == 1 {
					delete(alive, k)
				} else {
					alive[k] = e.File.ExtraFiles
				}
			}
		}
	}
	for k, extra := range alive {
		need[k.name] = true
		for _, x := range extra {
			need[x] = true
		}
	}
	return nil
}

func readAvro[T any](name string) ([]T, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	r, err := ocf.NewReader(bytes.NewReader(b), ocf.WithDecodeOpts(avro.SkipUnknown()))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var all []T
	for {
		var x T
		err := r.Decode(&x)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		all = append(all, x)
	}
	return all, r.Close()
}

// Tree lists the files below dir with their sizes, for a comparison of before
// and after; a missing folder has none.
func Tree(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		list = append(list, fmt.Sprintf("%s %d", strings.TrimPrefix(path, dir), size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
