package lakehouse

import (
	"context"
	"errors"
	"fmt"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// Table is one table as its latest schema describes it. It is immutable; after
// a schema change it is opened again.
type Table struct {
	FS fileio.FS
	// Path is the table's directory in FS.
	Path   string
	Schema *spec.TableSchema
	// Options are Schema.Options, parsed.
	Options Options

	// home holds schemas, snapshots and tags: Path, or the directory of a branch.
	home      string
	paths     *spec.Layout
	snapshots *commit.Snapshots
	manifests *commit.Manifests
	schemas   schemaCache
	live      liveCache
}

// Open reads the latest schema of the table in directory path.
func Open(ctx context.Context, fs fileio.FS, path string) (*Table, error) {
	s, err := latestSchema(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	return newTable(fs, path, path, s)
}

func newTable(fs fileio.FS, path, home string, s *spec.TableSchema) (*Table, error) {
	o, err := parseOptions(path, s)
	if err != nil {
		return nil, err
	}
	return &Table{
		FS: fs, Path: path, Schema: s, Options: o, home: home, paths: spec.NewLayout(path, s, fs.Join),
		snapshots: commit.NewSnapshots(fs, home), manifests: commit.NewManifests(fs, path),
	}, nil
}

func latestSchema(ctx context.Context, fs fileio.FS, path string) (*spec.TableSchema, error) {
	infos, err := fs.List(ctx, fs.Join(path, spec.SchemaDir))
	if err != nil {
		return nil, fmt.Errorf("listing schemas of table %s: %w", path, err)
	}
	latest := int64(-1)
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix); ok {
			latest = max(latest, id)
		}
	}
	if latest < 0 {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeLakeMissing, Table: path, Msg: "there is no table in this directory",
			Hint: "check the warehouse and the table's name, or create the table",
		}
	}
	return readSchema(ctx, fs, path, latest)
}

func readSchema(ctx context.Context, fs fileio.FS, path string, id int64) (*spec.TableSchema, error) {
	name := fs.Join(path, spec.SchemaDir, spec.SchemaName(id))
	b, err := fs.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", name, err)
	}
	s, err := spec.ParseSchema(b)
	if err != nil {
		return nil, corrupt(name, err)
	}
	return s, nil
}

// corrupt marks the content of a file as what its format does not allow.
func corrupt(path string, err error) error {
	return &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt, Msg: fmt.Sprintf("file %s is damaged", path), Cause: err,
		Hint: "restore the file from a copy, or roll the table back to a snapshot without it",
	}
}

// Snapshot reads snapshot id; the error wraps fileio.ErrNotExist if there is none.
func (t *Table) Snapshot(ctx context.Context, id int64) (*spec.Snapshot, error) {
	s, err := t.snapshots.Read(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	return s, nil
}

// LatestSnapshot reads the newest snapshot; nil if the table has none yet.
func (t *Table) LatestSnapshot(ctx context.Context) (*spec.Snapshot, error) {
	for {
		id, err := t.snapshots.Latest(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
		}
		if id == 0 {
			return nil, nil //nolint:nilnil // a table without snapshot is no error
		}
		s, err := t.Snapshot(ctx, id)
		// An expiration may remove what was just found.
		if errors.Is(err, fileio.ErrNotExist) && ctx.Err() == nil {
			continue
		}
		return s, err
	}
}

// bucketID names a bucket of a table: partition bytes and bucket number.
type bucketID struct {
	partition string
	bucket    int32
}

func idOf(partition spec.BinaryRow, bucket int32) bucketID {
	return bucketID{partition: string(partition.Data), bucket: bucket}
}
