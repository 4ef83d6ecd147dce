package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Travel says which state of the table to read; the zero value is the latest.
// At most one field is set.
type Travel struct {
	// Snapshot is scan.snapshot-id.
	Snapshot int64
	// TimestampMillis is scan.timestamp-millis: the latest snapshot not made later.
	TimestampMillis *int64
	// Tag is scan.tag-name.
	Tag string
	// Watermark is scan.watermark: the first snapshot whose watermark is not below it.
	Watermark *int64
	// CompactedFull is scan.mode compacted-full: the latest COMPACT snapshot.
	CompactedFull bool
}

// Resolve finds the snapshot that v means; nil if the table has none and v is the latest.
func (t *Table) Resolve(ctx context.Context, v Travel) (*spec.Snapshot, error) {
	switch {
	case v.Snapshot != 0:
		return t.Snapshot(ctx, v.Snapshot)
	case v.Tag != "":
		return t.tag(ctx, v.Tag)
	case v.TimestampMillis != nil:
		return t.asOf(ctx, *v.TimestampMillis)
	case v.Watermark != nil:
		return t.atWatermark(ctx, *v.Watermark)
	case v.CompactedFull:
		return t.lastCompact(ctx)
	default:
		return t.LatestSnapshot(ctx)
	}
}

// noState says that there is no snapshot of the kind wanted.
func (t *Table) noState(option, msg string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeLakeMissing, Table: t.Path, Option: option, Msg: msg, Hint: "name a state that the table has kept"}
}

func (t *Table) tag(ctx context.Context, name string) (*spec.Snapshot, error) {
	if strings.ContainsAny(name, "/\\\x00") {
		return nil, t.noState("scan.tag-name", fmt.Sprintf("%q is no name of a tag", name))
	}
	path := t.FS.Join(t.home, spec.TagDir, spec.TagPrefix+name)
	b, err := t.FS.ReadFile(ctx, path)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, t.noState("scan.tag-name", fmt.Sprintf("there is no tag %s", name))
	}
	if err != nil {
		return nil, fmt.Errorf("reading tag %s: %w", path, err)
	}
	s, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, corrupt(path, err)
	}
	return s, nil
}

// kept gives the ids of the snapshots that the table has, none if it has none.
func (t *Table) kept(ctx context.Context) (first, last int64, err error) {
	if last, err = t.snapshots.Latest(ctx); err == nil {
		first, err = t.snapshots.Earliest(ctx)
	}
	if err != nil {
		return 0, -1, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	if last == 0 || first == 0 {
		return 0, -1, nil
	}
	return first, last, nil
}

func (t *Table) asOf(ctx context.Context, millis int64) (*spec.Snapshot, error) {
	first, last, err := t.kept(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	n := sort.Search(int(last-first+1), func(i int) bool {
		s, err := t.Snapshot(ctx, first+int64(i))
		failed = errors.Join(failed, err)
		return err == nil && s.TimeMillis > millis
	})
	switch {
	case failed != nil:
		return nil, failed
	case n == 0:
		return nil, t.noState("scan.timestamp-millis", fmt.Sprintf("there is no snapshot as old as %d", millis))
	default:
		return t.Snapshot(ctx, first+int64(n)-1)
	}
}

func (t *Table) atWatermark(ctx context.Context, watermark int64) (*spec.Snapshot, error) {
	first, last, err := t.kept(ctx)
	if err != nil {
		return nil, err
	}
	for id := first; id <= last; id++ {
		s, err := t.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if s.Watermark != nil && *s.Watermark >= watermark {
			return s, nil
		}
	}
	return nil, t.noState("scan.watermark", fmt.Sprintf("no snapshot has a watermark from %d on", watermark))
}

func (t *Table) lastCompact(ctx context.Context) (*spec.Snapshot, error) {
	first, last, err := t.kept(ctx)
	if err != nil {
		return nil, err
	}
	for id := last; id >= first && id > 0; id-- {
		s, err := t.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if s.CommitKind == spec.Compact {
			return s, nil
		}
	}
	return nil, t.noState("scan.mode", "no compaction has been committed")
}
