package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/catalog"
	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/lakehouse/spec"
)

// SyncSpec asks for copies of tables of one source: same columns, same primary key.
type SyncSpec struct {
	// Connector is the name of the source's connector, such as mysql-cdc.
	Connector string
	// Options are those of a table of the source, without the name of the table.
	Options          configs.Values
	Include, Exclude []connect.TablePattern
	// Database is that of all copies; empty gives each the database of its source.
	Database string
	// TableOptions are those of the tables in the lake.
	TableOptions configs.Values
	// BadRowsAside lets a row that cannot be read set its table aside instead of
	// ending the job.
	BadRowsAside bool
	// BadRowsKept sends rows that cannot be read to a table of dead letters:
	// DeadLetterTable, as database.table or table, or else leat_dead_letters in
	// the database of the first table.
	BadRowsKept     bool
	DeadLetterTable string
	// Aside are source tables that cannot go on, as database.table, and why; Resume
	// those that were set aside and are to go on.
	Aside  map[string]string
	Resume []string
	// Stored gives what the last checkpoint of the job with that name and warehouse
	// holds of its sources, by uid; nil if there is none to go on from.
	Stored func(ctx context.Context, name, warehouse string) (map[string]json.RawMessage, error)
}

// SyncTables plans one job that carries the tables into the catalog of
// env.Warehouse, as a script of CREATE TABLE and INSERT statements would. It asks
// the source for the columns. The error is a diag.List with everything found.
func SyncTables(ctx context.Context, sync SyncSpec, env Env) (*Result, error) {
	s := newSession(env)
	s.openFlagWarehouse(ctx)
	s.checkSettings()
	s.checkTableOptions(sync.TableOptions)
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	conn, ok := env.Registry.Get(sync.Connector)
	source, finds := conn.(connect.Discoverer)
	if !ok || !finds {
		return nil, fmt.Errorf("planning a sync: connector %s finds no tables", sync.Connector)
	}
	s.nameSync(sync.Include)
	look := connect.DiscoverSpec{Options: sync.Options, Include: sync.Include, Exclude: sync.Exclude, Aside: sync.Aside, Resume: sync.Resume}
	if sync.Stored != nil {
		states, err := sync.Stored(ctx, configs.PipelineName.Get(s.settings), s.current.warehouse)
		if err != nil {
			return nil, err
		}
		look.Stored = states[syncSource(sync.Connector)]
	}
	found, err := source.Discover(ctx, look)
	if err != nil {
		return nil, err
	}
	for _, n := range found.Notices {
		s.notice(n)
	}
	y := &syncer{s: s, spec: &sync, source: source, target: s.current, buckets: map[int][]string{}}
	s.result.Left, s.result.Mirror = found.Left, true
	for i := range found.Tables {
		y.table(ctx, &found.Tables[i])
	}
	y.deadLetters(ctx, found.DeadLetters)
	y.tellBuckets()
	y.tellLeft()
	s.finish()
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	y.watch(look)
	return s.result, nil
}

// syncSource is the uid of the one source of a sync job, as builder.sourceUID gives it.
func syncSource(connector string) string { return fmt.Sprintf("source:%s-1", connector) }

// nameSync names the job after the tables asked for, which stay the same when
// tables come and go at the source.
func (s *Session) nameSync(include []connect.TablePattern) {
	if configs.PipelineName.IsSet(s.settings) {
		return
	}
	names := make([]string, len(include))
	for i, p := range include {
		names[i] = p.String()
	}
	slices.Sort(names)
	s.settings[configs.PipelineName.Key] = configs.Value{Text: "sync_" + strings.Join(slices.Compact(names), ",")}
}

// checkTableOptions checks options of lake tables as WITH does.
func (s *Session) checkTableOptions(opts configs.Values) {
	notices, errs := configs.LakeTable.Check(opts, configs.CheckOptions{})
	for _, n := range notices {
		s.notice(n)
	}
	if err := configs.CheckRetention(opts); err != nil {
		errs = append(errs, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: err.Error(), Hint: "set both so that min is at most max"})
	}
	s.fail2(errs)
}

// syncer adds one table after the other to the plan.
type syncer struct {
	s      *Session
	spec   *SyncSpec
	source connect.SourceConnector
	target *namespace
	// buckets lists the new tables by the number of buckets that leat chose.
	buckets map[int][]string
}

