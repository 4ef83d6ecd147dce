package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
	"leat/internal/fileio/open"
)

// Disposal says what became of a savepoint's tables.
type Disposal struct {
	Name string
	// Released are the tables whose tag is gone, Missing those that are not where
	// they were, or are others by now.
	Released, Missing []string
}

// Dispose deletes the savepoint at location with the tags that hold its tables.
// warehouse, if not empty, is where the tables are by now. It may be called again
// after any error: the tags go first, so that none is left without its savepoint.
func Dispose(ctx context.Context, location, warehouse, stateDir string, lake connect.Rewinder) (Disposal, error) {
	s, err := ReadSavepoint(ctx, location)
	if err != nil {
		return Disposal{}, err
	}
	d := Disposal{Name: s.Name}
	for _, uid := range slices.Sorted(maps.Keys(s.Tables)) {
		t := s.Tables[uid]
		place := t.Location
		if warehouse != "" && t.Relative != "" {
			fs, root, err := open.FromURL(warehouse)
			if err != nil {
				return d, err
			}
			place = fs.Join(root, t.Relative)
		}
		there, err := lake.Release(ctx, place, t.Held)
		switch {
		case err != nil:
			return d, fmt.Errorf("releasing table %s: %w", t.Name, err)
		case there:
			d.Released = append(d.Released, t.Name)
		default:
			d.Missing = append(d.Missing, t.Name)
		}
	}
	if len(d.Missing) > 0 && warehouse == "" {
		return d, &diag.Error{
			Domain: diag.User, Code: diag.CodeSavepoint, Table: d.Missing[0], Msg: "it is not where the savepoint knows it, so its tag cannot be deleted",
			Hint: "say where the warehouse is by now with --warehouse; tables that are not there either are then passed over",
		}
	}
	return d, removeSavepoint(ctx, s, stateDir)
}

func removeSavepoint(ctx context.Context, s *Savepoint, stateDir string) error {
	fs, path, err := open.FromURL(s.Path)
	if err != nil {
		return err
	}
	infos, err := fs.List(ctx, path)
	if err != nil {
		return fmt.Errorf("deleting savepoint %s: %w", path, err)
	}
	for _, i := range infos {
		if i.Name != SavepointMetadata {
			return &diag.Error{Domain: diag.Guard, Code: diag.CodeSavepoint, Msg: fmt.Sprintf("folder %s holds %s, which is not the savepoint's", path, i.Name), Hint: "move it away"}
		}
	}
	ref := filepath.Join(stateDir, "jobs", s.Key, "savepoints", s.Name+refSuffix)
	err = errors.Join(fs.RemoveAll(ctx, path), local.New().Remove(ctx, ref))
	if err != nil && !errors.Is(err, fileio.ErrNotExist) {
		return fmt.Errorf("deleting savepoint %s: %w", path, err)
	}
	return nil
}
