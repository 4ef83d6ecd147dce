package maintain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/fileio"
)

// TagName gives the name of the tag for the period that was completed last at
// now, as options say: 2026-02-28, or 2026-02-28 13 for hours.
func TagName(options configs.Values, now time.Time) string {
	now = now.Add(-configs.TagDelay.Get(options))
	day, hour := "2006-01-02", "2006-01-02 15"
	switch configs.TagFormatter.Get(options) {
	case "without_dashes":
		day, hour = "20060102", "20060102 15"
	case "without_dashes_and_spaces":
		day, hour = "20060102", "2006010215"
	}
	start := time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), 0, 0, 0, now.Location())
	switch configs.TagPeriod.Get(options) {
	case "hourly":
		return start.Add(-time.Hour).Format(hour)
	case "two-hours":
		return start.Add(-time.Duration(start.Hour()%2+2) * time.Hour).Format(hour)
	default:
		return now.AddDate(0, 0, -1).Format(day)
	}
}

// isPeriod reports whether a tag has the name of a period.
func isPeriod(options configs.Values, name string) bool {
	for _, form := range []string{"2006-01-02", "2006-01-02 15", "20060102", "20060102 15", "2006010215"} {
		if at, err := time.Parse(form, name); err == nil {
			// The name is that of its own period, so one later it is the completed one.
			after := map[string]time.Duration{"hourly": time.Hour, "two-hours": 2 * time.Hour, "daily": 24 * time.Hour}[configs.TagPeriod.Get(options)]
			return TagName(options, at.Add(after+configs.TagDelay.Get(options))) == name
		}
	}
	return false
}

// AutoTag makes the tag of the period that was completed last unless it is
// there, and deletes the oldest of such tags beyond tag.num-retained-max. It
// gives the name of a tag that it made.
func AutoTag(ctx context.Context, fs fileio.FS, path string, options configs.Values, now time.Time) (string, error) {
	tags, err := Tags(ctx, fs, path)
	if err != nil {
		return "", err
	}
	name := TagName(options, now)
	made := ""
	if !slices.ContainsFunc(tags, func(t Tag) bool { return t.Name == name }) {
		o := TagOptions{Name: name, Retained: configs.TagRetained.Get(options), Now: now}
		if err := CreateTag(ctx, fs, path, o); err != nil {
			return "", err
		}
		made = name
	}
	most := int(configs.TagMax.Get(options))
	if most <= 0 {
		return made, nil
	}
	var own []string
	for i := range tags {
		if isPeriod(options, tags[i].Name) && tags[i].Name != name {
			own = append(own, tags[i].Name)
		}
	}
	slices.Sort(own)
	for len(own)+1 > most {
		if err := DeleteTag(ctx, fs, path, own[0]); err != nil {
			return made, err
		}
		own = own[1:]
	}
	return made, nil
}

// Upkeep is the order of work after a commit besides snapshots: consumers,
// partitions, tags made by themselves, tags whose time is over. A table whose
// options ask for nothing costs a look for tags.
type Upkeep struct {
	FS      fileio.FS
	Path    string
	Options configs.Values
	// partitionsAt is when partitions were looked at last.
	partitionsAt time.Time
}

// Run does what is due at now.
func (u *Upkeep) Run(ctx context.Context, now time.Time) error {
	if age := configs.ConsumerExpiry.Get(u.Options); age > 0 {
		if _, err := ExpireConsumers(ctx, u.FS, u.Path, now.Add(-age)); err != nil {
			return fmt.Errorf("expiring consumers of %s: %w", u.Path, err)
		}
	}
	if age := configs.PartitionExpiry.Get(u.Options); age > 0 && now.Sub(u.partitionsAt) >= configs.PartitionCheck.Get(u.Options) {
		u.partitionsAt = now
		o := PartitionExpiry{
			Before: now.Add(-age), ByUpdate: configs.PartitionStrategy.Get(u.Options) == "update-time",
			Pattern: configs.PartitionPattern.Get(u.Options), Formatter: configs.PartitionFormatter.Get(u.Options),
		}
		if _, err := ExpirePartitions(ctx, u.FS, u.Path, o); err != nil {
			return fmt.Errorf("expiring partitions of %s: %w", u.Path, err)
		}
	}
	if configs.TagCreation.Get(u.Options) == "process-time" {
		if _, err := AutoTag(ctx, u.FS, u.Path, u.Options, now); err != nil {
			return fmt.Errorf("making tags of %s: %w", u.Path, err)
		}
	}
	if _, err := ExpireTags(ctx, u.FS, u.Path, now, time.Time{}); err != nil {
		return fmt.Errorf("expiring tags of %s: %w", u.Path, err)
	}
	return nil
}

// AutoTagBefore gives the tag called name, which has to be one that is made by
// itself, and the one of the latest period before; both nil if either is not there.
func AutoTagBefore(ctx context.Context, fs fileio.FS, home string, options configs.Values, name string) (before, tag *Tag, err error) {
	if !isPeriod(options, name) {
		return nil, nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Msg: "'" + name + "' is not the name of a tag that is made by itself",
			Hint: "write one such as " + TagName(options, time.Now()) + ", or use 'incremental-between' with two tags",
		}
	}
	tags, err := Tags(ctx, fs, home)
	if err != nil {
		return nil, nil, err
	}
	for i := range tags {
		t := &tags[i]
		switch {
		case t.Name == name:
			tag = t
		case t.Name < name && isPeriod(options, t.Name) && (before == nil || before.Name < t.Name):
			before = t
		}
	}
	if before == nil || tag == nil {
		return nil, nil, nil
	}
	return before, tag, nil
}
