package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
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
	// Copies gives the names of the copies of a table; nil gives each the name of its
	// source, in Database.
	Copies func(database, table string) []CopyName
	// MergeShards lets tables that have one copy go into it together; nil allows it
	// where the key tells them apart.
	MergeShards *bool
	// TypeModes, Evolution, IgnoreIncompatible and NoNewTables are those of SyncArgs.
	Evolution                       connect.Evolution
	IgnoreIncompatible, NoNewTables bool
	// KnownOnly leaves tables out that a pattern names and that came after the job began.
	KnownOnly bool
	// Keyless says what becomes of tables whose copies have no primary key.
	Keyless Keyless
	// stateByCopy keeps the state of a source table for each of its copies.
	stateByCopy bool
	// rules gives what the copies of a table hold; nil is the same as the source.
	rules func(s *Session, database, table string) (*copyRules, error)
	// Stored gives what the last checkpoint of the job with that name and warehouse
	// holds of its sources, by uid; nil if there is none to go on from.
	Stored func(ctx context.Context, name, warehouse string) (map[string]json.RawMessage, error)
}

// Keyless is what becomes of tables whose copies have no primary key.
type Keyless uint8

const (
	// KeylessOut leaves them out.
	KeylessOut Keyless = iota
	// KeylessInserts takes new rows, and sets a table aside whose rows are updated
	// or deleted: a copy equals its source, or is known not to.
	KeylessInserts
	// KeylessAppend takes every change as a further row.
	KeylessAppend
)

// CopyName names a table of the lake.
type CopyName struct{ Database, Table string }

// SyncTables plans one job that carries the tables into the catalog of
// env.Warehouse, as a script of CREATE TABLE and INSERT statements would. It asks
// the source for the columns. The error is a diag.List with everything found.
func SyncTables(ctx context.Context, sync SyncSpec, env Env) (*Result, error) {
	s := newSession(env)
	s.openFlagWarehouse(ctx)
	s.checkSettings()
	return s.sync(ctx, sync)
}

// sync plans the copies in the current catalog.
func (s *Session) sync(ctx context.Context, sync SyncSpec) (*Result, error) {
	s.checkTableOptions(sync.TableOptions)
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	env := s.env
	conn, ok := env.Registry.Get(sync.Connector)
	source, finds := conn.(connect.Discoverer)
	if !ok || !finds {
		return nil, fmt.Errorf("planning a sync: connector %s finds no tables", sync.Connector)
	}
	s.nameSync(sync.Include)
	look := connect.DiscoverSpec{
		Options: sync.Options, Include: sync.Include, Exclude: sync.Exclude, Aside: sync.Aside, Resume: sync.Resume,
		TypeModes: sync.Evolution.TypeModes, Keyless: sync.Keyless != KeylessOut || sync.rules != nil,
	}
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
	if sync.KnownOnly && look.Stored != nil {
		leaveNew(found)
	}
	y := &syncer{s: s, spec: &sync, source: source, target: s.current, buckets: map[int][]string{}, groups: map[CopyName]*copyGroup{}}
	s.result.Left, s.result.Mirror = found.Left, true
	for _, g := range y.collect(found.Tables) {
		y.group(ctx, g)
	}
	y.deadLetters(ctx, found.DeadLetters)
	y.tellBuckets()
	y.tellKeyless()
	y.tellLeft()
	s.finish()
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	y.watch(look)
	return s.result, nil
}

// leaveNew leaves the tables out that the last checkpoint does not know and that
// only a pattern names.
func leaveNew(found *connect.Discovery) {
	found.Tables = slices.DeleteFunc(found.Tables, func(d connect.Discovered) bool {
		isNew := d.Was == nil && d.Matched
		if isNew {
			found.Left = append(found.Left, connect.LeftOut{Name: d.Database + "." + d.Name, Reason: &diag.Error{
				Domain: diag.User, Code: diag.CodeSourceTable, Table: d.Table.Name, Msg: "it came after the job began, which takes up no tables that come",
				Hint: "name it itself, or let the job take up new tables",
			}})
		}
		return isNew
	})
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
	// groups are the tables of each copy.
	groups map[CopyName]*copyGroup
	// buckets lists the new tables by the number of buckets that leat chose.
	buckets map[int][]string
	// keyless lists the tables whose copies have no key.
	keyless []string
}

// Fixed buckets of a new table: one for each bucketBytes of the source, maxBuckets at most.
const (
	bucketBytes = 512 << 20
	maxBuckets  = 4
)

func bucketsFor(bytes int64) int { return int(min(maxBuckets, 1+max(0, bytes)/bucketBytes)) }

// tellKeyless says what becomes of tables without a key, unless a column of the
// copies tells their rows apart.
func (y *syncer) tellKeyless() {
	if len(y.keyless) == 0 {
		return
	}
	what := "their copies take new rows only, and a table whose rows are updated or deleted is set aside"
	if y.spec.Keyless == KeylessAppend {
		what = "their copies get every change as a further row, and do not equal them once rows are updated or deleted; --metadata-column row_kind tells which change a row is, --keyless insert-only sets such tables aside"
	}
	y.s.notice(configs.Notice{Key: "keyless", Msg: "tables without a primary key: " + firstNames(y.keyless) + ": " + what})
	y.keyless = nil
}

// firstNames lists a few names, and how many more there are.
func firstNames(names []string) string {
	more := ""
	if rest := len(names) - 5; rest > 0 {
		names, more = names[:5], fmt.Sprintf(" and %d more", rest)
	}
	return strings.Join(names, ", ") + more
}

// tellBuckets says what was chosen, as it cannot be changed without writing the table anew.
func (y *syncer) tellBuckets() {
	for _, n := range slices.Sorted(maps.Keys(y.buckets)) {
		y.s.notice(configs.Notice{
			Key: fmt.Sprintf("buckets %d", n),
			Msg: fmt.Sprintf("new tables get 'bucket' = '%d' by their size: %s; %s sets another number", n, firstNames(y.buckets[n]), y.flag("--table-conf bucket=N", "table.properties.bucket")),
		})
	}
}