// table adds a table. One that a pattern names stays out where it cannot be carried.
func (y *syncer) table(ctx context.Context, d *connect.Discovered) {
	before := len(y.s.errs)
	y.carry(ctx, d)
	errs := y.s.errs[before:]
	if len(errs) > 0 && d.Was != nil && d.Aside == "" && slices.Contains(y.spec.Resume, d.Database+"."+d.Name) {
		// It cannot go on yet.
		again := *d
		again.Table, again.Aside = d.Was, reasonOf(slices.Clone(errs))
		y.s.errs = y.s.errs[:before]
		y.carry(ctx, &again)
		errs = y.s.errs[before:]
	}
	if d.Matched && len(errs) > 0 {
		y.s.result.Left = append(y.s.result.Left, connect.LeftOut{Name: d.Database + "." + d.Name, Reason: slices.Clone(errs)})
		y.s.errs = y.s.errs[:before]
	}
}

func (y *syncer) carry(ctx context.Context, d *connect.Discovered) {
	db := y.spec.Database
	if db == "" {
		db = d.Database
	}
	d = y.named(d, db)
	key, full := db+"."+d.Name, fullName(y.target, db, d.Name)
	if y.target.tables[key] != nil {
		y.s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeExists, Table: d.Table.Name, Msg: fmt.Sprintf("another table goes into %s already", full),
			Hint: "leave one of them out, or let each go into the database of its own name",
		})
		return
	}
	before := len(y.s.errs)
	if d.Gone {
		if have, err := y.target.lake.Table(ctx, db, d.Name); err == nil && have == nil {
			y.s.result.Forgotten = append(y.s.result.Forgotten, "sink:"+full)
			return
		}
	}
	to := y.place(ctx, db, d)
	if to == nil || len(y.s.errs) > before {
		return
	}
	// The columns of the lake, which follow those of the source while the job runs.
	from := *d.Table
	from.Schema = to.def.Schema
	y.pipe(&from, to, d.Aside)
}

// named gives d the name of its copy. The lake marks system tables with a $, for
// which an underscore stands there.
func (y *syncer) named(d *connect.Discovered, db string) *connect.Discovered {
	name := strings.ReplaceAll(d.Name, "$", "_")
	if name == d.Name {
		return d
	}
	copied := *d
	copied.Name = name
	y.s.notice(configs.Notice{
		Key: d.Table.Name, Msg: fmt.Sprintf("table %s goes into %s, because the lake marks system tables with a $", d.Table.Name, fullName(y.target, db, name)),
	})
	return &copied
}

// place takes an existing table of the same shape, or plans a new one.
func (y *syncer) place(ctx context.Context, db string, d *connect.Discovered) *table {
	s, full := y.s, fullName(y.target, db, d.Name)
	want := y.schema(d)
	have, err := y.target.lake.Table(ctx, db, d.Name)
	if err != nil {
		s.fail(err)
		return nil
	}
	if have != nil {
		for _, k := range fixedOptions {
			if _, given := y.spec.TableOptions[k]; !given {
				delete(want.Options, k)
				if v, ok := have.Options[k]; ok {
					want.Options[k] = v
				}
			}
		}
		if diff := keysDiff(have, want); len(diff) > 0 {
			s.fail(&diag.Error{
				Domain: diag.User, Code: diag.CodeLakeShape, Msg: fmt.Sprintf("table %s exists already with another shape than %s at the source", full, d.Table.Name), Notes: diff,
				Hint: "rename or drop the table of the lake, alter it to fit, or leave the table out",
			})
			return nil
		}
		return y.existing(ctx, db, d.Name, have, want)
	}
	if !configs.Bucket.IsSet(y.spec.TableOptions) {
		n := bucketsFor(d.Bytes)
		want.Options[configs.Bucket.Key] = strconv.Itoa(n)
		y.buckets[n] = append(y.buckets[n], db+"."+d.Name)
	}
	err = (catalog.Identifier{Database: db, Table: d.Name}).Check()
	if err == nil {
		err = catalog.Validate(want)
	}
	if err != nil {
		s.fail(inTable(err, d.Table.Name))
		return nil
	}
	s.result.Steps = append(s.result.Steps, Step{Catalog: y.target.name, Warehouse: y.target.warehouse, Database: db, Table: d.Name, Schema: want})
	return s.lakeTable(y.target, db, d.Name, want, diag.Pos{}, nil)
}

