package mysqlcdc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"leat/cdc"
	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Connector makes readers of MySQL tables.
type Connector struct{}

var _ connect.SourceConnector = Connector{}

// New makes the connector.
func New() Connector { return Connector{} }

// Name is "mysql-cdc".
func (Connector) Name() string { return "mysql-cdc" }

// Options declares the WITH keys.
func (Connector) Options() *configs.Set { return Options }

// SourceMode is All, as both images of an update are read, or InsertOnly where
// every change is given as an insert.
func (Connector) SourceMode(t *connect.Table) connect.ChangelogMode {
	if appendOnly.Get(t.Options) {
		return connect.InsertOnly
	}
	return connect.All
}

// Group joins the tables of one account at one server that start alike: they
// share a binlog connection and thus see each transaction at once.
func (Connector) Group(t *connect.Table) string {
	parts := []string{fmt.Sprintf("%s@%s:%d", username.Get(t.Options), hostname.Get(t.Options), port.Get(t.Options))}
	if mode := modeOf(t.Options); mode != "initial" {
		parts = append(parts, "from", mode)
		for _, key := range []string{startFile.Key, startPos.Key, startGTIDs.Key, startMillis.Key} {
			if v, ok := t.Options[key]; ok {
				parts = append(parts, v.Text)
			}
		}
	}
	return strings.Join(parts, " ")
}

// Bounded reports scan.startup.mode = snapshot.
func (Connector) Bounded(t *connect.Table) bool { return modeOf(t.Options) == "snapshot" }

// CheckTable checks key, metadata columns, and options that depend on each other.
func (Connector) CheckTable(t *connect.Table) error {
	var errs diag.List
	add := func(code diag.Code, option, msg, hint string) {
		e := &diag.Error{Domain: diag.User, Code: code, Pos: t.Pos, Table: t.Name, Option: option, Msg: msg, Hint: hint}
		if v, ok := t.Options[option]; ok {
			e.Pos = v.Pos
		}
		errs = append(errs, e)
	}
	mode := modeOf(t.Options)
	reads := mode == "initial" || mode == "snapshot"
	if reads && len(t.PrimaryKey) == 0 && !chunkKey.IsSet(t.Options) {
		add(diag.CodeNoPrimaryKey, "", "a mysql-cdc table needs a primary key to be read in chunks",
			"add PRIMARY KEY (…) NOT ENFORCED, or set 'scan.incremental.snapshot.chunk.key-column'")
	}
	for _, o := range []configs.Option[string]{tlsCA, tlsCert, tlsKey} {
		if o.IsSet(t.Options) && !encrypts(t.Options) {
			add(diag.CodeBadOption, o.Key, "it needs an encrypted connection", "set 'jdbc.properties.sslMode' = 'VERIFY_CA' or 'VERIFY_IDENTITY'")
		}
	}
	if tlsCA.IsSet(t.Options) && encrypts(t.Options) && !verifies(t.Options) {
		add(diag.CodeBadOption, tlsCA.Key, "nothing is checked by it in this mode", "set 'jdbc.properties.sslMode' = 'VERIFY_CA' or 'VERIFY_IDENTITY'")
	}
	if tlsCert.IsSet(t.Options) != tlsKey.IsSet(t.Options) {
		add(diag.CodeMissingOption, tlsCert.Key, "a client's certificate and its key go together", "set 'leat.tls.cert-file' and 'leat.tls.key-file'")
	}
	if mode == "specific-offset" && !startGTIDs.IsSet(t.Options) && (!startFile.IsSet(t.Options) || !startPos.IsSet(t.Options)) {
		add(diag.CodeMissingOption, "scan.startup.mode", "specific-offset needs a place to start from",
			"add 'scan.startup.specific-offset.gtid-set', or '.file' and '.pos'")
	}
	if engineMode.IsSet(t.Options) && startupMode.IsSet(t.Options) {
		without := configs.Values{engineMode.Key: t.Options[engineMode.Key]}
		if other := modeOf(without); other != mode {
			add(diag.CodeBadOption, engineMode.Key, fmt.Sprintf("it means '%s', but 'scan.startup.mode' is '%s'", other, mode), "leave one of the two out")
		}
	}
	if mode == "timestamp" && !startMillis.IsSet(t.Options) {
		add(diag.CodeMissingOption, "scan.startup.mode", "timestamp needs a time to start from", "add 'scan.startup.timestamp-millis'")
	}
	errs = append(errs, engineColumns(t)...)
	keys := cdc.MetadataKeys()
	for i, f := range t.Schema.Fields {
		key, ok := t.Metadata[f.Name]
		if !ok {
			continue
		}
		want, known := keys[key]
		e := &diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Pos: t.Pos, Table: t.Name}
		if i < len(t.ColumnPos) {
			e.Pos = t.ColumnPos[i]
		}
		switch {
		case !known:
			e.Msg = fmt.Sprintf("column '%s': leat has no metadata '%s' for a mysql-cdc table", f.Name, key)
			e.Notes = []string{"metadata: " + strings.Join(sortedNames(keys), ", ")}
			e.Hint = "leave the column out"
		case f.Type.Kind != want.Kind || f.Type.Length != want.Length:
			e.Msg = fmt.Sprintf("column '%s': metadata '%s' is %s", f.Name, key, want.AsNullable())
			e.Hint = fmt.Sprintf("declare `%s` as %s METADATA FROM '%s' VIRTUAL", f.Name, want.AsNullable(), key)
		default:
			continue
		}
		errs = append(errs, e)
	}
	return errs.Err()
}

