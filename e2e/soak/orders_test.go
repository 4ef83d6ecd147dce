package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// orders is the writer that works in order: after each commit it notes the state
// of every table that the transaction touched. Its statements follow from the seed.
type orders struct {
	round  *round
	rnd    *rand.Rand
	conn   *client.Conn
	tables []*table
	// txn numbers transactions; each that commits leaves its number in the table txns.
	txn int64
	// touched are tables that the transaction at work has changed.
	touched []*table
	// xid is an XA transaction that is prepared; the server may go away before it ends.
	xid    string
	commit bool // what becomes of it

	transactions, rolledBack, broken int
}

// numbersTable gets the number of every transaction that commits, and no other change.
const numbersTable = "txns"

// errGone says that the connection broke.
var errGone = errors.New("the connection broke")

// exec runs a statement; errors of the server are those of what is drawn, such as a
// key that is there already, and change nothing. A broken connection panics.
func (o *orders) exec(sql string) bool {
	_, err := o.conn.Execute(sql)
	var my *mysql.MyError
	switch {
	case err == nil:
		return true
	case errors.As(err, &my) && slices.Contains([]uint16{mysql.ER_DUP_ENTRY, mysql.ER_LOCK_DEADLOCK, mysql.ER_LOCK_WAIT_TIMEOUT, mysql.ER_XAER_NOTA}, my.Code):
		if my.Code == mysql.ER_LOCK_DEADLOCK {
			panic(fmt.Errorf("deadlock in %.200s", sql))
		}
		return false
	case errors.As(err, &my) && !slices.Contains([]uint16{mysql.ER_SERVER_SHUTDOWN, mysql.ER_NEW_ABORTING_CONNECTION, 1927 /* MariaDB's for a killed connection */, mysql.ER_QUERY_INTERRUPTED}, my.Code):
		panic(fmt.Errorf("%w: running %.1000s", err, sql))
	default:
		panic(errGone)
	}
}

func (o *orders) execf(format string, args ...any) bool { return o.exec(fmt.Sprintf(format, args...)) }

// work runs transactions until stop is closed.
func (o *orders) work(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return o.settle()
		default:
		}
		if err := o.next(); err != nil {
			return err
		}
		time.Sleep(time.Duration(o.rnd.IntN(4000)) * time.Microsecond)
	}
}

// next runs one transaction, whatever the server does meanwhile.
func (o *orders) next() (err error) {
	defer func() {
		if p := recover(); p != nil {
			e, isError := p.(error)
			if !isError {
				panic(p)
			}
			if err = e; errors.Is(e, errGone) {
				o.broken++
				err = o.settle()
			}
		}
	}()
	o.touched = nil
	o.txn++
	// Each transaction follows from seed and number alone, whatever broke before.
	o.rnd = rand.New(rand.NewPCG(o.round.seed, uint64(o.txn)))
	o.transaction()
	o.transactions++
	return nil
}

// settle connects again, ends what the server holds prepared, and notes what is there.
func (o *orders) settle() (err error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if o.conn != nil {
			_ = o.conn.Close()
		}
		if err = o.tryToSettle(); err == nil || !errors.Is(err, errGone) || time.Now().After(deadline) {
			return err
		}
	}
}

func (o *orders) tryToSettle() (err error) {
	defer func() {
		if p := recover(); p != nil {
			e, isError := p.(error)
			if !isError {
				panic(p)
			}
			err = e
		}
	}()
	o.conn, err = o.round.server().Connect(database)
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	o.exec("SET time_zone = '+00:00', SESSION lock_wait_timeout = 20, SESSION innodb_lock_wait_timeout = 20")
	if o.xid != "" {
		o.endXA()
	}
	for _, t := range o.tables {
		o.note(t)
	}
	return nil
}

// fill runs a statement before the first transaction and notes the state of its table.
func (o *orders) fill(t *table, sql string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e, isError := p.(error)
			if !isError {
				panic(p)
			}
			err = e
		}
	}()
	o.exec(sql)
	o.note(t)
	return nil
}

