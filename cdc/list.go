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
type Lister struct{ n *conn }

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
	if err != nil || len(list) > 0 {
		return list, err
	}
	return nil, l.missing(database, "")
}

// One describes a table or view; what is not there is an error.
func (l *Lister) One(database, name string) (TableInfo, error) {
	list, err := l.find("TABLE_SCHEMA = " + literal(database) + " AND TABLE_NAME = " + literal(name))
	if err != nil {
		return TableInfo{}, err
	}
	if len(list) == 0 {
		return TableInfo{}, l.missing(database, name)
	}
	return list[0], nil
}

// find describes the tables for which a condition over information_schema.TABLES holds.
func (l *Lister) find(where string) ([]TableInfo, error) {
	t, err := l.n.query("SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT, DATA_LENGTH FROM information_schema.TABLES WHERE " + where + " ORDER BY TABLE_NAME")
	if err != nil {
		return nil, err
	}
	list := make([]TableInfo, 0, len(t.rows))
	for _, r := range t.rows {
		info := TableInfo{Database: r[0], Name: r[1], View: strings.Contains(r[2], "VIEW"), Sequence: r[2] == "SEQUENCE", Comment: r[3], Bytes: number(r[4])}
		src, err := l.n.describe(info.Database, info.Name)
		if err != nil {
			return nil, err
		}
		if src == nil {
			continue // dropped meanwhile
		}
		info.Columns = slices.DeleteFunc(slices.Clone(src.columns), func(c mysqlrow.Column) bool { return c.Hidden })
		// Without the right to a column the server does not show it.
		if err := l.n.exec("SELECT * FROM " + info.sqlName() + " LIMIT 0"); denied(err) {
			info.Denied = true
		}
		if info.PrimaryKey, err = l.primaryKey(&info); err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

func (l *Lister) primaryKey(t *TableInfo) ([]string, error) {
	r, err := l.n.query(fmt.Sprintf(`SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX`, literal(t.Database), literal(t.Name)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range r.rows {
		if slices.ContainsFunc(t.Columns, func(c mysqlrow.Column) bool { return c.RowEnd && c.Name == row[0] }) {
			continue // MariaDB adds it to the key, where it tells history apart
		}
		if row[1] != "" {
			return nil, nil // a prefix does not identify a row by the values of columns
		}
		names = append(names, row[0])
	}
	return names, nil
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