func sortedNames(m map[string]columnar.DataType) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// NewSource makes the reader of the tables of one group. What concerns the
// connection is taken from the first table.
func (c Connector) NewSource(spec connect.SourceSpec) (dataflow.SourceReader, error) {
	if len(spec.Tables) == 0 {
		return nil, fmt.Errorf("making source %s: no tables", spec.UID)
	}
	cfg, err := connection(spec.Tables[0].Table.Options)
	if err != nil {
		return nil, err
	}
	cfg.NewTables = newTables.Get(spec.Tables[0].Table.Options)
	cfg.CatchUp, cfg.Log, cfg.Scratch = spec.Env.CatchUp, spec.Env.Log, spec.Env.Scratch
	for _, st := range spec.Tables {
		cfg.Tables = append(cfg.Tables, sourceTable(st))
	}
	cfg.Watch = c.watch(spec.Watch)
	return cdc.New(cfg)
}

// watch lets the reader take up tables that come.
func (c Connector) watch(w *connect.Watch) *cdc.Watch {
	if w == nil {
		return nil
	}
	return &cdc.Watch{Matches: w.Spec.Wants, Add: func(ctx context.Context, info *cdc.TableInfo, out dataflow.Collector) ([]cdc.Added, error) {
		d := &discovery{spec: w.Spec, connector: c, seen: map[string]bool{}}
		if err := d.checkOptions(); err != nil {
			return nil, err
		}
		def, err := d.readable(info)
		if err != nil {
			return nil, err
		}
		found := &connect.Discovered{Database: info.Database, Name: info.Name, Comment: info.Comment, Bytes: info.Bytes, Table: def}
		list, err := w.Add(ctx, found, out)
		added := make([]cdc.Added, len(list))
		for i, a := range list {
			t := sourceTable(a.Table)
			t.Database, t.Name, t.Label, t.Shards = info.Database, info.Name, info.ID(), nil
			added[i] = cdc.Added{Table: t, Port: a.Port, Joined: a.Joined}
		}
		return added, err
	}}
}

// connection gives what options say of the server and of reading all its tables.
func connection(v configs.Values) (cdc.Config, error) {
	cfg := cdc.Config{
		Host: hostname.Get(v), Port: int(port.Get(v)), User: username.Get(v), Password: password.Get(v),
		ServerID: chooseServerID(v), ConnectTimeout: timeoutOf(v), MaxRetries: int(maxRetries.Get(v)), Heartbeat: heartbeat.Get(v),
		SnapshotReaders: int(readers.Get(v)), SnapshotBytes: memory.Get(v), SnapshotRows: maxRows.Get(v), SnapshotRate: maxRate.Get(v), TLS: tlsConfig(v), TLSAsNeeded: asNeeded(v), Startup: startup(v),
	}
	if chunkSize.IsSet(v) {
		cfg.ChunkRows = int(chunkSize.Get(v))
	}
	if serverZone.IsSet(v) {
		loc, err := configs.ParseZone(serverZone.Get(v))
		if err != nil {
			return cfg, fmt.Errorf("reading 'server-time-zone': %w", err)
		}
		cfg.Zone, cfg.ZoneSet = loc, true
	}
	switch zeroDate.Get(v) {
	case "epoch":
		cfg.ZeroDate = mysqlrow.ZeroDateEpoch
	case "error":
		cfg.ZeroDate = mysqlrow.ZeroDateError
	case "string":
		cfg.ZeroDate = mysqlrow.ZeroDateText
	}
	if !zeroDate.IsSet(v) && jdbcZero.Get(v) == "EXCEPTION" {
		cfg.ZeroDate = mysqlrow.ZeroDateError
	}
	cfg.Origin = originOf(v)
	cfg.SpacedJSON, cfg.BitsLittleEndian = !legacyJSON.Get(v), bitOrder.Get(v) == "little-endian"
	return cfg, nil
}

