package lakehouse

import (
	"context"

	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// OpenBranch opens a branch of the table in directory path: it has schemas,
// snapshots and tags of its own and shares data files and manifests. An empty
// branch is the table itself.
func OpenBranch(ctx context.Context, fs fileio.FS, path, branch string) (*Table, error) {
	home := spec.BranchPath(fs.Join, path, branch)
	s, err := latestSchema(ctx, fs, home)
	if err != nil {
		return nil, err
	}
	return newTable(fs, path, home, s)
}

// Home is the directory of the schemas, snapshots and tags: Path, or that of the branch.
func (t *Table) Home() string { return t.home }

// Snapshots finds the snapshots of the table or branch.
func (t *Table) Snapshots() *commit.Snapshots { return t.snapshots }

// Manifests reads manifests and manifest lists.
func (t *Table) Manifests() *commit.Manifests { return t.manifests }

// Layout computes where data files lie.
func (t *Table) Layout() *spec.Layout { return t.paths }

// SchemaOf gives the schema with that id.
func (t *Table) SchemaOf(ctx context.Context, id int64) (*spec.TableSchema, error) {
	return t.schemaOf(ctx, id)
}
