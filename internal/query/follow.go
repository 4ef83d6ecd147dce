package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/internal/fileio"
	"leat/lakehouse"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// Following is a table that is read on as it changes, from one moment on.
type Following struct {
	source *Source
	// full is the state that comes first, as rows; nil for none. after is the snapshot
	// up to which the changes are known.
	full  *spec.Snapshot
	after int64
	every time.Duration
}

const (
	optionInterval = "continuous.discovery-interval"
	// followEvery is how often a followed table is looked at.
	followEvery = 500 * time.Millisecond
	// kindName is the column of the kinds of changes, as Flink's client calls it.
	kindName = "op"
)

// Follow finds a table and the place from which to follow it (scan.mode).
func Follow(ctx context.Context, w *Warehouse, database, name string, options map[string]string) (*Following, error) {
	plain := map[string]string{}
	if b, ok := options[OptionBranch]; ok {
		plain[OptionBranch] = b
	}
	s, err := Open(ctx, w, database, name, plain)
	if err != nil {
		return nil, err
	}
	if s.read != nil || s.binlog || s.opt.File != nil || s.rowKind {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Table: s.Name, Msg: "only a table itself is followed as it changes", Hint: "SET 'execution.runtime-mode' = 'batch' to read what is there"}
	}
	f := &Following{source: s, every: followEvery}
	for _, text := range []string{options[optionInterval], s.table.Schema.Options[optionInterval]} {
		if text == "" {
			continue
		}
		if f.every, err = configs.ParseDuration(text); err != nil {
			return nil, badOption(optionInterval, "'"+text+"' is no time", "write a time such as '1 s'")
		}
		break
	}
	if err := f.start(ctx, options, w.zone()); err != nil {
		return nil, err
	}
	s.rowKind = true
	s.Schema = &columnar.Schema{Fields: slices.Concat([]columnar.Field{{Name: kindName, Type: columnar.StringType().NotNull()}}, s.Schema.Fields)}
	return f, nil
}

// start finds what comes first.
func (f *Following) start(ctx context.Context, options map[string]string, zone *time.Location) error {
	given := ""
	for _, key := range []string{OptionSnapshot, OptionTime, OptionMillis} {
		if options[key] == "" {
			continue
		}
		if given != "" {
			return badOption(key, "'"+given+"' says already where to begin", "keep one of the two")
		}
		given = key
	}
	mode := strings.ToLower(options[OptionMode])
	if mode == "" || mode == "default" {
		mode = map[string]string{"": "latest-full", OptionSnapshot: "from-snapshot"}[given]
		if mode == "" {
			mode = "from-timestamp"
		}
	}
	latest, err := f.source.table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	switch mode {
	case "latest-full", "full":
		f.full = latest
	case "latest":
	case "compacted-full":
		f.full, err = f.source.compacted(ctx)
	case "from-snapshot", "from-snapshot-full":
		if given != OptionSnapshot {
			return &diag.Error{Domain: diag.User, Code: diag.CodeMissingOption, Option: OptionSnapshot, Msg: "scan.mode '" + mode + "' needs it", Hint: "add '" + OptionSnapshot + "' = '…'"}
		}
		return f.fromSnapshot(ctx, options[given], mode == "from-snapshot-full", zone)
	case "from-timestamp":
		if given == "" || given == OptionSnapshot {
			return &diag.Error{Domain: diag.User, Code: diag.CodeMissingOption, Option: OptionTime, Msg: "scan.mode '" + mode + "' needs it", Hint: "add '" + OptionTime + "' = '…'"}
		}
		return f.fromTime(ctx, given, options[given], zone)
	default:
		return badOption(OptionMode, "there is no mode '"+mode+"'", "write latest-full, latest, from-snapshot, from-snapshot-full, from-timestamp or compacted-full")
	}
	if err != nil {
		return err
	}
	if f.full != nil {
		latest = f.full
	}
	if latest != nil {
		f.after = latest.ID
	}
	return nil
}

func (f *Following) fromSnapshot(ctx context.Context, value string, full bool, zone *time.Location) error {
	s, err := f.source.point(ctx, OptionSnapshot, value, zone)
	if err != nil {
		return inOption(err, OptionSnapshot)
	}
	f.after = s.ID - 1
	if full {
		f.full, f.after = s, s.ID
	}
	return nil
}

