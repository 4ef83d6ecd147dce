package cdc

import (
	"crypto/tls"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Config says how to reach one server and what to read from it.
type Config struct {
	Host     string
	Port     int
	User     string
	Password string
	// TLS encrypts the connections; nil leaves them plain.
	TLS *tls.Config
	// TLSAsNeeded lets the server decide: an account that it refuses on a plain
	// connection is tried with TLS, a server without TLS on a plain one.
	TLSAsNeeded bool
	// other says that the server wanted the other kind than TLS says.
	other *atomic.Bool
	// replica is the uuid of the reader among the server's replicas: a server ends a
	// connection that was left behind when another one of that uuid comes.
	replica *replica
	// ServerID is what leat calls itself among the server's replicas.
	ServerID uint32
	// ConnectTimeout limits dial and login; 0 means 30 s.
	ConnectTimeout time.Duration
	// MaxRetries is how often in a row a broken connection is tried again.
	MaxRetries int
	// Heartbeat is how often an idle position moves; at most 1 s is used.
	Heartbeat time.Duration
	Startup   Startup
	// ChunkRows is the size of snapshot chunks; 0 lets leat choose.
	ChunkRows int
	// SnapshotReaders is the number of sessions that read chunks; 0 means 2.
	SnapshotReaders int
	// SnapshotBytes limits what chunks may hold in memory while they wait for
	// the stream; 0 means 128 MiB.
	SnapshotBytes int64
	// SnapshotRows and SnapshotRate limit what all sessions together read a second,
	// in rows and in bytes of rows; 0 means no limit.
	SnapshotRows, SnapshotRate int64
	// Zone is the zone whose wall clock TIMESTAMP columns show; nil means that of the server.
	Zone *time.Location
	// ZoneSet says that the user gave Zone, so that it must agree with the server.
	ZoneSet  bool
	ZeroDate mysqlrow.ZeroDate
	// Origin reports whether rows of transactions that a server of that uuid began are
	// read; nil reads those of all.
	Origin func(uuid string) bool
	// BitsLittleEndian and SpacedJSON are those of mysqlrow.Options.
	BitsLittleEndian, SpacedJSON bool
	// Scratch is a local folder for rows of XA transactions that do not fit into
	// memory; it is empty when an attempt begins.
	Scratch string
	// NewTables lets a restored job read tables that its state does not know.
	NewTables bool
	// Watch takes up tables that come while the reader runs; nil reads those of Tables alone.
	Watch *Watch
	// CatchUp ends Run once everything committed when Open ran has been emitted.
	CatchUp bool
	Tables  []Table
	Log     *slog.Logger
}

// Table is what one output port reads, one table or all that match a pattern;
// the port is its index in Config.Tables.
type Table struct {
	// Label is the name that the user knows the table by.
	Label string
	// Pos and ColumnPos are the places of table and columns in the script, if any.
	Pos       diag.Pos
	ColumnPos []diag.Pos
	// Database and Name are names, or with Pattern regular expressions that have
	// to match whole names: all tables that they match go into the one port.
	Database string
	Name     string
	Pattern  bool
	// Follow lets the port take the columns of its table as they change at the
	// source, and truncation with them: see dataflow.Change.
	Follow bool
	// AppendOnly emits every change as an insert, whatever it does to the row.
	AppendOnly bool
	// InsertsOnly refuses updates and deletes: the target has no place for them.
	InsertsOnly bool
	// Aside says why the table is not read now; its state is kept as it is. A table
	// that the state knows as set aside and that has no Aside is read on.
	Aside string
	// Compares lets rows that are read again be compared with those of the target,
	// so that its changelog tells each change once.
	Compares bool
	// Skip holds the operations whose changes are passed over; truncate is one more.
	Skip         []mysqlrow.Op
	SkipTruncate bool
	// OnlineChanges goes on with the table that gh-ost or pt-online-schema-change puts
	// in place of this one: it holds the same rows.
	OnlineChanges bool
	// PassBadRows passes over changes that cannot be read, each with a word in the log.
	PassBadRows bool
	// BadRowsAside makes a row that cannot be read a PortError.
	BadRowsAside bool
	// DeadLetters sends rows that cannot be read to the port of dead letters.
	DeadLetters bool
	// TakesDeadLetters says that the port reads no table: it emits dead letters, in
	// the form of DeadLetterSchema, for the target called Label.
	TakesDeadLetters bool
	// Schema is what is emitted; its columns are found at the source by name.
	Schema *columnar.Schema
	// Origin holds the name at the source of each column of Schema where it is
	// another one, else ""; nil if there is none. It may be shorter than Schema.
	Origin []string
	// Evolution says what of its changes the port takes; it needs Follow.
	Evolution Evolution
	// Shards are further tables whose rows go into the port, each with a key of its
	// own. Columns that one of them lacks are NULL in its rows.
	Shards []TableName
	// StateKey tells apart the states of a table that is read into several ports.
	StateKey string
	// Metadata holds the metadata key of each column of Schema, "" for a column
	// of the source; nil if there are no metadata columns.
	Metadata []string
	// PrimaryKey is the declared key. An update that changes it is emitted as -D and +I.
	PrimaryKey []string
	// Before names the columns of Schema, besides those of PrimaryKey, whose values
	// before a change are used; nil stands for all. Where the log lacks others, they are NULL.
	Before []string
	// ChunkKey names the column that cuts the snapshot; "" chooses the key.
	ChunkKey string
}

// TableName names a table of a source.
type TableName struct{ Database, Name string }

// Evolution says how a port takes the changes of the columns of its table. The
// zero value adds and widens columns, and lets dropped ones stay.
type Evolution struct {
	// Types is the type of a new column.
	Types mysqlrow.Mapping
	// Rename and Drop let columns that the source renames or drops be renamed or
	// dropped. Those of Keep stay in any case.
	Rename, Drop bool
	Keep         []string
	// NoAdd, NoWiden and NoTruncate leave out what they name.
	NoAdd, NoWiden, NoTruncate bool
	// NoReread says that rows from before are not read a second time for values
	// of new columns: they would be there twice.
	NoReread bool
	// Rekeys says that the target keeps its rows where a column of the key gets a
	// wider type that sorts alike.
	Rekeys bool
	// Stop refuses every change of tables.
	Stop bool
}

// defs gives what is read, one by one: the shards of a port each as a table. The
// definitions of one port have its index.
func (c *Config) defs() (list []Table, ports []int) {
	for i := range c.Tables {
		def := c.Tables[i]
		shards := def.Shards
		def.Shards = nil
		list, ports = append(list, def), append(ports, i)
		for _, s := range shards {
			def.Database, def.Name, def.Label = s.Database, s.Name, s.Database+"."+s.Name
			list, ports = append(list, def), append(ports, i)
		}
	}
	return list, ports
}

// origin is the name at the source of column i.
func (t *Table) origin(i int) string {
	if i < len(t.Origin) && t.Origin[i] != "" {
		return t.Origin[i]
	}
	return strings.TrimPrefix(t.Schema.Fields[i].Name, dataflow.HiddenPrefix)
}

func (t *Table) metadata(i int) string {
	if i >= len(t.Metadata) {
		return ""
	}
	return t.Metadata[i]
}

// Mode is where reading starts if there is no stored state.
type Mode uint8

// The modes, as scan.startup.mode names them.
const (
	// StartInitial reads the tables, then the changes.
	StartInitial Mode = iota
	// StartSnapshot reads the tables and ends.
	StartSnapshot
	// StartLatest reads the changes from now on.
	StartLatest
	// StartEarliest reads all changes the server still has.
	StartEarliest
	// StartOffset reads the changes from Startup's place on.
	StartOffset
	// StartTimestamp reads the transactions committed at Startup.Millis or later.
	StartTimestamp
)

// Startup is where reading starts if there is no stored state.
type Startup struct {
	Mode Mode
	// File and Offset, or GTIDs, are the place of StartOffset.
	File   string
	Offset uint64
	GTIDs  string
	// Millis is the time of StartTimestamp in ms since 1970.
	Millis int64
}
