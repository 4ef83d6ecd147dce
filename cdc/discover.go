package cdc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

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
	// kind is TABLE_TYPE: BASE TABLE, SYSTEM VERSIONED, VIEW or SEQUENCE.
	kind   string
	engine string
	// primaryKey is primary where that is the primary key, over whole columns.
	primaryKey []string
	comment    string
	// bytes is the server's estimate of the size of the rows.
	bytes int64
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

// view reports a view, which may have taken the place of a table.
func (t *sourceTable) view() bool { return t.engine == "" && strings.HasSuffix(t.kind, "VIEW") }

// columnNames lists the columns for suggestions.
func (t *sourceTable) columnNames() []string {
	var out []string
	for _, c := range t.columns {
		if !c.Hidden {
			out = append(out, c.Name)
		}
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

// columnQuery, keyQuery and tableQuery describe the tables for which a condition
// holds; the last cell of a row is the name of its table.
const (
	columnQuery = `SELECT COLUMN_NAME, LOWER(DATA_TYPE), COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION,
 NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT, COLUMN_COMMENT, COLUMN_DEFAULT IS NULL, EXTRA, GENERATION_EXPRESSION,
 TABLE_NAME FROM information_schema.COLUMNS WHERE %s ORDER BY TABLE_NAME, ORDINAL_POSITION`
	keyQuery = `SELECT INDEX_NAME, COLUMN_NAME, NON_UNIQUE, NULLABLE, SUB_PART, INDEX_TYPE, TABLE_NAME FROM information_schema.STATISTICS
 WHERE %s ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`
	tableQuery = `SELECT TABLE_TYPE, ENGINE, TABLE_ROWS, AVG_ROW_LENGTH, TABLE_COMMENT, DATA_LENGTH, TABLE_NAME FROM information_schema.TABLES WHERE %s`
)

// lockRemembered is how long a table counts as locked after a lock was waited for in vain.
const lockRemembered = time.Minute

// describeNow is describe for a table that a statement in the log has changed: the
// statement is in the log before the server shows what it did. The lock that it
// holds until then keeps others from opening the table.
func (r *Reader) describeNow(n *conn, database, table string) (*sourceTable, error) {
	// The stream stands still meanwhile: LOCK TABLES, which holds on, costs that once.
	key, wait := r.server.tableKey(database, table), 10
	if time.Since(r.locked[key]) < lockRemembered {
		wait = 1
	}
	if err := n.exec(fmt.Sprint("SET SESSION lock_wait_timeout = ", wait)); err != nil {
		return nil, err
	}
	// A table that is gone, or locked for long, is described as the server shows it.
	err := n.exec("SELECT 1 FROM " + sqlName(database, table) + " LIMIT 0")
	switch {
	case errorCode(err) == mysql.ER_LOCK_WAIT_TIMEOUT:
		r.locked[key] = time.Now()
	case err != nil && errorCode(err) == 0:
		return nil, err
	default:
		delete(r.locked, key)
	}
	return n.describe(database, table)
}

// describe reads columns, keys and estimates of a table; nil if there is none.
func (n *conn) describe(database, table string) (*sourceTable, error) {
	found, err := n.describeWhere(database, "TABLE_NAME = "+literal(table), describeTries)
	for _, t := range found {
		return t, err
	}
	return nil, err
}

// oneByOne is up to how many tables a MariaDB is asked for each by itself: a
// list of names lets it open all tables of the database.
const oneByOne = 100

// describeAll describes the tables of a database that are there, by name as the
// server spells it, with a few queries however many they are.
func (n *conn) describeAll(database string, tables []string) (map[string]*sourceTable, error) {
	if len(tables) == 0 {
		return nil, nil //nolint:nilnil // none of none
	}
	if n.mariadb() && len(tables) <= oneByOne {
		out := make(map[string]*sourceTable, len(tables))
		for _, name := range tables {
			t, err := n.describe(database, name)
			if err != nil {
				return nil, err
			}
			if t != nil {
				out[name] = t
			}
		}
		return out, nil
	}
	names := make([]string, len(tables))
	for i, name := range tables {
		names[i] = literal(name)
	}
	return n.describeWhere(database, "TABLE_NAME IN ("+strings.Join(names, ", ")+")", describeTries)
}

// describeTries is how often a table is looked at that changes all the time.
const describeTries = 20

// describeWhere describes the tables of a database for which a condition holds.
// The server has no one answer for columns and keys: a table that another takes
// the place of between two questions is looked at once more.
func (n *conn) describeWhere(database, where string, tries int) (map[string]*sourceTable, error) {
	where = "TABLE_SCHEMA = " + literal(database) + " AND " + where
	var answers [5]resultTable
	for i, query := range [5]string{columnQuery, keyQuery, tableQuery, columnQuery, keyQuery} {
		var err error
		if answers[i], err = n.query(fmt.Sprintf(query, where)); err != nil {
			return nil, err
		}
	}
	columns, indexes := answers[0].byTable(), answers[1].byTable()
	columnsAgain, indexesAgain := answers[3].byTable(), answers[4].byTable()
	same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }
	out := make(map[string]*sourceTable, len(answers[2].rows))
	for _, r := range answers[2].rows {
		name := r[len(r)-1]
		if tries > 0 && !(same(columns[name], columnsAgain[name]) && same(indexes[name], indexesAgain[name])) {
			found, err := n.describeWhere(database, "TABLE_NAME = "+literal(name), tries-1)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, found)
			continue
		}
		if len(columns[name]) == 0 {
			continue // made meanwhile
		}
		t := &sourceTable{kind: r[0], engine: r[1], rows: number(r[2]), rowBytes: number(r[3]), comment: r[4], bytes: number(r[5])}
		for _, c := range columns[name] {
			t.columns = append(t.columns, n.column(c))
		}
		t.takeKeys(indexes[name])
		if n.mariadb() {
			t.addHidden(indexes[name])
		}
		out[name] = t
	}
	return out, nil
}

