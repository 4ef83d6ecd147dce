package paimon

import (
	"context"
	"errors"

	"leat/internal/connect"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

var _ connect.Author = (*Connector)(nil)

// lookedAt bounds how many snapshots LastJob reads: those of others on top are few.
const lookedAt = 50

// LastJob reads the properties of the newest snapshots. What was overwritten
// since counts for nothing.
func (*Connector) LastJob(ctx context.Context, t *connect.Table) (job, checkpoint string, err error) {
	fs, path, err := open.FromURL(t.Location)
	if err != nil {
		return "", "", err
	}
	snaps := commit.NewSnapshots(fs, path)
	latest, err := snaps.Latest(ctx)
	if err != nil {
		return "", "", err
	}
	for id := latest; id > 0 && id > latest-lookedAt; id-- {
		s, err := snaps.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			break
		}
		if err != nil {
			return "", "", err
		}
		if name := s.Properties["leat.job"]; name != "" {
			return name, s.Properties["leat.checkpoint"], nil
		}
		if s.CommitKind == spec.Overwrite {
			break
		}
	}
	return "", "", nil
}
