package cdc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/diag"
)

// check looks at the server and at every table, and compiles the decoding of
// the tables. The error holds everything that is wrong.
// opening says that reading is about to begin, with known as its state.
func (r *Reader) check(n *conn, known map[string]tableState, opening bool) error {
	s, err := n.inspect()
	if err != nil {
		return err
	}
	r.server = s
	var errs diag.List
	if old := s.mariadb && !versionAtLeast(s.version, 10, 6); old || !s.mariadb && !versionAtLeast(s.version, 8, 0) {
		errs = append(errs, &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceVersion,
			Msg:  fmt.Sprintf("the server at %s has version %s", n.addr, s.version),
			Hint: "use MySQL 8.0 or later, or MariaDB 10.6 or later",
		})
	}
	errs = append(errs, binlogErrors(s)...)
	errs.Add(n.grantErrors(r.cfg.User, s))
	if err := r.zoneError(s); err != nil {
		errs.Add(err)
	}
	if r.cfg.Origin != nil && (s.mariadb || !s.gtids) {
		errs = append(errs, &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Option: "debezium.gtid.source.includes",
			Msg: fmt.Sprintf("the server at %s has no GTIDs that tell which server began a transaction", n.addr), Hint: "leave 'debezium.gtid.source.includes' and 'debezium.gtid.source.excludes' out",
		})
	}
	clear(r.byName)
	if err := r.resolve(n); err != nil {
		errs.Add(err)
		return errs.Err()
	}
	if err := r.look(n); err != nil {
		return err
	}
	defer func() { r.looked = nil }()
	keys := r.stateKeys()
	for _, t := range r.tables {
		var then *tableState
		if ts, ok := known[keys[t]]; ok {
			then = &ts
		}
		err := r.checkTable(n, t, then)
		if t.def.Follow && known == nil && !opening && diag.Retryable(err) {
			continue // the state may know it
		}
		if err != nil {
			var one *diag.Error
			var list diag.List
			if !errors.As(err, &one) && !errors.As(err, &list) {
				return err
			}
			if opening && then != nil && t.def.Follow {
				return t.alone(err)
			}
			errs.Add(err)
			continue
		}
		k := r.server.tableKey(t.def.Database, t.def.Name)
		r.byName[k] = append(r.byName[k], t)
	}
	return errs.Err()
}

// looked is what the server tells of all tables at once.
type looked struct {
	tables   map[string]map[string]*sourceTable // by database and name
	cascades map[string][]string                // by table key: the constraints
}

// look describes all tables with a few queries a database.
func (r *Reader) look(n *conn) (err error) {
	l := &looked{tables: map[string]map[string]*sourceTable{}}
	if r.rights, err = n.readRights(); err != nil {
		return err
	}
	names := map[string][]string{}
	for _, t := range r.tables {
		names[t.def.Database] = append(names[t.def.Database], t.def.Name)
	}
	for database, list := range names {
		if l.tables[database], err = n.describeAll(database, list); err != nil {
			return err
		}
	}
	if r.cascadesHidden() {
		if l.cascades, err = n.cascades(r.server, slices.Sorted(maps.Keys(names))); err != nil {
			return err
		}
	}
	r.looked = l
	return nil
}

// sourceOf gives what look found of a table, nil if it is not there.
func (r *Reader) sourceOf(t *table) *sourceTable {
	found := r.looked.tables[t.def.Database]
	if src := found[t.def.Name]; src != nil || !r.server.folds() {
		return src
	}
	for name, src := range found { // the server folds the case of names
		if strings.EqualFold(name, t.def.Name) {
			return src
		}
	}
	return nil
}

// binlogErrors checks the settings without which rows are missing from the log.
func binlogErrors(s *server) diag.List {
	var errs diag.List
	add := func(msg, hint string) {
		errs = append(errs, &diag.Error{Domain: diag.External, Code: diag.CodeSourceBinlog, Msg: fmt.Sprintf("MySQL at %s: %s", s.addr, msg), Hint: hint})
	}
	if s.vars["log_bin"] != "ON" {
		add("the binary log is off (log_bin=OFF)", "start the server with log_bin, as in my.cnf: [mysqld] log_bin=binlog server_id=1")
		return errs
	}
	if v := s.vars["binlog_format"]; v != "ROW" {
		add("binlog_format is "+v, "SET GLOBAL binlog_format = 'ROW'; sessions keep the old value until they connect again")
	}
	return errs
}

