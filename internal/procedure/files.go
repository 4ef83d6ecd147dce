package procedure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/catalog"
	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

func asDiag(err error, e **diag.Error) bool { return errors.As(err, e) }

// partitionSpecs reads 'dt=1,hh=2;dt=3'.
func (x *execution) partitionSpecs(name string) ([]maintain.PartitionSpec, error) {
	var out []maintain.PartitionSpec
	for _, text := range x.All(name) {
		for one := range strings.SplitSeq(text, ";") {
			if strings.TrimSpace(one) == "" {
				continue
			}
			p := maintain.PartitionSpec{}
			for pair := range strings.SplitSeq(one, ",") {
				k, v, ok := strings.Cut(pair, "=")
				if !ok {
					return nil, x.wrong(name, "'"+pair+"' has no '='", "write column=value,column=value;column=value")
				}
				p[strings.TrimSpace(k)] = strings.Trim(strings.TrimSpace(v), "'")
			}
			out = append(out, p)
		}
	}
	return out, nil
}

func (x *execution) refuseGiven(names ...string) error {
	for _, n := range names {
		if x.Has(n) {
			return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: x.At, Msg: fmt.Sprintf("sys.%s with %s does not run in leat", x.Procedure.Name, n), Hint: "leave it out, or run it on Flink"}
		}
	}
	return nil
}

// fullStrategy reads compact_strategy: full unless it says minor.
func (x *execution) fullStrategy() (bool, error) {
	switch s := strings.ToLower(x.Text("compact_strategy")); s {
	case "", "full":
		return true, nil
	case "minor":
		return false, nil
	default:
		return false, x.wrong("compact_strategy", "'"+s+"' is none", "write full or minor")
	}
}

func compact(ctx context.Context, x *execution) error {
	if s := x.Text("order_strategy"); s != "" && !strings.EqualFold(s, "none") {
		return x.refuseGiven("order_strategy")
	}
	if err := x.refuseGiven("order_by", "where"); err != nil {
		return err
	}
	full, err := x.fullStrategy()
	if err != nil {
		return err
	}
	return x.onTable(ctx, func(t *target) error {
		only, err := x.compactOnly(ctx, t)
		if err != nil {
			return err
		}
		return x.compactTable(ctx, t, full, only)
	})
}

// compactOnly gives the partitions to compact; nil for all.
func (x *execution) compactOnly(ctx context.Context, t *target) (func(spec.BinaryRow) bool, error) {
	idle, err := x.duration("partition_idle_time")
	if err != nil {
		return nil, err
	}
	specs, err := x.partitionSpecs("partitions")
	if err != nil {
		return nil, err
	}
	if idle == 0 && len(specs) == 0 {
		return nil, nil
	}
	match := func(spec.BinaryRow) bool { return true }
	if len(specs) > 0 {
		if match, err = maintain.MatchPartition(t.schema, specs); err != nil {
			return nil, err
		}
	}
	if idle == 0 {
		return match, nil
	}
	all, err := maintain.Partitions(ctx, x.env.FS, t.path)
	if err != nil {
		return nil, err
	}
	quiet := map[string]bool{}
	for _, p := range all {
		// The time of a file is stored as a local wall clock.
		u := time.UnixMilli(p.LastMillis).UTC()
		last := time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), time.Local)
		quiet[string(p.Row.Data)] = x.env.Now().Sub(last) >= idle
	}
	return func(r spec.BinaryRow) bool { return match(r) && quiet[string(r.Data)] }, nil
}

func compactDatabase(ctx context.Context, x *execution) error {
	full, err := x.fullStrategy()
	if err != nil {
		return err
	}
	databases, err := x.pattern("including_databases", ".*")
	if err != nil {
		return err
	}
	including, err := x.pattern("including_tables", ".*")
	if err != nil {
		return err
	}
	excluding, err := x.pattern("excluding_tables", "")
	if err != nil {
		return err
	}
	if err := x.refuseGiven("table_options"); err != nil {
		return err
	}
	return x.eachTable(ctx, func(db, name string) bool {
		full := db + "." + name
		match := including.MatchString(full) || including.MatchString(name)
		return databases.MatchString(db) && match && (!x.Has("excluding_tables") || !excluding.MatchString(full) && !excluding.MatchString(name))
	}, func(t *target) error {
		if err := x.compactTable(ctx, t, full, nil); err != nil {
			return err
		}
		x.out.Text(t.id.String())
		return nil
	})
}

