package soak

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

var (
	soakFor    = flag.Duration("soak", 0, "begin rounds for so long, instead of a number of them")
	soakRounds = flag.Int("rounds", 4, "so many rounds")
	onRelease  = flag.String("release", "", "rounds on this release alone, such as mariadb-11.8; one is drawn without it")
	inMode     = flag.String("mode", "", "rounds in this startup mode alone; one is drawn without it")
	firstSeed  = flag.Uint64("seed", 1, "seed of the first round; the next ones follow it. 0 draws one")
)

const database = "soak"

// releases are the servers that rounds draw from, the newest MySQL most.
var releases = []string{"9", "9", "9", "9", "9", "8.0.31", "8.0.31", "mariadb-10.11", "mariadb-11.8"}

// totals count what the rounds had.
type totals struct {
	sync.Mutex
	n map[string]int
}

func (c *totals) add(what string, n int) {
	c.Lock()
	defer c.Unlock()
	c.n[what] += n
}

// TestSoak runs rounds, two at a time, and says how to repeat one that fails.
func TestSoak(t *testing.T) {
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("first seed %d", seed)
	counts := &totals{n: map[string]int{}}
	started := time.Now()
	more := func(n int) bool {
		if *soakFor > 0 {
			return time.Since(started) < *soakFor
		}
		return n < *soakRounds
	}
	n := 0
	for more(n) {
		t.Run("rounds", func(t *testing.T) {
			for range 2 {
				if more(n) {
					s := seed + uint64(n)
					t.Run(fmt.Sprint(s), func(t *testing.T) {
						t.Parallel()
						runRound(t, s, counts)
					})
					n++
				}
			}
		})
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(counts.n)) {
		list = append(list, fmt.Sprintf("%s %d", k, counts.n[k]))
	}
	t.Logf("%d rounds from seed %d in %s: %s", n, seed, time.Since(started).Round(time.Second), strings.Join(list, ", "))
	if counts.n["snapshots judged"] == 0 || counts.n["rows compared"] == 0 {
		t.Error("nothing was judged")
	}
}

// round is one seed at work.
type round struct {
	t    *testing.T
	seed uint64
	rnd  *rand.Rand
	dir  string

	mu  sync.Mutex
	srv *mysqld.Server
	opt mysqld.Options

	proxy *proxy
	job   *harness.Job
	child *harness.Child
	args  []string

	// strict says that GTIDs forbid transactions over several engines; detach
	// that another connection may end an XA transaction.
	strict, detach bool
	// xa says that there are XA transactions. MariaDB does not bring its binlog and its
	// tables together again if a crash finds it within one.
	xa     bool
	flush  string
	mode   string
	tables []*table
	orders *orders
	counts *totals
	moves  atomic.Int64
}

// server is the server of now; it may be down.
func (x *round) server() *mysqld.Server {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.srv
}

// restart ends the server, by force or not, and starts it again.
func (x *round) restart(crash bool, down time.Duration) {
	x.t.Helper()
	s := x.server()
	end := s.Stop
	if crash {
		end = s.Kill
	}
	if err := end(); err != nil {
		x.t.Fatal(err)
	}
	time.Sleep(down)
	s, err := mysqld.Start(x.t.Context(), x.opt)
	if err != nil {
		x.t.Fatal(err)
	}
	x.mu.Lock()
	x.srv = s
	x.mu.Unlock()
}

// start runs the job in the background.
func (x *round) start() { x.child = x.job.Start(x.args...) }

// over reports whether the job has ended by itself, which only a bounded one may.
// One whose connection broke before it had begun is started again, as whoever
// keeps it running would do.
func (x *round) over() bool {
	x.t.Helper()
	if !x.child.Ended() {
		return false
	}
	r := x.child.Wait()
	if unreached(r) {
		x.counts.add("starts repeated", 1)
		x.start()
		return false
	}
	if x.mode != "snapshot" || r.Code != 0 {
		x.t.Fatalf("the job ended with exit code %d:\n%s", r.Code, r.Stderr)
	}
	return true
}

// unreached says that the server could not be reached while the script was planned.
func unreached(r harness.Result) bool {
	return r.Code == 2 && strings.Contains(r.Stderr, "LEAT-3001")
}

// stop ends the job in order.
func (x *round) stop() {
	x.t.Helper()
	// A job that has not said a word yet may not listen to signals yet.
	if r := x.child.End(); r.Code != 0 && (r.Code != -1 || r.Stderr != "") && !unreached(r) {
		x.t.Errorf("the job stopped with exit code %d:\n%s", r.Code, r.Stderr)
	}
}

