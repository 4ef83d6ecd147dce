package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// alterTries bounds the lost races of one change.
const alterTries = 20

// AlterTable applies changes to a table as one new schema. When another writer
// makes a schema first, the changes are checked against that one and tried again.
func (c *FileSystem) AlterTable(ctx context.Context, id Identifier, changes []SchemaChange, o AlterOptions) (*spec.TableSchema, error) {
	for range alterTries {
		old, path, err := c.Table(ctx, id)
		if err != nil {
			return nil, err
		}
		if o.HasSnapshots, err = c.HasSnapshots(ctx, id); err != nil {
			return nil, err
		}
		next, err := Alter(old, changes, o)
		if err != nil {
			return nil, inTable(err, id)
		}
		if next == nil {
			return old, nil
		}
		next.TimeMillis = max(time.Now().UnixMilli(), old.TimeMillis)
		done, err := c.createSchema(ctx, path, next)
		if err != nil {
			return nil, fmt.Errorf("changing table %s: %w", id, err)
		}
		if done {
			return next, nil
		}
	}
	return nil, &diag.Error{
		Domain: diag.External, Code: diag.CodeLakeConflict, Table: id.String(), Retry: true,
		Msg: fmt.Sprintf("%d tries to change it were lost to other writers", alterTries), Hint: "try again, or let fewer writers change the table",
	}
}

// createSchema publishes a schema; false says that its id is taken.
func (c *FileSystem) createSchema(ctx context.Context, path string, s *spec.TableSchema) (bool, error) {
	content, err := spec.MarshalSchema(s)
	if err != nil {
		return false, err
	}
	name := c.fs.Join(path, spec.SchemaDir, spec.SchemaName(s.ID))
	err = c.fs.CreateExclusive(ctx, name, content)
	switch {
	case err == nil:
		return c.staysThere(ctx, name, content)
	case errors.Is(err, fileio.ErrExist):
		return false, nil
	}
	// The answer may be lost, not the file: look before giving up.
	if b, readErr := c.fs.ReadFile(ctx, name); readErr == nil {
		return string(b) == string(content), nil
	}
	return false, err
}

// settleTime is how long a writer that looks first and moves its file then, as
// Paimon does on a local disk, may take between the two.
const settleTime = 20 * time.Millisecond

// staysThere looks again at a schema just made: a writer that found the place
// free before may have moved its own there.
func (c *FileSystem) staysThere(ctx context.Context, name string, content []byte) (bool, error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(settleTime):
	}
	b, err := c.fs.ReadFile(ctx, name)
	if errors.Is(err, fileio.ErrNotExist) {
		return true, nil // the table was dropped or renamed meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("reading %s again: %w", name, err)
	}
	return string(b) == string(content), nil
}

// HasSnapshots reports whether a table has data.
func (c *FileSystem) HasSnapshots(ctx context.Context, id Identifier) (bool, error) {
	infos, err := c.fs.List(ctx, c.fs.Join(c.TablePath(id), spec.SnapshotDir))
	if err != nil {
		return false, fmt.Errorf("listing snapshots of %s: %w", id, err)
	}
	return slices.ContainsFunc(infos, func(i fileio.Info) bool {
		_, ok := spec.ParseNumbered(i.Name, spec.SnapshotPrefix)
		return ok
	}), nil
}
