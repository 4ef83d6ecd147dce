package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// The options of time travel; at most one of pointOptions may be given.
const (
	OptionSnapshot  = "scan.snapshot-id"
	OptionTag       = "scan.tag-name"
	OptionTime      = "scan.timestamp"
	OptionMillis    = "scan.timestamp-millis"
	OptionWatermark = "scan.watermark"
	OptionVersion   = "scan.version"
	OptionMode      = "scan.mode"
	OptionBranch    = "branch"
)

var pointOptions = []string{OptionSnapshot, OptionTag, OptionTime, OptionMillis, OptionWatermark, OptionVersion, OptionSourceGTID, OptionSourcePosition}

// modes are the values of scan.mode for a read that ends, with the option each one needs.
var modes = map[string]string{
	"default": "", "latest-full": "", "full": "", "latest": "", "compacted-full": "",
	"from-timestamp": OptionTime, "from-snapshot": OptionSnapshot, "from-snapshot-full": OptionSnapshot, "incremental": OptionBetween,
}

// travel finds the snapshot that options ask for; false says that none was
// asked for and the latest is taken.
func (s *Source) travel(ctx context.Context, options map[string]string, zone *time.Location) (bool, error) {
	given := ""
	for _, key := range sortedKeys(options) {
		switch {
		case key == OptionMode || key == OptionBranch || key == OptionBetweenMode:
		case !slices.Contains(pointOptions, key) && !slices.Contains(changeOptions, key):
			return false, notReadable(key)
		case given != "":
			return false, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: key, Msg: "'" + given + "' says already what to read", Hint: "keep one of the two"}
		default:
			given = key
		}
	}
	mode := strings.ToLower(options[OptionMode])
	if mode == "" {
		mode = "default"
	}
	need, known := modes[mode]
	switch {
	case !known:
		return false, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: OptionMode, Msg: "'" + mode + "' cannot be read by a SELECT that ends", Hint: "leave it out, or write 'compacted-full'"}
	case need != "" && given == "":
		return false, &diag.Error{Domain: diag.User, Code: diag.CodeMissingOption, Option: need, Msg: "scan.mode '" + mode + "' needs it", Hint: "add '" + need + "' = '…'"}
	}
	if _, only := options[OptionBetweenMode]; only && !slices.Contains(changeOptions, given) {
		return false, badOption(OptionBetweenMode, "there is nothing that it is the mode of", "add '"+OptionBetween+"' = 'from,to'")
	}
	var err error
	switch {
	case slices.Contains(changeOptions, given):
		if s.Snapshot, err = s.table.LatestSnapshot(ctx); err != nil {
			return false, err
		}
		return false, s.between(ctx, given, options, zone)
	case given != "":
		s.Snapshot, err = s.point(ctx, given, options[given], zone)
	case mode == "compacted-full":
		s.Snapshot, err = s.compacted(ctx)
	default:
		s.Snapshot, err = s.table.LatestSnapshot(ctx)
		return false, err
	}
	return true, inOption(err, given)
}

func inOption(err error, option string) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Option == "" {
		c := *e
		c.Option = option
		return &c
	}
	return err
}

func notReadable(key string) error {
	all := append(slices.Concat(pointOptions, changeOptions), OptionBetweenMode, OptionMode, OptionBranch)
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownOption, Option: key, Msg: "a SELECT has no use for it", Notes: []string{"options: " + strings.Join(all, ", ")}, Hint: "leave it out"}
	if near := configs.Nearest(key, all); near != "" {
		e.Hint = "did you mean '" + near + "'?"
	}
	return e
}

func (s *Source) point(ctx context.Context, key, value string, zone *time.Location) (*spec.Snapshot, error) {
	number := func() (int64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: key, Msg: "'" + value + "' is no number", Hint: "write a number"}
		}
		return n, nil
	}
	snaps := s.table.Snapshots()
	switch key {
	case OptionTag:
		return s.tag(ctx, value)
	case OptionTime:
		at, err := ParseTime(value, zone)
		if err != nil {
			return nil, err
		}
		return maintain.SnapshotAt(ctx, snaps, at)
	case OptionVersion:
		return s.version(ctx, value)
	case OptionSourceGTID, OptionSourcePosition:
		return s.ofSource(ctx, key, value)
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	switch key {
	case OptionMillis:
		return maintain.SnapshotAt(ctx, snaps, time.UnixMilli(n).In(zone))
	case OptionWatermark:
		return maintain.SnapshotOfWatermark(ctx, snaps, n)
	default:
		return s.byID(ctx, n)
	}
}

func (s *Source) byID(ctx context.Context, id int64) (*spec.Snapshot, error) {
	snap, err := s.table.Snapshot(ctx, id)
	if !errors.Is(err, fileio.ErrNotExist) {
		return snap, err
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Table: s.Name, Msg: fmt.Sprintf("there is no snapshot %d", id), Hint: "see the system table $snapshots"}
	if ids, err := s.table.Snapshots().List(ctx); err == nil && len(ids) > 0 {
		e.Notes = []string{fmt.Sprintf("snapshots: %d to %d", ids[0], ids[len(ids)-1])}
	}
	return nil, e
}

func (s *Source) tag(ctx context.Context, name string) (*spec.Snapshot, error) {
	t, err := maintain.ReadTag(ctx, s.table.FS, s.table.Home(), name)
	if err != nil {
		return nil, err
	}
	return t.Snapshot, nil
}

// version is a tag if there is one of the name, then watermark-<n>, then a snapshot's id.
func (s *Source) version(ctx context.Context, value string) (*spec.Snapshot, error) {
	snap, err := s.tag(ctx, value)
	if err == nil {
		return snap, nil
	}
	if w, ok := strings.CutPrefix(value, "watermark-"); ok {
		if n, parseErr := strconv.ParseInt(w, 10, 64); parseErr == nil {
			return maintain.SnapshotOfWatermark(ctx, s.table.Snapshots(), n)
		}
	}
	if n, parseErr := strconv.ParseInt(value, 10, 64); parseErr == nil {
		return s.byID(ctx, n)
	}
	return nil, err
}

func (s *Source) compacted(ctx context.Context) (*spec.Snapshot, error) {
	ids, err := s.table.Snapshots().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		snap, err := s.table.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if snap.CommitKind == spec.Compact {
			return snap, nil
		}
	}
	return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Table: s.Name, Msg: "no snapshot is that of a compaction", Hint: "CALL sys.compact first, or leave scan.mode out"}
}

// timeForms are the forms of a time in options and procedures.
var timeForms = []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"}

// ParseTime reads a time as options and procedures write it, in zone.
func ParseTime(text string, zone *time.Location) (time.Time, error) {
	for _, f := range timeForms {
		if t, err := time.ParseInLocation(f, strings.TrimSpace(text), zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: "'" + text + "' is no time", Hint: "write yyyy-MM-dd HH:mm:ss"}
}
