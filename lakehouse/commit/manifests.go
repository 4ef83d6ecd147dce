package commit

import (
	"context"
	"fmt"
	"slices"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Manifests reads the manifests and manifest lists of one table.
type Manifests struct {
	fs  fileio.FS
	dir string
}

// NewManifests looks at the table at tablePath; no I/O.
func NewManifests(fs fileio.FS, tablePath string) *Manifests {
	return &Manifests{fs: fs, dir: fs.Join(tablePath, spec.ManifestDir)}
}

// Path gives the path of a manifest or manifest list.
func (m *Manifests) Path(name string) string { return m.fs.Join(m.dir, name) }

// List reads a manifest list.
func (m *Manifests) List(ctx context.Context, name string) ([]spec.ManifestFileMeta, error) {
	b, err := m.fs.ReadFile(ctx, m.Path(name))
	if err != nil {
		return nil, fmt.Errorf("reading manifest list: %w", err)
	}
	if b, err = inAvro(b, m.Path(name), listColumns); err != nil {
		return nil, err
	}
	metas, err := spec.ReadManifestList(b)
	if err != nil {
		return nil, corrupt(m.Path(name), err)
	}
	return metas, nil
}

// Entries reads one manifest.
func (m *Manifests) Entries(ctx context.Context, name string) ([]spec.ManifestEntry, error) {
	b, err := m.fs.ReadFile(ctx, m.Path(name))
	if err != nil {
		return nil, fmt.Errorf("reading manifest: %w", err)
	}
	if b, err = inAvro(b, m.Path(name), entryColumns); err != nil {
		return nil, err
	}
	entries, err := spec.ReadManifest(b)
	if err != nil {
		return nil, corrupt(m.Path(name), err)
	}
	return entries, nil
}

// Index gives the live index files of a snapshot; none if it names no index manifest.
func (m *Manifests) Index(ctx context.Context, s *spec.Snapshot) ([]spec.IndexManifestEntry, error) {
	if s == nil || s.IndexManifest == nil {
		return nil, nil
	}
	path := m.Path(*s.IndexManifest)
	b, err := m.fs.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading index manifest: %w", err)
	}
	if b, err = inAvro(b, path, indexColumns); err != nil {
		return nil, err
	}
	entries, err := spec.ReadIndexManifest(b)
	if err != nil {
		return nil, corrupt(path, err)
	}
	return entries, nil
}

// All gives the manifests of a snapshot in order: base list, then delta list.
func (m *Manifests) All(ctx context.Context, s *spec.Snapshot) ([]spec.ManifestFileMeta, error) {
	base, err := m.List(ctx, s.BaseManifestList)
	if err != nil {
		return nil, err
	}
	delta, err := m.List(ctx, s.DeltaManifestList)
	if err != nil {
		return nil, err
	}
	return append(base, delta...), nil
}

// Read gives the entries of manifests in order.
func (m *Manifests) Read(ctx context.Context, metas []spec.ManifestFileMeta) ([]spec.ManifestEntry, error) {
	var out []spec.ManifestEntry
	for i := range metas {
		entries, err := m.Entries(ctx, metas[i].FileName)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = entries
		} else {
			out = append(out, entries...)
		}
	}
	return out, nil
}

// Delta gives the entries that a snapshot added.
func (m *Manifests) Delta(ctx context.Context, s *spec.Snapshot) ([]spec.ManifestEntry, error) {
	metas, err := m.List(ctx, s.DeltaManifestList)
	if err != nil {
		return nil, err
	}
	return m.Read(ctx, metas)
}

// Live gives the entries of the files that are live at a snapshot, in the order they were added.
func (m *Manifests) Live(ctx context.Context, s *spec.Snapshot) ([]spec.ManifestEntry, error) {
	return m.LiveIn(ctx, s, nil, nil)
}

// LiveIn is Live of the partitions for which in holds; a manifest for which may
// is false is not read, as it holds none of them. nil takes all.
func (m *Manifests) LiveIn(ctx context.Context, s *spec.Snapshot, may func(*spec.ManifestFileMeta) bool, in func(partition spec.BinaryRow) bool) ([]spec.ManifestEntry, error) {
	metas, err := m.All(ctx, s)
	if err != nil {
		return nil, err
	}
	var entries []spec.ManifestEntry
	for i := range metas {
		if may != nil && !may(&metas[i]) {
			continue
		}
		more, err := m.Entries(ctx, metas[i].FileName)
		if err != nil {
			return nil, err
		}
		if in != nil {
			more = slices.DeleteFunc(more, func(e spec.ManifestEntry) bool { return !in(e.Partition) })
		}
		entries = append(entries, more...)
	}
	out := cancel(entries)
	for i := range out {
		if out[i].Kind == spec.Remove {
			return nil, corrupt(m.Path(s.BaseManifestList),
				fmt.Errorf("snapshot %d deletes file %s, which it does not hold", s.ID, out[i].File.FileName))
		}
	}
	return out, nil
}

// cancel drops the pairs of an added and then deleted file; what is left keeps its order.
func cancel(entries []spec.ManifestEntry) []spec.ManifestEntry {
	at := make(map[string]int, len(entries))
	gone := make([]bool, len(entries))
	kept := len(entries)
	for i := range entries {
		key := identity(&entries[i])
		if j, ok := at[key]; ok && entries[i].Kind == spec.Remove && entries[j].Kind == spec.Add {
			gone[i], gone[j] = true, true
			kept -= 2
			delete(at, key)
			continue
		}
		at[key] = i
	}
	out := make([]spec.ManifestEntry, 0, kept)
	for i := range entries {
		if !gone[i] {
			out = append(out, entries[i])
		}
	}
	return out
}
