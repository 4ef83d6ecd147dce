package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"

	"leat/internal/mysqld"
)

// place is a place in the binlog.
type place struct {
	File string `json:"file"`
	Pos  uint64 `json:"pos"`
	GTID string `json:"gtid"`
}

// data says what a prepared database holds. It is kept in the server itself, so
// that the next run finds what fits and prepares the rest.
type data struct {
	Wanted  int64 `json:"wanted"` // rows or changes asked for
	Rows    int64 `json:"rows"`   // rows in the table
	Changes int64 `json:"changes"`
	// Seconds is how long MySQL took to take the data.
	Seconds float64 `json:"seconds"`
	From    place   `json:"from"`
	To      place   `json:"to"`
}

// source is the MySQL side of a benchmark.
type source struct {
	srv  *mysqld.Server
	conn *client.Conn
	log  *slog.Logger
}

func openSource(srv *mysqld.Server, log *slog.Logger) (*source, error) {
	c, err := srv.Connect("")
	if err != nil {
		return nil, err
	}
	s := &source{srv: srv, conn: c, log: log}
	return s, s.exec(
		"CREATE DATABASE IF NOT EXISTS bench_meta",
		"CREATE TABLE IF NOT EXISTS bench_meta.data (name VARCHAR(64) PRIMARY KEY, info JSON)",
	)
}

func (s *source) close() error { return s.conn.Close() }

func (s *source) exec(statements ...string) error {
	for _, q := range statements {
		if _, err := s.conn.Execute(q); err != nil {
			return fmt.Errorf("running %.80s: %w", q, err)
		}
	}
	return nil
}

// place gives the end of the binlog.
func (s *source) place() (place, error) {
	q := "SHOW BINARY LOG STATUS"
	r, err := s.conn.Execute(q)
	if err != nil { // before MySQL 8.2
		q = "SHOW MASTER STATUS"
		if r, err = s.conn.Execute(q); err != nil {
			return place{}, fmt.Errorf("running %s: %w", q, err)
		}
	}
	var p place
	var errs [3]error
	p.File, errs[0] = r.GetStringByName(0, "File")
	p.Pos, errs[1] = r.GetUintByName(0, "Position")
	p.GTID, errs[2] = r.GetStringByName(0, "Executed_Gtid_Set")
	return p, errors.Join(errs[:]...)
}

