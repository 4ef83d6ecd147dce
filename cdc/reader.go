package cdc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"leat/cdc/mysqlrow"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Reader is the source of all tables of one server: a dataflow.SourceReader and
// dataflow.Checker. See the package comment for how its goroutines share work.
type Reader struct {
	cfg    Config
	log    *slog.Logger
	tables []*table
	byName map[string][]*table
	// kept are the states of tables that are set aside; floors counts tables that were
	// read beyond the edge.
	kept   map[string]tableState
	floors int
	// behind reads the tables that are behind the others, nil for none; catching says
	// that this is such a reader.
	behind   *Reader
	catching bool
	// letters takes rows that cannot be read, nil for nothing.
	letters *letters
	// charsets are the character sets of the server by the numbers of their collations,
	// nil until they are needed.
	charsets map[uint16]string
	// locked are tables whose lock was waited for in vain, and when.
	locked map[string]time.Time
	// left are tables that came while the reader runs, and stay out.
	left []dataflow.TableStatus

	// wroteText says that a statement was in the log in place of rows; reached keeps
	// what such statements may change.
	wroteText bool
	reached   map[string][]name

	server *server
	zone   *time.Location
	// rights are those of the account; looked is what a check found of the tables.
	rights *readRights
	looked *looked
	// pos is the last edge: everything before it was applied.
	pos Position
	// target is where a catch-up run ends, nil for none.
	target *Position
	// startNow is the position when Open ran; caught up means to be beyond it.
	startNow Position

	run *runState
	// guard is that of run, for the goroutine that tells of checkpoints.
	guard atomic.Pointer[guard]
}

// New makes a reader; it does no I/O.
func New(cfg Config) (*Reader, error) {
	if len(cfg.Tables) == 0 {
		return nil, errors.New("making a MySQL source: no tables")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.other, cfg.replica = new(atomic.Bool), newReplica()
	r := &Reader{cfg: cfg, log: cfg.Log, byName: map[string][]*table{}, locked: map[string]time.Time{}}
	return r, nil
}

// Check looks at reach, rights, binlog settings and tables, and reports all that
// is wrong at once.
func (r *Reader) Check(ctx context.Context) error {
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer n.close()
	return r.check(n, nil, false)
}

// Open checks the source once more and finds the position to start from.
func (r *Reader) Open(ctx context.Context, restored json.RawMessage) error {
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer n.close()
	known, err := r.known(restored)
	if err != nil {
		return err
	}
	if err := r.check(n, known, true); err != nil {
		return err
	}
	listed := map[string]bool{}
	if restored == nil && r.cfg.Startup.Mode <= StartLatest {
		if listed, err = n.listedXA(r.server); err != nil {
			return err
		}
	}
	if r.startNow, err = n.now(r.server); err != nil {
		return err
	}
	if r.cfg.CatchUp {
		target := r.startNow.clone()
		r.target = &target
	}
	if restored != nil {
		err = r.restore(ctx, n, restored)
	} else {
		err = r.start(ctx, n, listed)
	}
	if err != nil {
		return err
	}
	r.log.Info("source opened", "server", n.addr, "server_uuid", r.pos.ServerUUID, "position", r.pos.String(), "snapshot_complete", r.complete())
	return nil
}

// known reads the stored tables, nil for a fresh start.
func (r *Reader) known(restored json.RawMessage) (map[string]tableState, error) {
	if restored == nil {
		return nil, nil
	}
	s, err := readState(restored)
	if err != nil {
		return nil, err
	}
	return s.Tables, nil
}

// start chooses the position of a fresh start. listed are XA transactions that were
// prepared before it.
func (r *Reader) start(ctx context.Context, n *conn, listed map[string]bool) (err error) {
	for _, t := range r.tables {
		t.resetSequencer(rangeSet{all: !r.cfg.needsSelect()})
		t.empty = r.cfg.Startup.Mode >= StartEarliest
	}
	switch r.cfg.Startup.Mode {
	case StartInitial, StartSnapshot, StartLatest:
		r.pos = r.startNow.clone()
		if r.pos.GTID != nil {
			// A transaction is in the log before it is in gtid_executed: the end of the
			// log may be beyond what the set lacks and the stream will bring. The
			// stream itself tells where it is.
			r.pos.File, r.pos.Offset = "", 0
		}
	case StartEarliest:
		r.pos, err = n.earliest(r.server)
	case StartOffset:
		r.pos, err = r.givenPosition(ctx, n)
	case StartTimestamp:
		r.pos, err = r.positionAt(ctx, n, r.cfg.Startup.Millis)
	}
	if err != nil {
		return err
	}
	r.pos.prepared = xaTransactions{}
	if err := n.resumable(ctx, r.server, r.pos); err != nil {
		return r.concerned(err)
	}
	if r.pos.File != "" {
		if r.pos.Begun, err = r.created(ctx, r.pos.File); err != nil {
			return err
		}
	}
	if r.cfg.Startup.Mode != StartEarliest {
		r.pos.prepared, err = r.openXA(ctx, n, listed)
	}
	return err
}

// restore takes over a stored state.
func (r *Reader) restore(ctx context.Context, n *conn, data json.RawMessage) error {
	s, err := readState(data)
	if err != nil {
		return err
	}
	if r.pos, err = s.position(r.server.mariadb); err != nil {
		return err
	}
	r.cfg.replica.set(s.Replica)
	main := r.pos.clone()
	places, err := r.resumePlaces(ctx, n, s)
	if err != nil {
		return err
	}
	behind := map[*table]Position{}
	if err := r.stillThere(s); err != nil {
		return err
	}
	keys := r.stateKeys()
	r.tables = slices.DeleteFunc(r.tables, func(t *table) bool {
		_, known := s.Tables[keys[t]]
		if known || !t.shard || r.cfg.NewTables {
			return false
		}
		r.log.Info("a new table matches the pattern and is not read; 'scan.newly-added-table.enabled' = 'true' reads it", "table", t.id())
		k := r.server.tableKey(t.def.Database, t.def.Name)
		r.byName[k] = slices.DeleteFunc(r.byName[k], func(x *table) bool { return x == t })
		return true
	})
	keys = r.stateKeys()
	for _, t := range r.tables {
		ts, ok := s.Tables[keys[t]]
		if !ok && r.cfg.NewTables {
			r.log.Info("a new table is read", "table", t.id())
			t.resetSequencer(rangeSet{all: !r.cfg.needsSelect()})
			continue
		}
		if !ok {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeJobState, Table: t.def.Label,
				Msg:  "the stored state of the job does not know source table " + t.id(),
				Hint: "give the job with the new table another pipeline.name, or start it with --fresh --replace",
			}
		}
		if len(ts.Columns) > 0 {
			if err := t.restoreVersion(ts, r.cells()); err != nil {
				return err
			}
		}
		done, err := t.restoreRanges(ts)
		if err != nil {
			return err
		}
		t.resetSequencer(done)
		t.seq.refresh = ts.Refresh
		t.reread, t.healing, t.dropped, t.bad = ts.Reread, ts.Healing, ts.Dropped, ts.BadRows
		t.absent.Store(ts.Absent)
		if at, ok := places[keys[t]]; ok {
			behind[t] = at
			continue
		}
		if err := r.raiseFloor(t, ts, main); err != nil {
			return err
		}
	}
	if err := r.resumable(ctx, n, r.server, r.pos); err != nil {
		return r.concerned(err)
	}
	if r.pos.ServerUUID != r.server.uuid {
		r.log.Info("source is another server of the same history", "before", r.pos.ServerUUID, "now", r.server.uuid)
		r.pos.ServerUUID, r.pos.File, r.pos.Offset = r.server.uuid, "", 0
	}
	if len(behind) > 0 {
		r.leaveBehind(behind)
	}
	return nil
}

