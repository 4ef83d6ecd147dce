package cdc

import (
	"fmt"
	"strconv"
	"strings"

	"leat/cdc/mysqlrow"
)

// sourceTable is a table as the server describes it.
type sourceTable struct {
	columns []mysqlrow.Column
	// primary names the columns of the primary key, or else of the first unique
	// key without NULLs; empty if there is neither.
	primary []string
	// indexed names the columns that lead an index.
	indexed []string
	engine  string
	// rows and rowBytes are the server's estimates.
	rows     int64
	rowBytes int64
}

// index gives the position of the column called name without case, as MySQL compares; -1 if none.
func (t *sourceTable) index(name string) int {
	for i, c := range t.columns {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

// transactional reports whether a session can read the table as of one moment
// while others write it.
func (t *sourceTable) transactional() bool {
	switch strings.ToUpper(t.engine) {
	case "INNODB", "ROCKSDB", "NDBCLUSTER":
		return true
	}
	return false
}

// columnNames lists the columns for suggestions.
func (t *sourceTable) columnNames() []string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.Name
	}
	return out
}

// literal writes s as a MySQL string that means the same under every sql_mode.
func literal(s string) string {
	if s == "" {
		return "''"
	}
	return fmt.Sprintf("CONVERT(X'%X' USING utf8mb4)", s)
}

const columnQuery = `SELECT COLUMN_NAME, LOWER(DATA_TYPE), COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION,
 NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT, COLUMN_COMMENT, COLUMN_DEFAULT IS NULL, EXTRA
 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION`

// describe reads columns, keys and estimates of a table; nil if there is none.
func (n *conn) describe(database, table string) (*sourceTable, error) {
	db, tb := literal(database), literal(table)
	cols, err := n.query(fmt.Sprintf(columnQuery, db, tb))
	if err != nil || len(cols.rows) == 0 {
		return nil, err
	}
	t := &sourceTable{}
	for _, r := range cols.rows {
		c := mysqlrow.Column{
			Name: r[0], DataType: r[1], ColumnType: r[2], Length: number(r[3]),
			Precision: int(number(r[4])), Scale: int(number(r[5])), FractionDigits: int(number(r[6])),
			Charset: r[7], Collation: r[8], Nullable: r[9] == "YES", Comment: r[11],
		}
		c.Generated = strings.Contains(strings.ToUpper(r[13]), "GENERATED") && !strings.Contains(strings.ToUpper(r[13]), "DEFAULT_GENERATED")
		if r[12] == "0" {
			c.Default = &r[10]
		}
		t.columns = append(t.columns, c)
	}
	keys, err := n.query(fmt.Sprintf(`SELECT INDEX_NAME, COLUMN_NAME, NON_UNIQUE, NULLABLE, SUB_PART FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME IS NOT NULL ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`, db, tb))
	if err != nil {
		return nil, err
	}
	t.takeKeys(keys)
	info, err := n.query(fmt.Sprintf("SELECT ENGINE, TABLE_ROWS, AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s", db, tb))
	if err != nil {
		return nil, err
	}
	if len(info.rows) > 0 {
		t.engine, t.rows, t.rowBytes = info.rows[0][0], number(info.rows[0][1]), number(info.rows[0][2])
	}
	return t, nil
}

// takeKeys finds the row identity among the index columns, which come index by
// index with the primary key first.
func (t *sourceTable) takeKeys(keys resultTable) {
	for i := 0; i < len(keys.rows); {
		j, usable := i, true
		var names []string
		for ; j < len(keys.rows) && keys.rows[j][0] == keys.rows[i][0]; j++ {
			r := keys.rows[j]
			names = append(names, r[1])
			usable = usable && r[2] == "0" && r[3] != "YES" && r[4] == ""
		}
		t.indexed = append(t.indexed, names[0])
		if usable && t.primary == nil {
			t.primary = names
		}
		i = j
	}
}

// tableNames lists the tables of a database that the user may see.
func (n *conn) tableNames(database string) ([]string, error) {
	return n.names("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + literal(database) + " ORDER BY TABLE_NAME LIMIT 10000")
}

// databaseNames lists the databases that the user may see.
func (n *conn) databaseNames() ([]string, error) {
	return n.names("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME LIMIT 10000")
}

func (n *conn) names(sql string) ([]string, error) {
	t, err := n.query(sql)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(t.rows))
	for i, r := range t.rows {
		out[i] = r[0]
	}
	return out, nil
}

// number reads a count of the server; a text that is none counts as 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
