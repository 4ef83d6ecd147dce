package cdc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/diag"
)

// TableInfo is a table as the server describes it.
type TableInfo struct {
	Database, Name string
	Comment        string
	// View says that it is no table but a view, which the binlog knows nothing of.
	View bool
	// Sequence says that it is a sequence of MariaDB, a counter.
	Sequence bool
	// Denied says that the user may not read all of it.
	Denied  bool
	Columns []mysqlrow.Column
	// PrimaryKey names the columns of the primary key in their order; empty if
	// there is none, or one over prefixes of columns.
	PrimaryKey []string
	// Bytes is the server's estimate of the size of the rows.
	Bytes int64
	// Aside says why the job does not read it for now; of StoredTables alone.
	Aside string
}

// ID gives database.table.
func (t *TableInfo) ID() string { return t.Database + "." + t.Name }

// Unread says why the table cannot be read, nil if it can.
func (t *TableInfo) Unread() *diag.Error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeSourceTable, Table: t.ID()}
	switch {
	case t.View:
		e.Msg, e.Hint = "it is a view, whose changes the binlog does not hold", "name the tables that it reads"
	case t.Sequence:
		e.Msg, e.Hint = "it is a sequence, which has no rows", "name the tables that take their numbers from it"
	case byTransaction(t.Columns):
		e.Msg = "it is system-versioned by transactions, so that the binlog holds statements instead of its rows"
		e.Hint = "let the columns of its period be TIMESTAMP(6), or leave the table out"
	default:
		return nil
	}
	return e
}

// byTransaction reports a table whose period counts transactions: MariaDB logs
// the statements that change it, whatever binlog_format says.
func byTransaction(columns []mysqlrow.Column) bool {
	return slices.ContainsFunc(columns, func(c mysqlrow.Column) bool { return c.RowEnd && c.DataType == "bigint" })
}

// Grant is the error for a table that the user may not read.
func (t *TableInfo) Grant() error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceGrant, Table: t.ID(),
		Msg:  "the user lacks the privilege SELECT on it, or on some of its columns",
		Hint: "GRANT SELECT ON " + t.sqlName() + " TO the user",
	}
}

func (t *TableInfo) sqlName() string { return sqlName(t.Database, t.Name) }

// Lister looks up tables of one server. Its calls come one after the other.
type Lister struct {
	n     *conn
	reads *readRights
}

// NewLister connects to the server of cfg, whose tables are not looked at.
func NewLister(ctx context.Context, cfg Config) (*Lister, error) {
	n, err := cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Lister{n: n}, nil
}

// Close ends the session.
func (l *Lister) Close() { l.n.close() }

// All describes the tables of a database in order of their names, without views.
func (l *Lister) All(database string) ([]TableInfo, error) {
	list, err := l.find(realTables + " AND TABLE_SCHEMA = " + literal(database))
	if err == nil && len(list) == 0 {
		err = l.missing(database, "")
	}
	return list, l.mayPass(err)
}

// Matching describes the tables whose names match, without views.
func (l *Lister) Matching(match func(database, table string) bool) ([]TableInfo, error) {
	names, err := l.n.query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE " + realTables + " AND TABLE_SCHEMA NOT IN " + systemSchemas +
		" ORDER BY TABLE_SCHEMA, TABLE_NAME")
	if err != nil {
		return nil, l.mayPass(err)
	}
	var out []TableInfo
	for i := 0; i < len(names.rows); {
		database := names.rows[i][0]
		var wanted []string
		for ; i < len(names.rows) && names.rows[i][0] == database; i++ {
			if match(database, names.rows[i][1]) {
				wanted = append(wanted, literal(names.rows[i][1]))
			}
		}
		if len(wanted) == 0 {
			continue
		}
		list, err := l.find(realTables + " AND TABLE_SCHEMA = " + literal(database) + " AND TABLE_NAME IN (" + strings.Join(wanted, ", ") + ")")
		if err != nil {
			return nil, l.mayPass(err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// One describes a table or view; what is not there is an error.
func (l *Lister) One(database, name string) (TableInfo, error) {
	list, err := l.find("TABLE_SCHEMA = " + literal(database) + " AND TABLE_NAME = " + literal(name))
	if err == nil && len(list) == 0 {
		err = l.missing(database, name)
	}
	if err != nil {
		return TableInfo{}, l.mayPass(err)
	}
	return list[0], nil
}

// mayPass makes a broken connection an error that a restart may cure; nil stays nil.
func (l *Lister) mayPass(err error) error {
	if err == nil {
		return nil
	}
	return sourceError(l.n.addr, err)
}

// find describes the tables of one database for which a condition over
// information_schema.TABLES holds.
func (l *Lister) find(where string) ([]TableInfo, error) {
	t, err := l.n.query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE " + where + " ORDER BY TABLE_NAME")
	if err != nil || len(t.rows) == 0 {
		return nil, err
	}
	names := make([]string, len(t.rows))
	for i, r := range t.rows {
		names[i] = r[1]
	}
	found, err := l.n.describeAll(t.rows[0][0], names)
	if err != nil {
		return nil, err
	}
	if l.reads == nil {
		if l.reads, err = l.n.readRights(); err != nil {
			return nil, err
		}
	}
	list := make([]TableInfo, 0, len(t.rows))
	for _, r := range t.rows {
		src := found[r[1]]
		if src == nil {
			continue // dropped meanwhile
		}
		info := src.info(r[0], r[1])
		// Without the right to a column the server does not show it.
		if !l.reads.all(r[0]) && denied(l.n.exec("SELECT * FROM "+info.sqlName()+" LIMIT 0")) {
			info.Denied = true
		}
		list = append(list, info)
	}
	return list, nil
}

// info describes the table to others.
func (t *sourceTable) info(database, name string) TableInfo {
	return TableInfo{
		Database: database, Name: name, Comment: t.comment, View: strings.Contains(t.kind, "VIEW"), Sequence: t.kind == "SEQUENCE", PrimaryKey: t.primaryKey, Bytes: t.bytes,
		Columns: slices.DeleteFunc(slices.Clone(t.columns), func(c mysqlrow.Column) bool { return c.Hidden }),
	}
}

// missing says that a database has no such table, or no table at all if name is empty.
func (l *Lister) missing(database, name string) error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceTable,
		Msg:  fmt.Sprintf("there is no table %s.%s at MySQL %s, or the user may not see it", database, name, l.n.addr),
		Hint: "check the name, and that the user has SELECT on the table",
	}
	hidden := TableInfo{Database: database, Name: name}
	if name != "" && denied(l.n.exec("SELECT * FROM "+hidden.sqlName()+" LIMIT 0")) {
		return hidden.Grant()
	}
	dbs, err := l.n.databaseNames()
	if err != nil {
		return err
	}
	known := false
	for _, d := range dbs {
		known = known || strings.EqualFold(d, database)
	}
	switch {
	case !known:
		e.Msg = fmt.Sprintf("there is no database %s at MySQL %s, or the user may not see it", database, l.n.addr)
		if near := configs.Nearest(database, dbs); near != "" {
			e.Hint = fmt.Sprintf("did you mean %s?", near)
		}
		return e
	case name == "":
		e.Msg = fmt.Sprintf("database %s at MySQL %s has no table that the user may see", database, l.n.addr)
		return e
	}
	names, err := l.n.tableNames(database)
	if err != nil {
		return err
	}
	if near := configs.Nearest(name, names); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s.%s?", database, near)
	}
	return e
}
