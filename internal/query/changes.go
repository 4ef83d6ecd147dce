package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// The options of reading changes; at most one of the first three may be given.
const (
	OptionBetween      = "incremental-between"
	OptionBetweenTimes = "incremental-between-timestamp"
	OptionToAutoTag    = "incremental-to-auto-tag"
	OptionBetweenMode  = "incremental-between-scan-mode"
)

var changeOptions = []string{OptionBetween, OptionBetweenTimes, OptionToAutoTag}

var changeModes = map[string]lakehouse.ChangeMode{
	"auto": lakehouse.ChangesAuto, "delta": lakehouse.ChangesDelta, "changelog": lakehouse.ChangesChangelog, "diff": lakehouse.ChangesDiff,
}

// between finds the changes that option key asks for.
func (s *Source) between(ctx context.Context, key string, options map[string]string, zone *time.Location) error {
	text := strings.ToLower(options[OptionBetweenMode])
	if text == "" {
		text = "auto"
	}
	mode, ok := changeModes[text]
	if !ok {
		return badOption(OptionBetweenMode, "'"+text+"' is no mode", "write auto, delta, changelog or diff")
	}
	var c *lakehouse.Changes
	var err error
	switch key {
	case OptionBetween:
		c, err = s.betweenStates(ctx, options[key], mode)
	case OptionBetweenTimes:
		c, err = s.betweenTimes(ctx, options[key], mode, zone)
	default:
		c, err = s.toAutoTag(ctx, options[key])
	}
	if err != nil {
		return inOption(err, key)
	}
	c.After = true
	s.changes = c
	return nil
}

func badOption(key, msg, hint string) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: key, Msg: msg, Hint: hint}
}

// pair takes a value of two parts apart.
func pair(key, value string) (from, to string, err error) {
	parts := strings.Split(value, ",")
	if len(parts) != 2 {
		return "", "", badOption(key, "'"+value+"' does not say from where, exclusive, to where", "write two of a kind, such as '5,10'")
	}
	return strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), nil
}

// betweenStates reads two tags, or else two snapshots.
func (s *Source) betweenStates(ctx context.Context, value string, mode lakehouse.ChangeMode) (*lakehouse.Changes, error) {
	from, to, err := pair(OptionBetween, value)
	if err != nil {
		return nil, err
	}
	start, tagErr := s.tag(ctx, from)
	end, tagErr2 := s.tag(ctx, to)
	if tagErr == nil && tagErr2 == nil {
		return betweenTags(from, to, start, end)
	}
	a, err := strconv.ParseInt(from, 10, 64)
	b, err2 := strconv.ParseInt(to, 10, 64)
	if err != nil || err2 != nil {
		e := badOption(OptionBetween, fmt.Sprintf("'%s' and '%s' are neither two tags nor two ids of snapshots", from, to), "see the system tables $tags and $snapshots")
		for _, err := range []error{tagErr, tagErr2} {
			var why *diag.Error
			if errors.As(err, &why) {
				e.Notes = append(e.Notes, why.Msg)
			}
		}
		return nil, e
	}
	if b < a {
		return nil, badOption(OptionBetween, fmt.Sprintf("snapshot %d comes before %d", b, a), "write the earlier one first")
	}
	ids, err := s.table.Snapshots().List(ctx)
	if err != nil {
		return nil, err
	}
	if a == b || len(ids) == 0 {
		return &lakehouse.Changes{}, nil
	}
	first, last := ids[0], ids[len(ids)-1]
	low := first - 1
	if mode == lakehouse.ChangesDiff {
		low = first // a state to compare with, not the one after it
	}
	if a < low && (a != 0 || first > 1) || b > last {
		e := badOption(OptionBetween, fmt.Sprintf("the changes after snapshot %d up to %d are not all there", a, b), "choose snapshots of the table, or tags")
		e.Notes = []string{fmt.Sprintf("snapshots: %d to %d", first, last)}
		return nil, e
	}
	return &lakehouse.Changes{From: a, To: b, Mode: mode}, nil
}

func betweenTags(from, to string, start, end *spec.Snapshot) (*lakehouse.Changes, error) {
	switch {
	case end.ID < start.ID:
		return nil, badOption(OptionBetween, fmt.Sprintf("tag %s (snapshot %d) is older than %s (snapshot %d)", to, end.ID, from, start.ID), "write the earlier one first")
	case end.ID == start.ID:
		return &lakehouse.Changes{}, nil
	default:
		return &lakehouse.Changes{Start: start, End: end, Mode: lakehouse.ChangesDiff}, nil
	}
}