// byTable groups rows by their last cell, the name of a table.
func (t resultTable) byTable() map[string][][]string {
	out := map[string][][]string{}
	for from := 0; from < len(t.rows); {
		name := t.rows[from][len(t.names)-1]
		to := from + 1
		for to < len(t.rows) && t.rows[to][len(t.names)-1] == name {
			to++
		}
		out[name] = append(out[name], t.rows[from:to]...)
		from = to
	}
	return out
}

// column reads a row of columnQuery.
func (n *conn) column(r []string) mysqlrow.Column {
	c := mysqlrow.Column{
		Name: r[0], DataType: r[1], ColumnType: r[2], Length: number(r[3]),
		Precision: int(number(r[4])), Scale: int(number(r[5])), FractionDigits: int(number(r[6])),
		Charset: r[7], Collation: r[8], Nullable: r[9] == "YES", Comment: r[11], RowEnd: strings.EqualFold(r[14], "ROW END"),
	}
	extra := strings.ToUpper(r[13])
	c.Generated = strings.Contains(extra, "GENERATED") && !strings.Contains(extra, "DEFAULT_GENERATED")
	c.Counts = strings.Contains(extra, "AUTO_INCREMENT")
	if c.Generated {
		c.Expression = r[14]
	}
	// MariaDB writes a default as an expression, so that text stands in quotes and
	// NULL is the one that every column has which may be NULL.
	if r[12] == "0" && !(n.mariadb() && strings.EqualFold(r[10], "NULL")) {
		c.Default = &r[10]
	}
	return c
}

// mariadb reports whether the server is a MariaDB.
func (n *conn) mariadb() bool { return isMariaDB(n.GetServerVersion()) }

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// addHidden adds the columns that rows of the log have and MariaDB does not list,
// in their order: the period of a table WITH SYSTEM VERSIONING that names none,
// and a hash for each unique key that is too long for an index.
func (t *sourceTable) addHidden(keys [][]string) {
	period := slices.ContainsFunc(t.columns, func(c mysqlrow.Column) bool { return c.RowEnd })
	if t.kind == "SYSTEM VERSIONED" && !period {
		for _, name := range []string{"row_start", "row_end"} {
			t.columns = append(t.columns, mysqlrow.Column{
				Name: name, DataType: "timestamp", ColumnType: "timestamp(6)", FractionDigits: 6, Generated: true, Hidden: true, RowEnd: name == "row_end",
			})
		}
	}
	if strings.EqualFold(t.engine, "MEMORY") {
		return // whose indexes are hashes by themselves
	}
	hashes := 0
	for i, r := range keys {
		if first := i == 0 || keys[i-1][0] != r[0]; first && r[5] == "HASH" {
			hashes++
			t.columns = append(t.columns, mysqlrow.Column{Name: "DB_ROW_HASH_" + strconv.Itoa(hashes), DataType: "hash", ColumnType: "hash", Nullable: true, Hidden: true})
		}
	}
}

// takeKeys finds the row identity among the index columns, which come index by
// index with the primary key first.
func (t *sourceTable) takeKeys(keys [][]string) {
	for i := 0; i < len(keys); {
		j, usable := i, true
		var names []string
		for ; j < len(keys) && keys[j][0] == keys[i][0]; j++ {
			r := keys[j]
			if i := t.index(r[1]); i >= 0 && t.columns[i].RowEnd {
				continue // tells history apart, which is not read
			}
			names = append(names, r[1])
			// A part without a name is an expression.
			usable = usable && r[1] != "" && r[2] == "0" && r[3] != "YES" && r[4] == ""
		}
		if len(names) > 0 && names[0] != "" {
			t.indexed = append(t.indexed, names[0])
		}
		usable = usable && len(names) > 0
		if usable && keys[i][0] == "PRIMARY" {
			t.primaryKey = names
		}
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
