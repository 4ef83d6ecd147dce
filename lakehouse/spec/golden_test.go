package spec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// goldenTable is one table of testdata/golden with what Paimon Java says it holds.
type goldenTable struct {
	dir        string
	LiveFiles  map[string][]string      `json:"live_files"`
	DeltaFiles map[string][]goldenEntry `json:"delta_files"`
}

type goldenEntry struct {
	Kind          string       `json:"kind"`
	PartitionHex  string       `json:"partition_hex"`
	PartitionPath string       `json:"partition_path"`
	Bucket        int32        `json:"bucket"`
	TotalBuckets  int32        `json:"total_buckets"`
	File          string       `json:"file"`
	Size          int64        `json:"size"`
	Rows          int64        `json:"rows"`
	Level         int32        `json:"level"`
	MinSeq        int64        `json:"min_seq"`
	MaxSeq        int64        `json:"max_seq"`
	SchemaID      int64        `json:"schema_id"`
	DeleteRows    *int64       `json:"delete_rows"`
	FileSource    *string      `json:"file_source"`
	CreationTime  *string      `json:"creation_time"`
	ExtraFiles    []string     `json:"extra_files"`
	StatsCols     *[]string    `json:"value_stats_cols"`
	WriteCols     *[]string    `json:"write_cols"`
	ExternalPath  *string      `json:"external_path"`
	MinKeyHex     string       `json:"min_key_hex"`
	MaxKeyHex     string       `json:"max_key_hex"`
	KeyStats      *goldenStats `json:"key_stats"`
	ValueStats    *goldenStats `json:"value_stats"`
}

type goldenStats struct {
	MinHex     string   `json:"min_hex"`
	MaxHex     string   `json:"max_hex"`
	NullCounts []*int64 `json:"null_counts"`
}