// note adds the state of a table if it is another than before.
func (o *orders) note(t *table) {
	r, err := o.conn.Execute("SELECT COUNT(*), CAST(COALESCE(SUM(h), 0) AS SIGNED), CAST(COALESCE(SUM(txn), 0) AS SIGNED) FROM " + t.name)
	if err != nil {
		panic(fmt.Errorf("%w: %w", errGone, err))
	}
	defer r.Close()
	var s state
	for i, to := range []*int64{&s.rows, &s.hash, &s.txn} {
		if *to, err = r.GetInt(0, i); err != nil {
			panic(err)
		}
	}
	t.add(s)
}

func (t *table) add(s state) {
	if n := len(t.states); n == 0 || t.states[n-1] != s {
		t.states = append(t.states, s)
	}
}

// pick gives a table and remembers that it is touched. Within a transaction a
// table without transactions is left alone where GTIDs forbid the mix.
func (o *orders) pick(within bool) *table {
	for {
		t := o.tables[o.rnd.IntN(len(o.tables))]
		if t.name == numbersTable || within && t.engine != "" && o.round.strict {
			continue
		}
		if !slices.Contains(o.touched, t) {
			o.touched = append(o.touched, t)
		}
		return t
	}
}

// change runs one drawn statement and notes the state of a table whose engine has no transactions.
func (o *orders) change(within bool) {
	t := o.pick(within)
	o.statement(t)
	if t.engine != "" {
		o.note(t)
	}
}

// commitNow ends a transaction with its number and notes the states that it leaves.
func (o *orders) commitNow() {
	o.number()
	states := o.pending()
	o.exec("COMMIT")
	o.take(states)
}

// number leaves the number of the transaction in the table of numbers.
func (o *orders) number() {
	o.execf("INSERT INTO %s VALUES (%d, %d, %d, %d)", numbersTable, o.txn, o.txn%groups, o.rnd.Uint32(), o.txn)
}

// pending reads the states that a commit would make the ones of the tables.
func (o *orders) pending() map[*table]state {
	before := map[*table]int{}
	for _, t := range append(slices.Clone(o.touched), o.tables[0]) {
		before[t] = len(t.states)
	}
	out := map[*table]state{}
	for t, n := range before {
		o.note(t)
		out[t] = t.states[len(t.states)-1]
		t.states = t.states[:n]
	}
	return out
}

func (o *orders) take(states map[*table]state) {
	for t, s := range states {
		t.add(s)
	}
}

func (o *orders) transaction() {
	r := o.rnd
	switch n := r.IntN(30); {
	case n < 10: // several tables
		o.exec("BEGIN")
		for range 1 + r.IntN(5) {
			o.change(true)
		}
		o.commitNow()
	case n < 15: // a statement by itself
		o.change(false)
		for _, t := range o.touched {
			o.note(t)
		}
	case n < 19:
		o.savepoints()
	case n < 21:
		o.exec("BEGIN")
		for range 1 + r.IntN(4) {
			o.change(true)
		}
		o.exec("ROLLBACK")
		o.rolledBack++
	case n < 23: // nothing at all, or no rows
		o.exec("BEGIN")
		if r.IntN(2) == 0 {
			o.execf("UPDATE %s SET g = g + 1 WHERE 1 = 0", o.pick(true).name)
		}
		o.exec("COMMIT")
	case n < 26:
		if o.round.xa {
			o.xa()
		}
	case n < 27:
		o.load()
	case n < 28:
		o.large()
	case n < 29:
		o.flush()
	default:
		o.aside()
	}
}

// flush begins another binlog file, from a session without a transaction.
func (o *orders) flush() {
	if o.round.server().Exec(o.round.flush) != nil {
		panic(errGone)
	}
}

// savepoints goes back within a transaction.
func (o *orders) savepoints() {
	o.exec("BEGIN")
	o.change(true)
	for i := range 1 + o.rnd.IntN(3) {
		o.execf("SAVEPOINT s%d", i)
		for range 1 + o.rnd.IntN(2) {
			o.change(true)
		}
		switch o.rnd.IntN(3) {
		case 0:
			o.execf("ROLLBACK TO SAVEPOINT s%d", i)
		case 1:
			o.execf("RELEASE SAVEPOINT s%d", i)
		}
	}
	o.commitNow()
}