// betweenTimes takes the changes of the snapshots made after one time and not
// after another; times are milliseconds, or as text in zone.
func (s *Source) betweenTimes(ctx context.Context, value string, mode lakehouse.ChangeMode, zone *time.Location) (*lakehouse.Changes, error) {
	from, to, err := pair(OptionBetweenTimes, value)
	if err != nil {
		return nil, err
	}
	var at [2]int64
	for i, text := range []string{from, to} {
		if at[i], err = strconv.ParseInt(text, 10, 64); err == nil {
			continue
		}
		t, err := ParseTime(text, zone)
		if err != nil {
			return nil, err
		}
		at[i] = t.UnixMilli()
	}
	if at[1] < at[0] {
		return nil, badOption(OptionBetweenTimes, "the second time is before the first", "write the earlier one first")
	}
	snaps := s.table.Snapshots()
	ids, err := snaps.List(ctx)
	if err != nil || len(ids) == 0 || at[0] == at[1] {
		return &lakehouse.Changes{}, err
	}
	first, err := snaps.Read(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	last, err := snaps.Read(ctx, ids[len(ids)-1])
	if err != nil {
		return nil, err
	}
	if at[0] > last.TimeMillis || at[1] < first.TimeMillis {
		return &lakehouse.Changes{}, nil
	}
	c := &lakehouse.Changes{From: first.ID - 1, Mode: mode}
	if at[0] >= first.TimeMillis {
		if c.From, err = idAt(ctx, snaps, at[0]); err != nil {
			return nil, err
		}
	} else if mode == lakehouse.ChangesDiff {
		c.From = first.ID // the earliest state there is
	}
	c.To, err = idAt(ctx, snaps, at[1])
	return c, err
}

func idAt(ctx context.Context, snaps *commit.Snapshots, millis int64) (int64, error) {
	s, err := maintain.SnapshotAt(ctx, snaps, time.UnixMilli(millis))
	if err != nil {
		return 0, err
	}
	return s.ID, nil
}

func (s *Source) toAutoTag(ctx context.Context, name string) (*lakehouse.Changes, error) {
	options := configs.Values{}
	for k, v := range s.table.Schema.Options {
		options[k] = configs.Value{Text: v}
	}
	before, tag, err := maintain.AutoTagBefore(ctx, s.table.FS, s.table.Home(), options, name)
	if err != nil || tag == nil {
		return &lakehouse.Changes{}, err
	}
	return &lakehouse.Changes{Start: before.Snapshot, End: tag.Snapshot, Mode: lakehouse.ChangesDiff}, nil
}

// readChanges gives the changes with all columns, none for the empty range.
func (s *Source) readChanges(ctx context.Context, each func(*columnar.Batch) error) error {
	if c := s.changes; c.From == 0 && c.To == 0 && c.End == nil {
		return nil
	}
	return s.table.ReadChanges(ctx, *s.changes, each)
}

// scanChanges gives the changes: those of the table without what they take
// back, those of $audit_log whole.
func (s *Source) scanChanges(ctx context.Context, used []int, each func(cols []arrow.Array, rows int) error) error {
	return s.readChanges(ctx, func(b *columnar.Batch) error {
		if s.rowKind {
			return s.withKinds(b, used, each)
		}
		cols := make([]arrow.Array, len(used))
		for i, c := range used {
			cols[i] = b.Cols[c]
		}
		if !slices.ContainsFunc(b.Kinds, columnar.RowKind.Retracts) {
			return each(cols, b.Rows())
		}
		keep := make([]bool, b.Rows())
		for i := range keep {
			keep[i] = !b.Kind(i).Retracts()
		}
		kept, n, err := pick(cols, keep)
		if err != nil {
			return err
		}
		defer release(kept)
		return each(kept, n)
	})
}

// withKinds gives the columns at used of s, whose first is the kind of the row.
func (s *Source) withKinds(b *columnar.Batch, used []int, each func(cols []arrow.Array, rows int) error) error {
	cols := make([]arrow.Array, len(used))
	for i, c := range used {
		if c > 0 {
			cols[i] = b.Cols[c-1]
			continue
		}
		kinds := kindColumn(b)
		defer kinds.Release()
		cols[i] = kinds
	}
	return each(cols, b.Rows())
}