// eachTable runs f on the tables that want picks.
func (x *execution) eachTable(ctx context.Context, want func(db, table string) bool, f func(t *target) error) error {
	databases, err := x.env.Catalog.Databases(ctx)
	if err != nil {
		return err
	}
	for _, db := range databases {
		tables, err := x.env.Catalog.Tables(ctx, db)
		if err != nil {
			return err
		}
		for _, name := range tables {
			if !want(db, name) {
				continue
			}
			t, err := x.named(ctx, catalog.Identifier{Database: db, Table: name}.String())
			if err != nil {
				return err
			}
			if err := f(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func expirePartitions(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	age, err := x.duration("expiration_time")
	if err != nil {
		return err
	}
	o := maintain.PartitionExpiry{
		Before: x.env.Now().Add(-age), Pattern: x.Text("timestamp_pattern"), Formatter: x.Text("timestamp_formatter"), Limit: int(x.Number("max_expires", 0)),
	}
	if o.Pattern == "" {
		o.Pattern = t.schema.Options["partition.timestamp-pattern"]
	}
	if o.Formatter == "" {
		o.Formatter = t.schema.Options["partition.timestamp-formatter"]
	}
	switch s := strings.ToLower(x.Text("expire_strategy")); s {
	case "", "values-time":
	case "update-time":
		o.ByUpdate = true
	default:
		return x.wrong("expire_strategy", "'"+s+"' is none", "write values-time or update-time")
	}
	gone, err := maintain.ExpirePartitions(ctx, x.env.FS, t.path, o)
	for _, p := range gone {
		x.out.Text(p)
	}
	return err
}

func dropPartition(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	specs, err := x.partitionSpecs("partitions")
	if err != nil {
		return err
	}
	gone, err := maintain.DropPartitions(ctx, x.env.FS, t.path, specs, false)
	for _, p := range gone {
		x.out.Text(p)
	}
	return err
}

func markPartitionDone(ctx context.Context, x *execution) error {
	t, err := x.table(ctx)
	if err != nil {
		return err
	}
	specs, err := x.partitionSpecs("partitions")
	if err != nil {
		return err
	}
	done, err := maintain.MarkPartitionsDone(ctx, x.env.FS, t.path, specs, x.env.Now())
	for _, p := range done {
		x.out.Text(p)
	}
	return err
}

// removeOrphans sweeps a table, or with db.* or * many. A file younger than a
// day stays whatever is asked: a running job may not have committed it yet.
func removeOrphans(ctx context.Context, x *execution) error {
	o := maintain.OrphanOptions{OlderThan: x.env.Now().Add(-maintain.OrphanAge), DryRun: x.Bool("dry_run", false)}
	if x.Has("older_than") {
		at, err := x.time("older_than")
		if err != nil {
			return err
		}
		if at.After(o.OlderThan) {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeInUse, Pos: x.At, Msg: "sys.remove_orphan_files: files younger than a day may belong to a job that has not committed them yet",
				Hint: "choose a time more than a day ago",
			}
		}
		o.OlderThan = at
	}
	var files, bytes int64
	sweep := func(t *target) error {
		found, err := maintain.RemoveOrphans(ctx, x.env.FS, t.path, o)
		files, bytes = files+int64(len(found.Paths)), bytes+found.Bytes
		return err
	}
	name := x.Text("table")
	db, wild := strings.CutSuffix(name, ".*")
	var err error
	if wild || name == "*" {
		err = x.eachTable(ctx, func(d, _ string) bool { return !wild || d == db }, sweep)
	} else {
		var t *target
		if t, err = x.table(ctx); err == nil {
			err = sweep(t)
		}
	}
	if err == nil {
		x.out.Long(files).Long(bytes)
	}
	return err
}

func compactManifest(ctx context.Context, x *execution) error {
	if x.Bool("dry_run", false) {
		return x.refuseGiven("dry_run")
	}
	return x.onTable(ctx, func(t *target) error {
		_, err := maintain.CompactManifests(ctx, x.env.FS, t.path)
		return err
	})
}

// triggerTags makes the automatic tag that is due, as option tag.automatic-creation says.
func triggerTags(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		if mode := configs.TagCreation.Get(t.options); mode != "process-time" {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeMissingOption, Table: t.id.String(), Option: configs.TagCreation.Key, Msg: "it is '" + mode + "': leat makes tags by process-time only",
				Hint: "ALTER TABLE … SET ('tag.automatic-creation' = 'process-time'), or CALL sys.create_tag",
			}
		}
		_, err := maintain.AutoTag(ctx, x.env.FS, t.path, t.options, x.env.Now().In(x.env.Zone))
		return err
	})
}