// xa prepares a transaction and ends it, now and then from another connection.
func (o *orders) xa() {
	xid := fmt.Sprintf("t%d", o.txn)
	o.execf("XA START '%s'", xid)
	for range 1 + o.rnd.IntN(3) {
		t := o.pick(true)
		if t.engine == "" {
			o.statement(t)
		}
	}
	o.number()
	states := o.pending()
	o.execf("XA END '%s'", xid)
	if o.rnd.IntN(5) == 0 {
		o.execf("XA COMMIT '%s' ONE PHASE", xid)
		o.take(states)
		return
	}
	o.xid, o.commit = xid, o.rnd.IntN(4) > 0
	o.execf("XA PREPARE '%s'", xid)
	switch o.rnd.IntN(4) {
	case 0:
		o.flush()
	case 1:
		if o.round.detach {
			panic(errGone) // another connection ends it
		}
	}
	o.endXA()
	if o.commit {
		o.take(states)
	} else {
		o.rolledBack++
	}
}

func (o *orders) endXA() {
	end := "ROLLBACK"
	if o.commit {
		end = "COMMIT"
	}
	// The session that prepared it may not be over yet.
	for range 100 {
		if o.execf("XA %s '%s'", end, o.xid) || !o.prepared() {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	o.xid = ""
}

// prepared asks whether the server still holds the XA transaction.
func (o *orders) prepared() bool {
	r, err := o.conn.Execute("XA RECOVER")
	if err != nil {
		panic(fmt.Errorf("%w: %w", errGone, err))
	}
	defer r.Close()
	return r.RowNumber() > 0
}

// load reads rows from a file.
func (o *orders) load() {
	t := o.pick(false)
	if t.key != nil && len(t.key.columns) > 1 || t.engine != "" {
		return
	}
	var b strings.Builder
	for range 1 + o.rnd.IntN(200) {
		id := ""
		if t.key != nil {
			// HEX and UNHEX carry any key.
			id = fmt.Sprint(o.rnd.IntN(t.rows))
		}
		fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", id, o.rnd.IntN(groups), o.rnd.Uint32(), o.txn)
	}
	path := filepath.Join(o.round.dir, fmt.Sprintf("load-%d.txt", o.txn))
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		panic(err)
	}
	defer os.Remove(path)
	set, columns := "", "@k, g, h, txn"
	if t.key != nil {
		// The key is a function of the number in the file.
		set = ", " + t.key.columns[0].name + " = " + t.key.expression()
	}
	for _, c := range t.payload() {
		if !c.null {
			set += fmt.Sprintf(", %s = %s", c.name, c.literal(o.rnd))
		}
	}
	if set != "" {
		set = " SET " + set[2:]
	}
	o.exec("BEGIN")
	o.execf("LOAD DATA INFILE '%s' %s INTO TABLE %s (%s)%s", path, []string{"REPLACE", "IGNORE"}[o.rnd.IntN(2)], t.name, columns, set)
	o.commitNow()
}

// large changes every row, and some tables get megabytes.
func (o *orders) large() {
	o.exec("BEGIN")
	for range 1 + o.rnd.IntN(2) {
		t := o.pick(true)
		if t.engine != "" {
			continue
		}
		for range 3 {
			o.execf("UPDATE %s SET h = (h * 7 + %d) %% 4294967291, txn = %d", t.name, o.rnd.Uint32(), o.txn)
		}
		o.insertMany(t, 200)
	}
	o.commitNow()
}

// aside runs statements that do not concern the rows the job reads.
func (o *orders) aside() {
	t := o.pick(false)
	switch o.rnd.IntN(5) {
	case 0:
		o.execf("ANALYZE TABLE %s", t.name)
	case 1:
		o.execf("CREATE TABLE aside_%d (a INT PRIMARY KEY, b TEXT)", o.txn)
		o.execf("INSERT INTO aside_%d VALUES (1, 'x'), (2, NULL)", o.txn)
		o.execf("DROP TABLE aside_%d", o.txn)
	case 2:
		// Without names in the binlog nobody can tell which columns an older event has.
		if !slices.Contains(o.round.opt.Flags, "--binlog-row-metadata=FULL") {
			return
		}
		o.execf("ALTER TABLE %s ADD COLUMN extra_%d INT DEFAULT 7", t.name, o.txn)
	case 3:
		o.execf("ALTER TABLE %s COMMENT = 'as of %d'", t.name, o.txn)
	case 4:
		o.execf("CREATE INDEX by_g_%d ON %s (g)", o.txn, t.name)
	}
	o.note(t)
}

func (o *orders) insertMany(t *table, n int) {
	var rows []string
	for range n {
		rows = append(rows, t.row(o.rnd, o.rnd.IntN(t.rows*2), o.txn))
	}
	o.exec("INSERT IGNORE INTO " + t.name + " (" + t.names() + ") VALUES " + strings.Join(rows, ", "))
}

// statement changes some rows of a table. Whatever it changes gets another hash
// and the number of the transaction.
func (o *orders) statement(t *table) {
	r := o.rnd
	k := r.IntN(t.rows)
	mark := fmt.Sprintf("h = (h * 5 + %d) %% 4294967291, txn = %d", r.Uint32(), o.txn)
	var set []string
	for _, c := range t.payload() {
		if r.IntN(2) == 0 {
			set = append(set, c.name+" = "+c.literal(r))
		}
	}
	sets := strings.Join(append([]string{mark}, set...), ", ")
	rows := func(n int) string {
		var out []string
		for range n {
			out = append(out, t.row(r, r.IntN(t.rows), o.txn))
		}
		return "(" + t.names() + ") VALUES " + strings.Join(out, ", ")
	}
	switch r.IntN(12) {
	case 0:
		o.exec("INSERT INTO " + t.name + " " + rows(1))
	case 1:
		o.exec("INSERT IGNORE INTO " + t.name + " " + rows(1+r.IntN(20)))
	case 2:
		o.exec("REPLACE INTO " + t.name + " " + rows(1+r.IntN(6)))
	case 3:
		o.exec("INSERT INTO " + t.name + " " + rows(1+r.IntN(6)) + " ON DUPLICATE KEY UPDATE " + sets)
	case 4, 5:
		o.exec("UPDATE " + t.name + " SET " + sets + " WHERE " + t.where(r, k))
	case 6:
		o.exec("UPDATE " + t.name + " SET " + sets + fmt.Sprintf(", g = %d WHERE g = %d", r.IntN(groups), r.IntN(groups)))
	case 7: // another key
		if t.key != nil {
			var to []string
			for i, lit := range t.key.literal(r.IntN(t.rows * 2)) {
				to = append(to, t.key.columns[i].name+" = "+lit)
			}
			o.exec("UPDATE " + t.name + " SET " + mark + ", " + strings.Join(to, ", ") + " WHERE " + t.where(r, k))
		}
	case 8:
		if t.key != nil && t.key.flips {
			o.exec("UPDATE " + t.name + " SET " + mark + fmt.Sprintf(", id = %s(id) WHERE g = %d", []string{"UPPER", "LOWER"}[r.IntN(2)], r.IntN(groups)))
		}
	case 9:
		o.exec("DELETE FROM " + t.name + " WHERE " + t.where(r, k))
	case 10:
		o.exec("DELETE FROM " + t.name + fmt.Sprintf(" WHERE g = %d AND h %% 5 = %d", r.IntN(groups), r.IntN(5)))
	case 11: // two tables at once
		other := o.pick(true)
		if other == t || other.engine != t.engine {
			return
		}
		o.execf("UPDATE %s a JOIN %s b ON a.g = b.g AND a.h %% 3 = b.h %% 3 SET a.h = (a.h + b.h + %d) %% 4294967291, a.txn = %d, b.h = (b.h * 3 + %d) %% 4294967291, b.txn = %d WHERE a.g = %d",
			t.name, other.name, r.Uint32(), o.txn, r.Uint32(), o.txn, r.IntN(groups))
		if other.engine != "" {
			o.note(other)
		}
	}
}