// zoneError compares the zone that the user gave with the clock of the server,
// and settles the zone in which TIMESTAMP columns are shown.
func (r *Reader) zoneError(s *server) error {
	r.zone = r.cfg.Zone
	if r.zone == nil {
		r.zone = time.FixedZone(s.zone, int(s.offset/time.Second))
		if loc, err := time.LoadLocation(s.zone); err == nil && s.zone != "" {
			if _, off := time.Now().In(loc).Zone(); time.Duration(off)*time.Second == s.offset {
				r.zone = loc
			}
		}
		return nil
	}
	_, off := time.Now().In(r.zone).Zone()
	if d := time.Duration(off)*time.Second - s.offset; !r.cfg.ZoneSet || d.Abs() <= 30*time.Minute {
		return nil
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeBadOption, Option: "server-time-zone",
		Msg:  fmt.Sprintf("'%s' is %s from UTC now, but MySQL at %s is %s from UTC (its time_zone is %s)", r.zone, time.Duration(off)*time.Second, s.addr, s.offset, s.zone),
		Hint: "give the zone of the server, or leave the option out",
	}
}

// checkTable finds the table and compiles its decoding.
// known is what the state holds of it, nil for nothing.
func (r *Reader) checkTable(n *conn, t *table, known *tableState) error {
	src := r.sourceOf(t)
	if src != nil && src.view() && t.def.Follow {
		src = nil // it stands in place of the table, which was dropped
	}
	if src != nil {
		switch err := r.readable(n, t, src); {
		case err == nil:
		case t.def.Follow && errorCode(err) == mysql.ER_NO_SUCH_TABLE:
			src = nil // at this moment
		default:
			return err
		}
	}
	if known != nil && src == nil && t.def.Follow {
		// Dropped while the job was down: the log still holds rows of it.
		then := &sourceTable{columns: known.Columns, primary: known.Primary, engine: "InnoDB"}
		return t.fit(then, r.cells())
	}
	if src == nil && t.def.Follow {
		return t.vanished()
	}
	if src == nil {
		return t.absence(n)
	}
	var errs diag.List
	if err := t.fit(src, r.cells()); err != nil {
		errs.Add(err)
	}
	if err := t.imageError(r.server, src); err != nil {
		errs.Add(t.at(-1, err))
	}
	if len(errs) > 0 {
		return errs
	}
	r.note(t)
	if names := r.looked.cascades[r.server.tableKey(t.def.Database, t.def.Name)]; len(names) > 0 {
		r.warnCascades(t, names)
	}
	return nil
}

// absence says why the server shows no such table.
func (t *table) absence(n *conn) error {
	if err := n.exec("SELECT 1 FROM " + t.sqlName() + " LIMIT 0"); denied(err) {
		return t.grantSelect(n, "SELECT")
	}
	return t.missingTable(n)
}

// vanished tells of a table that was there a moment ago, and may be soon again.
func (t *table) vanished() error {
	return t.at(-1, &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceTable, Retry: true,
		Msg: "source table " + t.id() + " went away while the job started", Hint: "the job looks again which tables there are",
	})
}