// existing takes a table as it is, but for options that were given.
func (y *syncer) existing(ctx context.Context, db, name string, have, want *spec.TableSchema) *table {
	s, full := y.s, fullName(y.target, db, name)
	st := Step{Kind: StepAlter, Catalog: y.target.name, Warehouse: y.target.warehouse, Database: db, Table: name, Settings: s.settings}
	for _, k := range slices.Sorted(maps.Keys(want.Options)) {
		if v, ok := have.Options[k]; (!ok || v != want.Options[k]) && !slices.Contains(fixedOptions, k) {
			st.Changes = append(st.Changes, catalog.SetOption{Key: k, Value: want.Options[k]})
			s.notice(configs.Notice{Key: full + " " + k, Msg: fmt.Sprintf("table %s gets the option '%s' = '%s'", full, k, want.Options[k])})
		}
	}
	if len(st.Changes) == 0 {
		return s.lakeTable(y.target, db, name, have, diag.Pos{}, nil)
	}
	var err error
	if st.Alter.HasSnapshots, err = y.target.lake.HasSnapshots(ctx, db, name); err != nil {
		s.fail(err)
		return nil
	}
	next, err := catalog.Alter(have, st.Changes, st.Alter)
	if err != nil {
		s.fail(inTable(err, full))
		return nil
	}
	if next == nil {
		next = have
	}
	s.result.Steps = append(s.result.Steps, st)
	return s.lakeTable(y.target, db, name, next, diag.Pos{}, nil)
}

// schema is the definition of the copy of d.
func (y *syncer) schema(d *connect.Discovered) *spec.TableSchema {
	ts := &spec.TableSchema{
		Version: 3, Fields: slices.Clone(d.Table.Schema.Fields), PrimaryKeys: d.Table.PrimaryKey, Options: map[string]string{},
		Comment: d.Comment, HighestFieldID: len(d.Table.Schema.Fields) - 1,
	}
	for k, v := range y.spec.TableOptions {
		ts.Options[k] = v.Text
	}
	return ts
}

// Fixed buckets of a new table: one for each bucketBytes of the source, maxBuckets at most.
const (
	bucketBytes = 512 << 20
	maxBuckets  = 4
)

func bucketsFor(bytes int64) int { return int(min(maxBuckets, 1+max(0, bytes)/bucketBytes)) }

// tellBuckets says what was chosen, as it cannot be changed without writing the table anew.
func (y *syncer) tellBuckets() {
	for _, n := range slices.Sorted(maps.Keys(y.buckets)) {
		names := y.buckets[n]
		more := ""
		if rest := len(names) - 5; rest > 0 {
			names, more = names[:5], fmt.Sprintf(" and %d more", rest)
		}
		y.s.notice(configs.Notice{
			Key: fmt.Sprintf("buckets %d", n),
			Msg: fmt.Sprintf("new tables get 'bucket' = '%d' by their size: %s%s; --table-conf bucket=N sets another number", n, strings.Join(names, ", "), more),
		})
	}
}

// pipe adds the way of all columns from one table into the other.
func (y *syncer) pipe(from *connect.Table, to *table, aside string) {
	b, in := y.s.builder, y.source.SourceMode(from)
	sink := newSink(to, y.s.env.Lake)
	if in != connect.InsertOnly && y.s.env.Lake.SinkMode(to.def) == connect.InsertOnly {
		y.s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Table: to.full, Msg: from.Name + " brings updates and deletes, and this table takes inserts only",
			Hint: "leave the option 'merge-engine' out",
		})
		return
	}
	sink.Mode = in
	source, port := b.port(&scan{table: &table{full: from.Name, def: from}, def: from, source: -1}, y.source)
	st := &b.plan.Sources[source].Tables[port]
	st.Follow, st.Aside, st.BadRowsAside, st.DeadLetters = true, aside, y.spec.BadRowsAside, y.spec.BadRowsKept
	exprs := make([]expr.Expr, len(from.Schema.Fields))
	for i, f := range from.Schema.Fields {
		st.Needed = append(st.Needed, i)
		exprs[i] = expr.NamedColumn(i, f.Name, f.Type)
	}
	b.plan.Pipes = append(b.plan.Pipes, Pipe{
		UID: fmt.Sprintf("calc-%d", len(b.plan.Pipes)+1), Source: source, Port: port, Sink: len(b.plan.Sinks), Exprs: exprs, Identity: true, In: in,
	})
	b.plan.Sinks = append(b.plan.Sinks, sink)
}