func runRound(t *testing.T, seed uint64, counts *totals) {
	x := &round{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), counts: counts}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("run it again: go test ./e2e/soak -run TestSoak -seed %d -rounds 1", seed)
		}
	})
	crashes := x.serve()
	x.draw(crashes)
	x.proxy = startProxy(t, x.server().Addr())
	judge.Exec(t, x.server(), x.setup()...)

	length := time.Duration(3000+x.rnd.IntN(5000)) * time.Millisecond
	accidents := drawAccidents(x.rnd, length, crashes)
	x.detach = !x.opt.Install.MariaDB
	x.xa = x.detach || !slices.ContainsFunc(accidents, func(a accident) bool { return a.server })
	t.Logf("MySQL %s %v, mode %s, %d tables, %s", x.opt.Install.Version, x.opt.Flags, x.mode, len(x.tables), accidents)
	o := &orders{round: x, tables: x.tables}
	x.orders = o
	if err := o.settle(); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	var once sync.Once
	end := func() {
		once.Do(func() { close(stop) })
		writers.Wait()
	}
	t.Cleanup(end)
	write := func() {
		writers.Go(func() {
			if err := o.work(stop); err != nil {
				t.Error(err)
			}
		})
		for i := range 2 {
			m := &mover{round: x, rnd: rand.New(rand.NewPCG(seed, uint64(1<<40+i))), moves: &x.moves}
			writers.Go(func() { m.work(stop) })
		}
	}
	x.begin(write)
	until := time.Now().Add(length)
	for _, a := range accidents {
		time.Sleep(a.after)
		if x.over() {
			break
		}
		a.run(x)
		counts.add(a.name, 1)
	}
	time.Sleep(time.Until(until))
	end()
	x.whole()
	if err := x.last(); err != nil {
		t.Fatal(err)
	}
	x.finish()
	written := time.Now()
	x.verdict()
	t.Logf("%d transactions in order, %d moves; judged in %s", o.transactions, x.moves.Load(), time.Since(written).Round(time.Millisecond))
	counts.add("transactions in order", o.transactions)
	counts.add("of them rolled back", o.rolledBack)
	counts.add("of them broken", o.broken)
	counts.add("moves", int(x.moves.Load()))
	counts.add("MySQL "+x.opt.Install.Version, 1)
	counts.add("mode "+x.mode, 1)
}

// serve starts a server of a drawn release and setting, and says whether it may crash.
func (x *round) serve() (crashes bool) {
	x.t.Helper()
	r := x.rnd
	release := releases[r.IntN(len(releases))]
	if *onRelease != "" {
		release = *onRelease
	}
	in, err := mysqld.FetchRelease(x.t.Context(), release, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	flags := []string{
		"--binlog-row-metadata=" + []string{"FULL", "MINIMAL"}[r.IntN(2)], "--max-binlog-size=" + []string{"64K", "1M", "1G"}[r.IntN(3)],
		"--binlog-row-event-max-size=" + []string{"1K", "8K"}[r.IntN(2)],
	}
	if r.IntN(4) == 0 {
		flags = append(flags, "--binlog-checksum=NONE")
	}
	if r.IntN(4) == 0 {
		compress := "--binlog-transaction-compression=ON"
		if in.MariaDB {
			compress = "--log-bin-compress=ON"
		}
		flags = append(flags, compress)
	}
	x.strict = !in.MariaDB
	if !in.MariaDB && r.IntN(3) == 0 {
		x.strict = false
		flags = append(flags, "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
	}
	if crashes = r.IntN(2) == 0; crashes {
		flags = append(flags, "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	} else {
		flags = append(flags, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0")
	}
	x.flush = "FLUSH BINARY LOGS"
	x.opt = mysqld.Options{Install: in, DataDir: filepath.Join(x.dir, "server"), Flags: flags}
	x.srv, err = mysqld.Start(x.t.Context(), x.opt)
	if err != nil {
		x.t.Fatal(err)
	}
	x.opt.Port = x.srv.Port
	x.t.Cleanup(func() {
		if err := x.server().Kill(); err != nil {
			x.t.Error(err)
		}
	})
	return crashes
}

// draw makes up the tables and the mode.
func (x *round) draw(crashes bool) {
	r := x.rnd
	numbers := &table{name: numbersTable, key: &keys[0], cols: append(slices.Clone(keys[0].columns), fixed...), sinks: []sink{
		{name: numbersTable + "_first", changelog: "lookup", options: []string{"bucket", "1", "merge-engine", "first-row", "ignore-delete", "true", "changelog-producer", "lookup"}},
		drawSums(r, numbersTable+"_sums"),
	}}
	x.tables = []*table{numbers}
	n := 1 + r.IntN(4)
	for i := range n {
		x.tables = append(x.tables, drawTable(r, x.opt.Install, fmt.Sprintf("t%d", i), i == 0 || r.IntN(4) > 0))
	}
	// What a crash leaves of a table without transactions need not be what its binlog says.
	if !crashes && n > 1 && r.IntN(3) == 0 {
		x.tables[n].engine = "MyISAM"
	}
	x.mode = []string{"initial", "initial", "initial", "initial", "earliest-offset", "latest-offset", "specific-offset", "gtid-set", "timestamp", "snapshot"}[r.IntN(10)]
	if *inMode != "" {
		x.mode = *inMode
	}
	if x.mode == "gtid-set" && !x.opt.Install.MariaDB && slices.Contains(x.opt.Flags, "--gtid-mode=OFF") {
		x.mode = "specific-offset"
	}
}

func (x *round) setup() []string {
	sql := []string{"CREATE DATABASE " + database, "USE " + database}
	for _, t := range x.tables {
		sql = append(sql, t.create())
	}
	return append(sql, accountsSQL()[0])
}

// last changes every table once more.
func (x *round) last() error {
	for _, t := range x.tables[1:] {
		if err := x.orders.fill(t, "UPDATE "+t.name+" SET h = h + 1"); err != nil {
			return err
		}
		if err := x.orders.fill(t, "INSERT IGNORE INTO "+t.name+" ("+t.names()+") VALUES "+t.row(x.rnd, x.rnd.IntN(t.rows), 0)); err != nil {
			return err
		}
	}
	return x.orders.next()
}

// fill puts rows into the tables.
func (x *round) fill() {
	x.t.Helper()
	for _, t := range x.tables[1:] {
		for range 1 + x.rnd.IntN(3) {
			var rows []string
			for range min(t.rows, 400) {
				rows = append(rows, t.row(x.rnd, x.rnd.IntN(t.rows), 0))
			}
			if err := x.orders.fill(t, "INSERT IGNORE INTO "+t.name+" ("+t.names()+") VALUES "+strings.Join(rows, ", ")); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	judge.Exec(x.t, x.server(), "USE "+database, accountsSQL()[1])
}
