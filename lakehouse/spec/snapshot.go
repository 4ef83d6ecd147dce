package spec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// SnapshotVersion is the version of snapshot files that leat writes.
const SnapshotVersion = 3

// MarshalSnapshot gives the content of snapshot/snapshot-<id>.
func MarshalSnapshot(s *Snapshot) ([]byte, error) {
	c := *s
	c.Version = SnapshotVersion
	if c.LogOffsets == nil {
		c.LogOffsets = map[string]int64{}
	}
	return encodeJSON(&c)
}

// ParseSnapshot reads a snapshot file, or a tag file (whose further fields it ignores).
func ParseSnapshot(b []byte) (*Snapshot, error) {
	s := Snapshot{Version: 1}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("reading snapshot: %w", err)
	}
	if s.Version < 1 || s.Version > SnapshotVersion {
		return nil, fmt.Errorf("reading snapshot %d: version %d is unknown", s.ID, s.Version)
	}
	if s.ID < 1 || s.BaseManifestList == "" || s.DeltaManifestList == "" || s.CommitKind == "" {
		return nil, fmt.Errorf("reading snapshot %d: a field is missing", s.ID)
	}
	names := []string{s.BaseManifestList, s.DeltaManifestList}
	for _, p := range []*string{s.ChangelogManifestList, s.IndexManifest, s.Statistics} {
		if p != nil {
			names = append(names, *p)
		}
	}
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, fmt.Errorf("reading snapshot %d: %w", s.ID, err)
		}
	}
	return &s, nil
}

// checkName refuses names that would lead out of their directory.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%q is no file name", name)
	}
	return nil
}