// ensure gives the prepared database name, made by prepare if it is not there in that size.
func (s *source) ensure(name string, wanted int64, prepare func(table string) (data, error)) (data, error) {
	var d data
	r, err := s.conn.Execute("SELECT info FROM bench_meta.data WHERE name = ?", name)
	if err != nil {
		return d, fmt.Errorf("looking for %s: %w", name, err)
	}
	if r.RowNumber() == 1 {
		text, err := r.GetString(0, 0)
		if err == nil {
			err = json.Unmarshal([]byte(text), &d)
		}
		if err != nil {
			return d, fmt.Errorf("looking for %s: %w", name, err)
		}
		if d.Wanted == wanted {
			return d, nil
		}
	}
	s.log.Info("preparing data", "database", name, "size", wanted)
	table := name + ".orders"
	err = s.exec("DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name, fmt.Sprintf(tableDDL, table))
	if err != nil {
		return d, err
	}
	start := time.Now()
	if d, err = prepare(table); err != nil {
		return d, fmt.Errorf("preparing %s: %w", name, err)
	}
	d.Wanted, d.Seconds = wanted, time.Since(start).Seconds()
	b, err := json.Marshal(d)
	if err != nil {
		return d, fmt.Errorf("preparing %s: %w", name, err)
	}
	if err := s.exec("SET sql_log_bin = 0"); err != nil {
		return d, err
	}
	if _, err := s.conn.Execute("REPLACE INTO bench_meta.data VALUES (?, ?)", name, string(b)); err != nil {
		return d, fmt.Errorf("preparing %s: %w", name, err)
	}
	return d, s.exec("SET sql_log_bin = 1")
}

// load fills a table with LOAD DATA, outside the binlog.
func (s *source) load(rows int64) func(table string) (data, error) {
	return func(table string) (data, error) {
		if err := s.exec("SET sql_log_bin = 0"); err != nil {
			return data{}, err
		}
		// Chunked so that no transaction is huge.
		const chunk = 500_000
		for lo := int64(0); lo < rows; lo += chunk {
			_, err := s.conn.ExecQueryRelayLocalInfile("LOAD DATA LOCAL INFILE 'orders' INTO TABLE "+table, func([]byte) (io.Reader, error) {
				return orderText(lo, min(lo+chunk, rows)), nil
			})
			if err != nil {
				return data{}, fmt.Errorf("loading: %w", err)
			}
		}
		return data{Rows: rows, Changes: rows}, s.exec("SET sql_log_bin = 1")
	}
}

// orderText streams orders lo to hi as lines for LOAD DATA.
func orderText(lo, hi int64) io.Reader {
	r, w := io.Pipe()
	go func() {
		buf := bufio.NewWriterSize(w, 1<<20)
		var b []byte
		for id := lo; id < hi; id++ {
			b = append(makeOrder(id, 0).appendTo(b[:0], '\t', ""), '\n')
			if _, err := buf.Write(b); err != nil {
				break // the reader has gone
			}
		}
		w.CloseWithError(buf.Flush())
	}()
	return r
}

// backlog makes changes on an empty table and notes where they begin and end in the binlog.
func (s *source) backlog(changes int64) func(table string) (data, error) {
	return func(table string) (data, error) {
		if err := s.exec("FLUSH BINARY LOGS"); err != nil {
			return data{}, err
		}
		from, err := s.place()
		if err != nil {
			return data{}, err
		}
		f := newFeed(table, 0)
		for n := int64(0); n < changes; n = f.changes() {
			if err := f.transaction(s.conn, int(min(int64(50+f.rnd.IntN(51)), changes-n))); err != nil {
				return data{}, err
			}
		}
		to, err := s.place()
		return data{Rows: f.inserts - f.deletes, Changes: f.changes(), From: from, To: to}, err
	}
}

// commitTime is when a transaction was acknowledged.
type commitTime struct {
	gno int64 // its number in the server's GTID sequence
	at  time.Time
}

// steady makes changes at a rate, in transactions of 20, and notes their commit times.
func (s *source) steady(ctx context.Context, table string, rate int, length time.Duration) ([]commitTime, *feed, error) {
	const perTransaction = 20
	p, err := s.place()
	if err != nil {
		return nil, nil, err
	}
	id, err := s.uuid()
	if err != nil {
		return nil, nil, err
	}
	gno := lastGNO(p.GTID, id)
	gap := time.Second * perTransaction / time.Duration(rate)
	f := newFeed(table, 10_000_000)
	var commits []commitTime
	for start, i := time.Now(), 0; time.Since(start) < length; i++ {
		select {
		case <-ctx.Done():
			return commits, f, ctx.Err()
		case <-time.After(time.Until(start.Add(time.Duration(i) * gap))):
		}
		if err := f.transaction(s.conn, perTransaction); err != nil {
			return commits, f, err
		}
		gno++
		commits = append(commits, commitTime{gno: gno, at: time.Now()})
	}
	return commits, f, nil
}

func (s *source) uuid() (string, error) {
	r, err := s.conn.Execute("SELECT @@server_uuid")
	if err != nil {
		return "", fmt.Errorf("asking for the server's identity: %w", err)
	}
	return r.GetString(0, 0)
}

// lastGNO gives the highest transaction number of server id in a GTID set; 0 if there is none.
func lastGNO(set, id string) int64 {
	g, err := mysql.ParseMysqlGTIDSet(set)
	if err != nil {
		return 0
	}
	sid, err := uuid.Parse(id)
	if err != nil {
		return 0
	}
	intervals := (*g.(*mysql.MysqlGTIDSet))[sid][mysql.Tag{}]
	if len(intervals) == 0 {
		return 0
	}
	return intervals[len(intervals)-1].Stop - 1
}

// total gives row count and exact sum of the amounts.
func (s *source) total(table string) (rows int64, amount string, err error) {
	r, err := s.conn.Execute("SELECT COUNT(*), CAST(COALESCE(SUM(order_amount), 0) AS CHAR) FROM " + table)
	if err != nil {
		return 0, "", fmt.Errorf("summing up %s: %w", table, err)
	}
	var errs [2]error
	rows, errs[0] = r.GetInt(0, 0)
	amount, errs[1] = r.GetString(0, 1)
	return rows, amount, errors.Join(errs[:]...)
}
