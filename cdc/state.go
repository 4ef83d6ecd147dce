package cdc

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"leat/cdc/mysqlrow"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Names of the properties that a checkpoint puts into the snapshots it commits.
const (
	PropGTID       = "leat.source.gtid"
	PropFile       = "leat.source.file"
	PropPos        = "leat.source.pos"
	PropTime       = "leat.source.time"
	PropServerUUID = "leat.source.server_uuid"
	// PropComplete is "false" until all chunks of all tables are out.
	PropComplete = "leat.source.complete"
)

// stateVersion is raised when older programs could not read a state.
const stateVersion = 2

// state is what a checkpoint stores: the edge of the stream, and what of each
// table's snapshot was emitted before it.
type state struct {
	Version int `json:"version"`
	place
	// Replica is the uuid of the reader among the server's replicas, by which the
	// server tells the next run from another job.
	Replica string                `json:"replica,omitempty"`
	Tables  map[string]tableState `json:"tables"`
	// DeadLetters is the target of rows that cannot be read.
	DeadLetters string `json:"dead_letters,omitempty"`
}

// place is the stored form of a Position.
type place struct {
	ServerUUID string `json:"server_uuid"`
	// GTID is nil on a server without GTIDs.
	GTID   *string `json:"gtid,omitempty"`
	File   string  `json:"file,omitempty"`
	Offset uint64  `json:"offset,omitempty"`
	Begun  int64   `json:"begun,omitempty"`
	Millis int64   `json:"time,omitempty"`
	// XA are the prepared XA transactions, compressed.
	XA map[string][]byte `json:"xa,omitempty"`
	// XALog are the places before large ones in the log.
	XALog map[string]placeState `json:"xa_log,omitempty"`
}

// placeOf gives the stored form of p.
func placeOf(p Position) (place, error) {
	out := place{ServerUUID: p.ServerUUID, File: p.File, Offset: p.Offset, Begun: p.Begun, Millis: p.TimeMillis}
	if p.GTID != nil {
		text := p.GTID.String()
		out.GTID = &text
	}
	err := out.packXA(p.prepared)
	return out, err
}

// aside is a table that is not read for now.
type aside struct {
	Reason string `json:"reason"`
	// Place is up to where the table was read.
	Place place `json:"place"`
}

// tableState is the part of one table, by id.
type tableState struct {
	// Database and Name are the table's; states of old have them in the id alone.
	Database string     `json:"database,omitempty"`
	Name     string     `json:"name,omitempty"`
	Snapshot rangeState `json:"snapshot"`
	// Columns is the table version at the edge: events after it are read by it
	// until the log tells of a change.
	Columns []mysqlrow.Column `json:"columns"`
	Primary []string          `json:"primary,omitempty"`
	// KeyOrder is mysqlrow.Plan.KeyOrder.
	KeyOrder string `json:"key_order,omitempty"`
	// Refresh and Reread say that the table is read again, or is to be, Healing that
	// it is to be emptied before; Absent that
	// the source has dropped it. Dropped counts dropped columns by name.
	Refresh bool           `json:"refresh,omitempty"`
	Reread  bool           `json:"reread,omitempty"`
	Healing bool           `json:"healing,omitempty"`
	Absent  bool           `json:"absent,omitempty"`
	Dropped map[string]int `json:"dropped,omitempty"`
	// BadRows counts the rows that went to dead letters.
	BadRows int64 `json:"bad_rows,omitempty"`
	// Aside is set for a table that is set aside. Floor is up to where a table was
	// read already, beyond the edge, which went back for one that was set aside.
	Aside *aside `json:"aside,omitempty"`
	Floor *place `json:"floor,omitempty"`
	// Behind is up to where a table was read that is read beside the others, which
	// are ahead of it.
	Behind *place `json:"behind,omitempty"`
}

// stateKeys names the tables in the state; a table read into several ports has one
// entry a port.
func (r *Reader) stateKeys() map[*table]string {
	keys, seen := make(map[*table]string, len(r.tables)), make(map[string]int, len(r.tables))
	for _, t := range r.allTables() {
		id := t.id() + t.def.StateKey
		if seen[id]++; seen[id] > 1 {
			id += "#" + strconv.Itoa(seen[id])
		}
		keys[t] = id
	}
	return keys
}

// snapshotState makes the state of the current edge.
func (r *Reader) snapshotState() (dataflow.SourceState, error) {
	at, err := placeOf(r.pos)
	if err != nil {
		return dataflow.SourceState{}, err
	}
	s := state{Version: stateVersion, place: at, Replica: r.cfg.replica.id(), Tables: map[string]tableState{}}
	if r.letters != nil {
		s.DeadLetters = r.letters.name
	}
	props := map[string]string{PropComplete: strconv.FormatBool(r.complete())}
	if s.GTID != nil {
		props[PropGTID] = *s.GTID
	}
	for k, v := range map[string]string{PropFile: s.File, PropServerUUID: s.ServerUUID} {
		if v != "" {
			props[k] = v
		}
	}
	if s.File != "" {
		props[PropPos] = strconv.FormatUint(s.Offset, 10)
	}
	if s.Millis > 0 {
		props[PropTime] = strconv.FormatInt(s.Millis, 10)
	}
	keys := r.stateKeys()
	for _, t := range r.allTables() {
		done := t.seq.done
		if !t.seq.keyed && !done.all {
			done = rangeSet{}
		}
		floor, behind, err := r.placesOf(t)
		if err != nil {
			return dataflow.SourceState{}, err
		}
		s.Tables[keys[t]] = tableState{
			Database: t.def.Database, Name: t.def.Name, Snapshot: done.state(), Columns: t.src.columns, Primary: t.src.primary, KeyOrder: t.plan.KeyOrder(),
			Refresh: t.seq.refresh && !done.all, Reread: t.reread, Healing: t.healing, Absent: t.absent.Load(), Dropped: t.dropped, BadRows: t.bad, Floor: floor, Behind: behind,
		}
	}
	maps.Copy(s.Tables, r.kept)
	data, err := json.Marshal(s)
	if err != nil {
		return dataflow.SourceState{}, fmt.Errorf("writing the source state: %w", err)
	}
	return dataflow.SourceState{Data: data, Properties: props}, nil
}

// readState reads what snapshotState wrote.
func readState(data json.RawMessage) (*state, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		var head struct{ Version int }
		if json.Unmarshal(data, &head) == nil && head.Version > 0 && head.Version < stateVersion {
			return nil, earlierRanges()
		}
		return nil, fmt.Errorf("reading the stored source state: %w", err)
	}
	if s.Version < 1 || s.Version > stateVersion {
		return nil, &diag.Error{
			Domain: diag.Guard, Code: diag.CodeJobState,
			Msg:  fmt.Sprintf("the stored source state has version %d, which this program does not read", s.Version),
			Hint: "run the program that wrote it, or start with --fresh --replace",
		}
	}
	return &s, nil
}

// position gives what was stored.
func (s *place) position(maria bool) (Position, error) {
	p := Position{ServerUUID: s.ServerUUID, File: s.File, Offset: s.Offset, Begun: s.Begun, TimeMillis: s.Millis}
	var err error
	if p.prepared, err = s.unpackXA(maria); err != nil || s.GTID == nil {
		return p, err
	}
	set, err := parseGTIDs(*s.GTID, maria)
	p.GTID = set
	return p, err
}