// fromTime begins with the first snapshot of a time or later.
func (f *Following) fromTime(ctx context.Context, key, value string, zone *time.Location) error {
	var millis int64
	if key == OptionMillis {
		if _, err := fmt.Sscan(value, &millis); err != nil {
			return badOption(key, "'"+value+"' is no number", "write milliseconds since 1970")
		}
	} else {
		at, err := ParseTime(value, zone)
		if err != nil {
			return inOption(err, key)
		}
		millis = at.UnixMilli()
	}
	snaps := f.source.table.Snapshots()
	ids, err := snaps.List(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	first, err := snaps.Read(ctx, ids[0])
	if err != nil {
		return err
	}
	f.after = first.ID - 1
	if first.TimeMillis >= millis {
		return nil
	}
	s, err := maintain.SnapshotAt(ctx, snaps, time.UnixMilli(millis-1))
	if err != nil {
		return err
	}
	f.after = s.ID
	return nil
}

// Columns are those of a query whose own are columns: the kind of the change first.
func (f *Following) Columns(columns *columnar.Schema) *columnar.Schema {
	return &columnar.Schema{Fields: slices.Concat(f.source.Schema.Fields[:1], columns.Fields)}
}

// Input is what a query reads.
func (f *Following) Input() *columnar.Schema {
	return &columnar.Schema{Fields: f.source.Schema.Fields[1:]}
}

// Run gives the rows of a query over the table, and what becomes of them, each with
// the kind of the change in front, until ctx ends or the query's limit is reached.
// flush is called whenever there is nothing more for now.
func (f *Following) Run(ctx context.Context, q *Select, flush func() error, each func(*columnar.Batch) error) error {
	s := *q
	s.Source, s.Columns = f.source, f.Columns(q.Columns)
	shift := make([]int, len(f.source.Schema.Fields)-1)
	for i := range shift {
		shift[i] = i + 1
	}
	s.Exprs = []expr.Expr{expr.NamedColumn(0, kindName, f.source.Schema.Fields[0].Type)}
	for _, e := range q.Exprs {
		s.Exprs = append(s.Exprs, expr.Remap(e, shift))
	}
	if q.Filter != nil {
		s.Filter = expr.Remap(q.Filter, shift)
	}
	if s.Limit == 0 {
		return nil
	}
	r, used, err := s.prepare(each)
	if err != nil {
		return err
	}
	err = f.run(ctx, &s, r, used, flush)
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

func (f *Following) run(ctx context.Context, s *Select, r *run, used []int, flush func() error) error {
	// What a long read has come to is no progress here: its rows show it.
	ctx = context.WithValue(ctx, progressKey{}, nil)
	if f.full != nil {
		first := *f.source
		first.opt.At = f.full
		first.Snapshot = f.full
		where, free := first.where(s.Filter, s.Env)
		err := first.scan(ctx, used, where, r.batch)
		free()
		if err != nil {
			return err
		}
	}
	for {
		if err := flush(); err != nil {
			return err
		}
		if err := f.changesSince(ctx, r, used); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// changesSince gives the changes of the snapshots that came.
func (f *Following) changesSince(ctx context.Context, r *run, used []int) error {
	latest, err := f.source.table.LatestSnapshot(ctx)
	if err != nil || latest == nil {
		return err
	}
	if latest.ID < f.after {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeLakeShape, Table: f.source.Name, Msg: fmt.Sprintf("the table was taken back to snapshot %d, and its changes were read up to snapshot %d", latest.ID, f.after),
			Hint: "run the query again",
		}
	}
	for f.after < latest.ID {
		next := *f.source
		next.changes = &lakehouse.Changes{From: f.after, To: f.after + 1, Mode: lakehouse.ChangesAuto}
		if err := next.scan(ctx, used, nil, r.batch); err != nil {
			if errors.Is(err, fileio.ErrNotExist) {
				return &diag.Error{
					Domain: diag.External, Code: diag.CodeUnknownObject, Table: f.source.Name, Msg: fmt.Sprintf("snapshot %d has expired before its changes were read", f.after+1), Cause: err,
					Hint: "run the query again, or keep snapshots for longer: 'snapshot.time-retained'",
				}
			}
			return err
		}
		f.after++
	}
	return nil
}
