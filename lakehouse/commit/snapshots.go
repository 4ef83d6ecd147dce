package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Snapshots finds and reads the snapshots of one table (or branch).
type Snapshots struct {
	fs  fileio.FS
	dir string
}

// NewSnapshots looks at the table at tablePath; no I/O.
func NewSnapshots(fs fileio.FS, tablePath string) *Snapshots {
	return &Snapshots{fs: fs, dir: fs.Join(tablePath, spec.SnapshotDir)}
}

// Path gives the path of a snapshot file.
func (s *Snapshots) Path(id int64) string { return s.fs.Join(s.dir, spec.SnapshotName(id)) }

// Latest gives the greatest snapshot id, 0 if there is none. The hint file is
// only a hint: where it is behind, as ids have no gaps, the end is searched from
// there; where it names a snapshot that is not there, all are listed.
func (s *Snapshots) Latest(ctx context.Context) (int64, error) {
	if h := s.hint(ctx, spec.LatestHint); h > 0 {
		last, err := s.lastFrom(ctx, h)
		if err != nil || last > 0 {
			return last, err
		}
	}
	ids, err := s.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// lastFrom gives the end of the run of ids that begins at id; 0 if id or its end
// is not there. The end is looked for in growing steps and then by halves.
func (s *Snapshots) lastFrom(ctx context.Context, id int64) (int64, error) {
	here, gone, step := id, id+1, int64(1)
	for {
		there, err := s.exists(ctx, gone)
		if err != nil {
			return 0, err
		}
		if !there {
			break
		}
		here, step = gone, 2*step
		gone = here + step
	}
	for gone-here > 1 {
		middle := here + (gone-here)/2
		there, err := s.exists(ctx, middle)
		if err != nil {
			return 0, err
		}
		if there {
			here = middle
		} else {
			gone = middle
		}
	}
	// An expiration beside the search may have passed it by.
	there, err := s.exists(ctx, here)
	if err != nil || !there {
		return 0, err
	}
	return here, nil
}

// Earliest gives the smallest snapshot id, 0 if there is none.
func (s *Snapshots) Earliest(ctx context.Context) (int64, error) {
	if h := s.hint(ctx, spec.EarliestHint); h > 0 {
		if here, err := s.exists(ctx, h); err != nil || here {
			return h, err
		}
	}
	ids, err := s.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// List gives all snapshot ids in order.
func (s *Snapshots) List(ctx context.Context) ([]int64, error) {
	infos, err := s.fs.List(ctx, s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	var ids []int64
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SnapshotPrefix); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Read reads one snapshot; a missing one is fileio.ErrNotExist.
func (s *Snapshots) Read(ctx context.Context, id int64) (*spec.Snapshot, error) {
	snap, _, err := s.read(ctx, id)
	return snap, err
}

func (s *Snapshots) read(ctx context.Context, id int64) (*spec.Snapshot, []byte, error) {
	b, err := s.fs.ReadFile(ctx, s.Path(id))
	if err != nil {
		return nil, nil, fmt.Errorf("reading snapshot %d: %w", id, err)
	}
	snap, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, nil, corrupt(s.Path(id), err)
	}
	return snap, b, nil
}

func (s *Snapshots) exists(ctx context.Context, id int64) (bool, error) {
	_, err := s.fs.Stat(ctx, s.Path(id))
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for snapshot %d: %w", id, err)
	}
	return true, nil
}

// hint reads a hint file; 0 if there is none or it says nothing.
func (s *Snapshots) hint(ctx context.Context, name string) int64 {
	b, err := s.fs.ReadFile(ctx, s.fs.Join(s.dir, name))
	if err != nil {
		return 0
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// WriteHint replaces a hint file (spec.LatestHint or spec.EarliestHint).
func (s *Snapshots) WriteHint(ctx context.Context, name string, id int64) error {
	return s.fs.Replace(ctx, s.fs.Join(s.dir, name), []byte(strconv.FormatInt(id, 10)))
}

// proposeHint is WriteHint for a hint that may be lost with the power.
func (s *Snapshots) proposeHint(ctx context.Context, name string, id int64) error {
	return fileio.ReplaceHint(ctx, s.fs, s.fs.Join(s.dir, name), []byte(strconv.FormatInt(id, 10)))
}

// corrupt is the error for a file that cannot be what its format says.
func corrupt(path string, err error) error {
	return &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt, Msg: "file " + path + " cannot be read", Cause: err,
		Hint: "restore the file, or roll the table back to a snapshot before it",
	}
}
