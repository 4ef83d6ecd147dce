package procedure

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// tagRow is what procedures give that make a tag of a moment.
var tagRow = []columnar.Field{
	{Name: "tagName", Type: columnar.StringType()},
	{Name: "snapshot", Type: columnar.Of(columnar.BigInt)},
	{Name: "commit_time", Type: columnar.Of(columnar.BigInt)},
	{Name: "watermark", Type: columnar.StringType()},
}

// onTable runs f on the table of the call and says Success.
func (x *execution) onTable(ctx context.Context, f func(t *target) error) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	if err := f(t); err != nil {
		return err
	}
	x.out.Text("Success")
	return nil
}

func expireSnapshots(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	if err := x.withOptions(t, "options"); err != nil {
		return err
	}
	o := maintain.ExpireOptions{
		RetainMin: x.Number("retain_min", configs.RetainMin.Get(t.options)), RetainMax: x.Number("retain_max", configs.RetainMax.Get(t.options)),
		RetainTime: configs.RetainTime.Get(t.options), Limit: x.Number("max_deletes", configs.ExpireLimit.Get(t.options)),
		CleanEmptyDirs: configs.CleanEmpty.Get(t.options), Now: x.env.Now,
	}
	switch {
	case o.RetainMin < 1:
		return x.wrong("retain_min", "it is at least 1", "write a number from 1 on")
	case o.RetainMax < o.RetainMin:
		return x.wrong("retain_max", fmt.Sprintf("%d is less than retain_min (%d)", o.RetainMax, o.RetainMin), "give retain_min too, or a larger retain_max")
	}
	if x.Has("older_than") {
		at, err := x.time("older_than")
		if err != nil {
			return err
		}
		o.RetainTime = o.Now().Sub(at)
	}
	done, err := maintain.ExpireSnapshots(ctx, x.env.FS, t.path, o)
	if err != nil {
		return err
	}
	x.out.Long(done.Snapshots())
	return nil
}

func expireChangelogs(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	number := func(key string, def int64) int64 {
		if v, err := configs.ParseInt(t.schema.Options[key]); err == nil {
			return v
		}
		return def
	}
	retain := configs.RetainTime.Get(t.options)
	if d, err := configs.ParseDuration(t.schema.Options["changelog.time-retained"]); err == nil {
		retain = d
	}
	o := maintain.ChangelogExpiry{
		RetainMin: x.Number("retain_min", number("changelog.num-retained.min", configs.RetainMin.Get(t.options))),
		RetainMax: x.Number("retain_max", number("changelog.num-retained.max", configs.RetainMax.Get(t.options))),
		OlderThan: x.env.Now().Add(-retain), Limit: x.Number("max_deletes", 0), All: x.Bool("delete_all", false),
	}
	if x.Has("older_than") {
		if o.OlderThan, err = x.time("older_than"); err != nil {
			return err
		}
	}
	if o.RetainMax < o.RetainMin {
		return x.wrong("retain_max", fmt.Sprintf("%d is less than retain_min (%d)", o.RetainMax, o.RetainMin), "give retain_min too, or a larger retain_max")
	}
	n, err := maintain.ExpireChangelogs(ctx, x.env.FS, t.path, o)
	if err != nil {
		return err
	}
	x.out.Long(int64(n))
	return nil
}

func (x *execution) makeTag(ctx context.Context, t *target, snapshot int64, replace bool) error {
	kept, err := x.duration("time_retained")
	if err != nil {
		return err
	}
	if !x.Has("time_retained") {
		if d, err := configs.ParseDuration(t.schema.Options["tag.default-time-retained"]); err == nil {
			kept = d
		}
	}
	return maintain.CreateTag(ctx, x.env.FS, t.path, maintain.TagOptions{Name: x.Text("tag"), Snapshot: snapshot, Retained: kept, Replace: replace, Now: x.env.Now()})
}

func createTag(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error { return x.makeTag(ctx, t, x.Number("snapshot_id", 0), false) })
}

func replaceTag(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error { return x.makeTag(ctx, t, x.Number("snapshot_id", 0), true) })
}