func sourceTable(st connect.SourceTable) cdc.Table {
	t := st.Table
	out := cdc.Table{
		Label: t.Name, Pos: t.Pos, Database: database.Get(t.Options), Name: table.Get(t.Options),
		Schema: st.Schema(), PrimaryKey: slices.Clone(t.PrimaryKey), Follow: st.Follow, Aside: st.Aside, BadRowsAside: st.BadRowsAside, DeadLetters: st.DeadLetters, TakesDeadLetters: st.TakesDeadLetters, Compares: st.Compares, ChunkKey: chunkKey.Get(t.Options), AppendOnly: appendOnly.Get(t.Options), InsertsOnly: st.InsertsOnly,
	}
	ev := &st.Evolution
	out.StateKey = st.StateKey
	out.Evolution = cdc.Evolution{
		Rename: ev.Rename, Drop: ev.Drop, Keep: ev.Keep, NoAdd: ev.NoAdd, NoWiden: ev.NoWiden, NoTruncate: ev.NoTruncate, NoReread: ev.NoReread, Stop: ev.Stop, Rekeys: ev.Rekeys,
	}
	switch modeOf(t.Options) {
	case "latest-offset", "specific-offset", "timestamp":
		out.Evolution.NoReread = true // it holds what changed since then
	}
	out.Evolution.Types, _ = mysqlrow.MappingOf(ev.TypeModes) // checked by Discover
	for _, s := range st.Shards {
		out.Shards = append(out.Shards, cdc.TableName(s))
	}
	if st.Before != nil {
		out.Before = []string{}
		for _, i := range st.Before {
			out.Before = append(out.Before, t.Schema.Fields[i].Name)
		}
	}
	engineTable(&out, t.Options)
	db, oneDB := plainName(out.Database)
	name, oneName := plainName(out.Name)
	if oneDB && oneName {
		out.Database, out.Name = db, name
	} else {
		out.Pattern = true
	}
	for _, i := range st.Needed {
		if t.ColumnPos != nil {
			out.ColumnPos = append(out.ColumnPos, t.ColumnPos[i])
		}
		out.Metadata = append(out.Metadata, t.Metadata[t.Schema.Fields[i].Name])
		out.Origin = append(out.Origin, t.Origin[t.Schema.Fields[i].Name])
	}
	return out
}

func startup(v configs.Values) cdc.Startup {
	s := cdc.Startup{File: startFile.Get(v), Offset: uint64(startPos.Get(v)), GTIDs: startGTIDs.Get(v), Millis: startMillis.Get(v)}
	switch modeOf(v) {
	case "snapshot":
		s.Mode = cdc.StartSnapshot
	case "earliest-offset":
		s.Mode = cdc.StartEarliest
	case "latest-offset":
		s.Mode = cdc.StartLatest
	case "specific-offset":
		s.Mode = cdc.StartOffset
	case "timestamp":
		s.Mode = cdc.StartTimestamp
	}
	return s
}

// chooseServerID takes the given id, or one of the range.
func chooseServerID(v configs.Values) uint32 {
	lo, hi := uint32(5400), uint32(6400)
	if serverID.IsSet(v) {
		if a, b, err := parseServerID(serverID.Get(v)); err == nil {
			lo, hi = a, b
		}
	}
	return lo + rand.Uint32N(hi-lo+1)
}

// asNeeded reports whether the server may decide about TLS: where the script
// does not, or prefers it.
func asNeeded(v configs.Values) bool {
	return !sslMode.IsSet(v) && !useSSL.IsSet(v) && !requireSSL.Get(v) || sslMode.Get(v) == "PREFERRED"
}
