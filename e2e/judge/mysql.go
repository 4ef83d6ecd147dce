package judge

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/mysqld"
)

var servers = struct {
	sync.Mutex
	byFlags map[string]*mysqld.Server
}{byFlags: map[string]*mysqld.Server{}}

// fastFlags drop the durability that throw-away data does not need.
var fastFlags = []string{"--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0"}

// MySQL gives a server that the tests of this process share; other flags give
// another server. It ends with the process, its data are removed then. Tests
// keep apart by using databases of their own.
func MySQL(t testing.TB, flags ...string) *mysqld.Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	return shared(t, nil, flags)
}

// MariaDB is MySQL for a MariaDB server.
func MariaDB(t testing.TB, flags ...string) *mysqld.Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	in, err := mysqld.FetchMariaDB(t.Context(), func(l string) { t.Log(l) })
	if err != nil {
		t.Fatal(err)
	}
	return shared(t, in, flags)
}

// shared gives the server of a program (nil for MySQL) and flags.
func shared(t testing.TB, in *mysqld.Install, flags []string) *mysqld.Server {
	t.Helper()
	id := strings.Join(flags, " ")
	if in != nil {
		id = in.Program + " " + id
	}
	if s := servers.byFlags[id]; s != nil {
		return s
	}
	s, err := mysqld.Start(t.Context(), mysqld.Options{Install: in, Flags: append(slices.Clone(fastFlags), flags...), Progress: func(l string) { t.Log(l) }})
	if err != nil {
		t.Fatal(err)
	}
	servers.byFlags[id] = s
	return s
}

// OwnMySQL gives a server for this test alone, which may kill, restart or
// reconfigure it; it ends with the test.
func OwnMySQL(t testing.TB, flags ...string) *mysqld.Server {
	t.Helper()
	return own(t, nil, flags)
}

// OwnMariaDB is OwnMySQL for a MariaDB server.
func OwnMariaDB(t testing.TB, flags ...string) *mysqld.Server {
	t.Helper()
	in, err := mysqld.FetchMariaDB(t.Context(), func(l string) { t.Log(l) })
	if err != nil {
		t.Fatal(err)
	}
	return own(t, in, flags)
}

func own(t testing.TB, in *mysqld.Install, flags []string) *mysqld.Server {
	t.Helper()
	s, err := mysqld.Start(t.Context(), mysqld.Options{Install: in, Flags: append(slices.Clone(fastFlags), flags...), Progress: func(l string) { t.Log(l) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Exec runs statements on a connection of their own.
func Exec(t testing.TB, s *mysqld.Server, statements ...string) {
	t.Helper()
	if err := s.Exec(statements...); err != nil {
		t.Fatal(err)
	}
}

// SourceRows gives the rows of a query in the JSON form of the readers: integers
// and floating numbers as numbers, DECIMAL and unsigned BIGINT as strings, dates
// and times as text with T between, bytes and bit fields as hex.
func SourceRows(t testing.TB, s *mysqld.Server, query string) []Row {
	t.Helper()
	c, err := s.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := c.Execute("SET time_zone = '+00:00'"); err != nil {
		t.Fatal(err)
	}
	res, err := c.Execute(query)
	if err != nil {
		t.Fatalf("running %q: %v", query, err)
	}
	rows := make([]Row, len(res.Values))
	for i, values := range res.Values {
		r := make(Row, len(values))
		for j, f := range res.Fields {
			r[string(f.Name)] = sourceValue(f, values[j].Value())
		}
		rows[i] = r
	}
	return rows
}

const binaryCharset = 63

func sourceValue(f *mysql.Field, v any) any {
	var text string
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		text = string(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case uint64:
		text = strconv.FormatUint(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		text = fmt.Sprint(v)
	}
	switch f.Type {
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_SHORT, mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_LONG,
		mysql.MYSQL_TYPE_YEAR, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_DOUBLE:
		return json.Number(text)
	case mysql.MYSQL_TYPE_LONGLONG:
		if f.Flag&mysql.UNSIGNED_FLAG != 0 {
			return text
		}
		return json.Number(text)
	case mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_TIMESTAMP, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2:
		return strings.Replace(text, " ", "T", 1)
	case mysql.MYSQL_TYPE_TINY_BLOB, mysql.MYSQL_TYPE_MEDIUM_BLOB, mysql.MYSQL_TYPE_LONG_BLOB, mysql.MYSQL_TYPE_BLOB,
		mysql.MYSQL_TYPE_VAR_STRING, mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_BIT:
		if f.Charset == binaryCharset {
			return hex.EncodeToString([]byte(text))
		}
	}
	return text
}