func deleteTag(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		for name := range strings.SplitSeq(x.Text("tag"), ",") {
			if err := maintain.DeleteTag(ctx, x.env.FS, t.path, strings.TrimSpace(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func renameTag(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		return maintain.RenameTag(ctx, x.env.FS, t.path, x.Text("tagName"), x.Text("targetTagName"))
	})
}

func expireTags(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	var older time.Time
	if x.Has("older_than") {
		if older, err = x.time("older_than"); err != nil {
			return err
		}
	}
	gone, err := maintain.ExpireTags(ctx, x.env.FS, t.path, x.env.Now(), older)
	for _, name := range gone {
		x.out.Text(name)
	}
	return err
}

// tagOf makes a tag on a snapshot and gives it as a row.
func (x *execution) tagOf(ctx context.Context, t *target, s *spec.Snapshot, err error) error {
	if err == nil {
		err = x.makeTag(ctx, t, s.ID, false)
	}
	if err != nil {
		return err
	}
	x.out.Text(x.Text("tag")).Long(s.ID).Long(s.TimeMillis)
	if s.Watermark == nil {
		x.out.Null()
		return nil
	}
	x.out.Text(strconv.FormatInt(*s.Watermark, 10))
	return nil
}

func tagFromTimestamp(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	at, err := x.moment("timestamp")
	if err != nil {
		return err
	}
	// The first snapshot at or after the time, as Paimon takes it.
	snaps := commit.NewSnapshots(x.env.FS, t.path)
	ids, err := snaps.List(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			return err
		}
		if s.TimeMillis >= at.UnixMilli() {
			return x.tagOf(ctx, t, s, nil)
		}
	}
	return x.wrong("timestamp", "no snapshot was made then or later", "choose an earlier time")
}

// moment reads a time, or epoch milliseconds.
func (x *execution) moment(name string) (time.Time, error) {
	if n := x.Number(name, -1); n >= 0 {
		return time.UnixMilli(n).In(x.env.Zone), nil
	}
	return x.time(name)
}

func tagFromWatermark(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	s, err := maintain.SnapshotOfWatermark(ctx, commit.NewSnapshots(x.env.FS, t.path), x.Number("watermark", 0))
	return x.tagOf(ctx, t, s, err)
}

func (x *execution) rolledBack(previous, current int64, err error) error {
	if err == nil {
		x.out.Long(previous).Long(current)
	}
	return err
}

func (x *execution) oneOf(a, b string) error {
	if x.Has(a) != x.Has(b) {
		return nil
	}
	return x.wrong(a, "either "+a+" or "+b+" says where to", "give one of the two")
}

func rollbackTo(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	if err := x.oneOf("tag", "snapshot_id"); err != nil {
		return err
	}
	return x.rolledBack(maintain.Rollback(ctx, x.env.FS, t.path, x.Number("snapshot_id", 0), x.Text("tag")))
}

func rollbackAsLatest(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	if err := x.oneOf("tag", "snapshot_id"); err != nil {
		return err
	}
	previous, target, current, err := maintain.RollbackAsLatest(ctx, x.env.FS, t.path, x.Number("snapshot_id", 0), x.Text("tag"))
	if err != nil {
		return err
	}
	x.out.Long(previous).Long(target).Long(current)
	return nil
}

func rollbackToTimestamp(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	at, err := x.moment("timestamp")
	if err != nil {
		return err
	}
	s, err := maintain.SnapshotAt(ctx, commit.NewSnapshots(x.env.FS, t.path), at)
	if err != nil {
		return err
	}
	return x.rolledBack(maintain.Rollback(ctx, x.env.FS, t.path, s.ID, ""))
}

func rollbackToWatermark(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	// The newest snapshot whose watermark does not pass the one given.
	snaps := commit.NewSnapshots(x.env.FS, t.path)
	ids, err := snaps.List(ctx)
	if err != nil {
		return err
	}
	found := int64(0)
	for _, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			return err
		}
		if s.Watermark != nil && *s.Watermark <= x.Number("watermark", 0) {
			found = id
		}
	}
	if found == 0 {
		return x.wrong("watermark", "no snapshot has a watermark up to it", "see the column watermark of the system table $snapshots")
	}
	return x.rolledBack(maintain.Rollback(ctx, x.env.FS, t.path, found, ""))
}

func createBranch(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		err := maintain.CreateBranch(ctx, x.env.FS, t.path, x.Text("branch"), x.Text("tag"))
		var e *diag.Error
		if x.Bool("ignoreIfExists", false) && asDiag(err, &e) && e.Code == diag.CodeExists {
			return nil
		}
		return err
	})
}

func deleteBranch(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		for name := range strings.SplitSeq(x.Text("branch"), ",") {
			if err := maintain.DeleteBranch(ctx, x.env.FS, t.path, strings.TrimSpace(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func renameBranch(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		return maintain.RenameBranch(ctx, x.env.FS, t.path, x.Text("from_branch"), x.Text("to_branch"))
	})
}

func fastForward(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error { return maintain.FastForward(ctx, x.env.FS, t.path, x.Text("branch")) })
}

func resetConsumer(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		if !x.Has("next_snapshot_id") {
			return maintain.DeleteConsumer(ctx, x.env.FS, t.path, x.Text("consumer_id"))
		}
		return maintain.ResetConsumer(ctx, x.env.FS, t.path, x.Text("consumer_id"), x.Number("next_snapshot_id", 0))
	})
}

func clearConsumers(ctx context.Context, x *execution) error {
	including, err := x.pattern("including_consumers", ".*")
	if err != nil {
		return err
	}
	excluding, err := x.pattern("excluding_consumers", "")
	if err != nil {
		return err
	}
	return x.onTable(ctx, func(t *target) error {
		all, err := maintain.Consumers(ctx, x.env.FS, t.path)
		if err != nil {
			return err
		}
		for _, c := range all {
			if !including.MatchString(c.ID) || x.Has("excluding_consumers") && excluding.MatchString(c.ID) {
				continue
			}
			if err := maintain.DeleteConsumer(ctx, x.env.FS, t.path, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// pattern reads a regular expression that has to match a whole name.
func (x *execution) pattern(name, def string) (*regexp.Regexp, error) {
	text := def
	if x.Has(name) {
		text = x.Text(name)
	}
	re, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, x.wrong(name, err.Error(), "write a regular expression")
	}
	return re, nil
}

func alterDefault(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		value := x.Text("default_value")
		change := catalog.DefaultColumn{Path: strings.Split(x.Text("column"), "."), Value: &value}
		_, err := x.env.Catalog.AlterTable(ctx, t.id, []catalog.SchemaChange{change}, catalog.AlterOptions{})
		return err
	})
}