// goldenTables loads every table of testdata/golden.
func goldenTables(t *testing.T) map[string]goldenTable {
	t.Helper()
	out := map[string]goldenTable{}
	cases, err := filepath.Glob("testdata/golden/*/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var f struct {
			Tables map[string]goldenTable `json:"tables"`
		}
		b, err := os.ReadFile(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for name, g := range f.Tables {
			g.dir = filepath.Join(filepath.Dir(c), "wh", "db.db", name)
			if _, err := os.Stat(g.dir); err == nil {
				out[filepath.Base(filepath.Dir(c))+"/"+name] = g
			}
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d golden tables", len(out))
	}
	return out
}

func readGolden(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readList(t *testing.T, dir, name string) []ManifestEntry {
	t.Helper()
	metas, err := ReadManifestList(readGolden(t, dir, ManifestDir, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out []ManifestEntry
	for _, m := range metas {
		b := readGolden(t, dir, ManifestDir, m.FileName)
		if int64(len(b)) != m.FileSize {
			t.Errorf("%s: %d bytes, list says %d", m.FileName, len(b), m.FileSize)
		}
		entries, err := ReadManifest(b)
		if err != nil {
			t.Fatalf("%s: %v", m.FileName, err)
		}
		if int64(len(entries)) != m.NumAddedFiles+m.NumDeletedFiles {
			t.Errorf("%s: %d entries, list says %d+%d", m.FileName, len(entries), m.NumAddedFiles, m.NumDeletedFiles)
		}
		out = append(out, entries...)
	}
	return out
}

func TestGoldenManifests(t *testing.T) {
	t.Parallel()
	for name, g := range goldenTables(t) {
		schema, err := ParseSchema(readGolden(t, g.dir, SchemaDir, "schema-0"))
		if err != nil {
			t.Fatal(err)
		}
		paths := schema.PartitionPaths()
		for id, want := range g.DeltaFiles {
			snap := goldenSnapshot(t, g.dir, id)
			if snap == nil {
				continue // expired
			}
			var got []goldenEntry
			for _, e := range readList(t, g.dir, snap.DeltaManifestList) {
				got = append(got, describe(t, paths, &e))
			}
			less := func(a, b goldenEntry) int {
				return strings.Compare(a.Kind+a.PartitionPath+a.File+strconv.Itoa(int(a.Level)), b.Kind+b.PartitionPath+b.File+strconv.Itoa(int(b.Level)))
			}
			slices.SortFunc(got, less)
			slices.SortFunc(want, less)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s snapshot %s (-want +got):\n%s", name, id, d)
			}
		}
		for id, want := range g.LiveFiles {
			snap := goldenSnapshot(t, g.dir, id)
			if snap == nil {
				continue
			}
			live := map[string]int{}
			for _, list := range []string{snap.BaseManifestList, snap.DeltaManifestList} {
				for _, e := range readList(t, g.dir, list) {
					p, err := paths.Path(e.Partition)
					if err != nil {
						t.Fatal(err)
					}
					file := p + BucketDir(e.Bucket) + "/" + e.File.FileName
					if e.Kind == Add {
						live[file]++
					} else {
						live[file]--
					}
				}
			}
			maps.DeleteFunc(live, func(_ string, n int) bool { return n == 0 })
			slices.Sort(want)
			if d := cmp.Diff(want, slices.Sorted(maps.Keys(live))); d != "" && len(want)+len(live) > 0 {
				t.Errorf("%s live files at %s (-want +got):\n%s", name, id, d)
			}
		}
	}
}

func goldenSnapshot(t *testing.T, dir, id string) *Snapshot {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, SnapshotDir, SnapshotPrefix+id))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSnapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// describe gives an entry in the form of expected.json.
func describe(t *testing.T, paths *PartitionPaths, e *ManifestEntry) goldenEntry {
	t.Helper()
	path, err := paths.Path(e.Partition)
	if err != nil {
		t.Fatal(err)
	}
	stats := func(s SimpleStats) *goldenStats {
		return &goldenStats{
			MinHex: hex.EncodeToString(s.Min.Serialized()), MaxHex: hex.EncodeToString(s.Max.Serialized()),
			NullCounts: s.NullCounts,
		}
	}
	g := goldenEntry{
		Kind: "ADD", PartitionHex: hex.EncodeToString(e.Partition.Serialized()), PartitionPath: path,
		Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, File: e.File.FileName, Size: e.File.FileSize,
		Rows: e.File.RowCount, Level: e.File.Level, MinSeq: e.File.MinSequenceNumber, MaxSeq: e.File.MaxSequenceNumber,
		SchemaID: e.File.SchemaID, DeleteRows: e.File.DeleteRowCount, ExtraFiles: append([]string{}, e.File.ExtraFiles...),
		StatsCols: e.File.ValueStatsCols, WriteCols: e.File.WriteCols, ExternalPath: e.File.ExternalPath,
		MinKeyHex: hex.EncodeToString(e.File.MinKey.Serialized()), MaxKeyHex: hex.EncodeToString(e.File.MaxKey.Serialized()),
		KeyStats: stats(e.File.KeyStats), ValueStats: stats(e.File.ValueStats),
	}
	if e.Kind == Remove {
		g.Kind = "DELETE"
	}
	if e.File.FileSource != nil {
		s := map[FileSource]string{SourceAppend: "APPEND", SourceCompact: "COMPACT"}[*e.File.FileSource]
		g.FileSource = &s
	}
	if e.File.CreationTimeMillis != nil {
		s := JavaDateTime(time.UnixMilli(*e.File.CreationTimeMillis).UTC())
		g.CreationTime = &s
	}
	return g
}

// A codec that reads what it wrote, and writes what Java wrote in content.
func TestManifestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, g := range goldenTables(t) {
		snaps, err := filepath.Glob(filepath.Join(g.dir, SnapshotDir, "snapshot-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range snaps {
			snap := goldenSnapshot(t, g.dir, strings.TrimPrefix(filepath.Base(file), SnapshotPrefix))
			metas, err := ReadManifestList(readGolden(t, g.dir, ManifestDir, snap.DeltaManifestList))
			if err != nil {
				t.Fatal(err)
			}
			b, err := WriteManifestList(metas)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ReadManifestList(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(metas, again); d != "" {
				t.Errorf("%s: manifest list changes:\n%s", name, d)
			}
			entries := readList(t, g.dir, snap.DeltaManifestList)
			if b, err = WriteManifest(entries); err != nil {
				t.Fatal(err)
			}
			entriesAgain, err := ReadManifest(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(entries, entriesAgain); d != "" {
				t.Errorf("%s: manifest changes:\n%s", name, d)
			}
		}
	}
	b, err := WriteManifestList(nil)
	if err != nil {
		t.Fatal(err)
	}
	if metas, err := ReadManifestList(b); err != nil || len(metas) != 0 {
		t.Errorf("empty list reads as %v, %v", metas, err)
	}
}

// Snapshot files come out byte by byte as Java writes them; schemas too, the order of options apart.
func TestGoldenJSON(t *testing.T) {
	t.Parallel()
	lines := func(b []byte) []string {
		s := strings.Split(string(b), "\n")
		for i := range s {
			s[i] = strings.TrimSuffix(s[i], ",")
		}
		slices.Sort(s)
		return s
	}
	for _, g := range goldenTables(t) {
		files, err := filepath.Glob(filepath.Join(g.dir, "*", "s[cn]*-*"))
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			want := readGolden(t, file)
			var got []byte
			if strings.HasPrefix(filepath.Base(file), SnapshotPrefix) {
				s, err := ParseSnapshot(want)
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if got, err = MarshalSnapshot(s); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, got) {
					t.Errorf("%s becomes\n%s", file, got)
				}
				continue
			}
			s, err := ParseSchema(want)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if got, err = MarshalSchema(s); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(lines(want), lines(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		}
	}
}

func TestCommitMessageJSON(t *testing.T) {
	t.Parallel()
	for name, g := range goldenTables(t) {
		for id := range g.DeltaFiles {
			snap := goldenSnapshot(t, g.dir, id)
			if snap == nil {
				continue
			}
			m := CommitMessage{Partition: EmptyRow(), Bucket: 3, TotalBuckets: 4}
			for _, e := range readList(t, g.dir, snap.DeltaManifestList) {
				m.Partition = e.Partition
				m.NewFiles = append(m.NewFiles, e.File)
			}
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var again CommitMessage
			if err := json.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, again); d != "" {
				t.Errorf("%s: message changes:\n%s", name, d)
			}
		}
	}
}