// readable checks that src is a table, and that the user may read it.
func (r *Reader) readable(n *conn, t *table, src *sourceTable) error {
	info := TableInfo{Database: t.def.Database, Name: t.def.Name, View: src.engine == "", Sequence: src.kind == "SEQUENCE", Columns: src.columns}
	if e := info.Unread(); e != nil {
		return t.at(-1, e)
	}
	if r.cfg.needsSelect() {
		if !r.rights.all(t.def.Database) {
			if err := n.exec("SELECT 1 FROM " + t.sqlName() + " LIMIT 0"); denied(err) {
				return t.grantSelect(n, "SELECT")
			} else if err != nil {
				return err
			}
		}
		if !r.server.gtids || !src.transactional() {
			if err := n.exec("SET SESSION lock_wait_timeout = 1"); err != nil {
				return err
			}
			switch err := n.exec("LOCK TABLES " + t.sqlName() + " READ"); {
			case denied(err):
				return t.grantSelect(n, "SELECT, LOCK TABLES")
			case errorCode(err) == mysql.ER_LOCK_WAIT_TIMEOUT: // it may, when a writer has ended
			case err != nil:
				return err
			default:
				if err := n.exec("UNLOCK TABLES"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// needsSelect reports whether the tables themselves are read.
func (c *Config) needsSelect() bool {
	return c.Startup.Mode == StartInitial || c.Startup.Mode == StartSnapshot
}

// note tells what the user may want to know of a table.
func (r *Reader) note(t *table) {
	if !r.cfg.needsSelect() {
		return
	}
	if !t.src.transactional() {
		r.log.Warn("table has an engine without transactions: writers wait while a chunk of it is read", "table", t.id(), "engine", t.src.engine)
	}
	if len(t.cut) > 0 {
		return
	}
	r.log.Info("table is read as one chunk", "table", t.id(), "reason", t.uncut, "estimated_rows", t.src.rows)
}

// cascadesHidden reports whether the server may change rows by foreign keys without a
// trace: cascades are in the binlog only since version 9.6, unless
// innodb_native_foreign_keys gives them back to the storage engine.
func (r *Reader) cascadesHidden() bool {
	return r.server.mariadb || !versionAtLeast(r.server.version, 9, 6) || r.server.vars["innodb_native_foreign_keys"] == "ON"
}

// cascades gives the foreign keys of databases that change rows, by table key.
func (n *conn) cascades(s *server, databases []string) (map[string][]string, error) {
	names := make([]string, len(databases))
	for i, d := range databases {
		names[i] = literal(d)
	}
	found, err := n.query(fmt.Sprintf(`SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
 WHERE CONSTRAINT_SCHEMA IN (%s) AND (DELETE_RULE IN ('CASCADE', 'SET NULL') OR UPDATE_RULE IN ('CASCADE', 'SET NULL'))`, strings.Join(names, ", ")))
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, row := range found.rows {
		k := s.tableKey(row[0], row[1])
		out[k] = append(out[k], row[2])
	}
	return out, nil
}

// missingTable says that there is no such table, and which one may be meant.
func (t *table) missingTable(n *conn) error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceTable,
		Msg:  fmt.Sprintf("there is no table %s at MySQL %s, or the user may not see it", t.id(), n.addr),
		Hint: "check 'database-name' and 'table-name', and that the user has SELECT on the table",
	}
	dbs, err := n.databaseNames()
	if err != nil {
		return err
	}
	if !slices.Contains(dbs, t.def.Database) {
		e.Msg = fmt.Sprintf("there is no database %s at MySQL %s, or the user may not see it", t.def.Database, n.addr)
		if near := configs.Nearest(t.def.Database, dbs); near != "" {
			e.Hint = fmt.Sprintf("did you mean 'database-name' = '%s'?", near)
		}
		return t.at(-1, e)
	}
	names, err := n.tableNames(t.def.Database)
	if err != nil {
		return err
	}
	if near := configs.Nearest(t.def.Name, names); near != "" {
		e.Hint = fmt.Sprintf("did you mean 'table-name' = '%s'?", near)
	}
	return t.at(-1, e)
}

// missingColumn says that the table has no such column.
func (t *table) missingColumn(i int, column string, src *sourceTable) *diag.Error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceColumn, Table: t.def.Label, Pos: t.def.Pos,
		Msg:   fmt.Sprintf("column '%s' does not exist in source table %s", column, t.id()),
		Notes: []string{"columns: " + strings.Join(src.columnNames(), ", ")},
		Hint:  "use a column of the source table",
	}
	if i >= 0 && i < len(t.def.ColumnPos) {
		e.Pos = t.def.ColumnPos[i]
	}
	if near := configs.Nearest(column, src.columnNames()); near != "" {
		e.Hint = fmt.Sprintf("did you mean '%s'?", near)
	}
	return e
}

// sameColumns reports whether two versions of a table agree in all that matters for its rows.
func sameColumns(a, b []mysqlrow.Column) bool {
	return slices.EqualFunc(a, b, sameColumn)
}

func sameColumn(x, y mysqlrow.Column) bool {
	x.Comment, y.Comment, x.Default, y.Default = "", "", nil, nil
	x.Counts, y.Counts = false, false
	if x.Expression == "" || y.Expression == "" { // a state of before does not know it
		x.Expression, y.Expression = "", ""
	}
	return x == y
}