// restoreVersion reads events by the columns that the state knows, where the
// table has changed since in columns that do not matter.
func (t *table) restoreVersion(ts tableState, cells mysqlrow.Options) error {
	now := t.src
	then := &sourceTable{columns: ts.Columns, primary: ts.Primary, indexed: now.indexed, engine: now.engine, rows: now.rows, rowBytes: now.rowBytes}
	if sameColumns(now.columns, then.columns) && slices.EqualFunc(now.primary, then.primary, strings.EqualFold) {
		for i := range now.columns {
			now.columns[i].Counts = then.columns[i].Counts // a statement may be to come
		}
		return nil
	}
	if t.def.Evolution.Rename || t.def.Evolution.Drop {
		t.leaving = map[string]bool{}
		for _, c := range then.columns {
			if now.index(c.Name) < 0 {
				t.leaving[strings.ToLower(c.Name)] = true
			}
		}
	}
	return t.adopt(then, cells)
}

// restoreRanges reads what of the table was emitted.
func (t *table) restoreRanges(ts tableState) (rangeSet, error) {
	partly := len(ts.Snapshot.Upto)+len(ts.Snapshot.Ranges) > 0
	if now := t.plan.KeyOrder(); partly && ts.KeyOrder != now {
		return rangeSet{}, t.at(-1, &diag.Error{
			Domain: diag.Guard, Code: diag.CodeJobState,
			Msg:   "a part of " + t.id() + " was read, in ranges of another key than the rest would be",
			Notes: []string{"before: " + ts.KeyOrder, "now: " + now},
			Hint:  "set 'scan.incremental.snapshot.chunk.key-column' as it was, or start with --fresh --replace",
		})
	}
	return ts.Snapshot.set(t.plan)
}

// resetSequencer starts sequencing with what was emitted before.
func (t *table) resetSequencer(done rangeSet) {
	t.from.tracked = t.def.tracks()
	t.seq = &sequencer{out: mysqlrow.NewBuilder(t.plan, firstRows), done: done, keyed: len(t.cut) > 0}
}

// cells says what values become, the same in chunks and in the log.
func (r *Reader) cells() mysqlrow.Options {
	return mysqlrow.Options{ServerZone: r.zone, ZeroDate: r.cfg.ZeroDate, BitsLittleEndian: r.cfg.BitsLittleEndian, SpacedJSON: r.cfg.SpacedJSON}
}

// complete reports whether all chunks of all tables are out.
func (r *Reader) complete() bool {
	if r.floors > 0 || r.behind != nil {
		return false
	}
	for _, t := range r.tables {
		if !t.seq.complete() {
			return false
		}
	}
	return true
}

// SnapshotState gives the state at the current edge.
func (r *Reader) SnapshotState(_ context.Context, id dataflow.CheckpointID) (dataflow.SourceState, error) {
	if g := r.guard.Load(); g != nil {
		g.keep(id, r.oldestNeeded())
	}
	return r.snapshotState()
}

// Close has nothing to release: Run ends its goroutines itself.
func (r *Reader) Close() error { return nil }
