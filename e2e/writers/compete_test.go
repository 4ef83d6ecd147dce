package writers

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/fileio/local"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
)

var soak = flag.Duration("soak", 20*time.Second, "how long the writers of TestCompetition write")

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// keys is how many keys a writer goes round: row v has key v modulo keys.
const keys = 120

// entrant is one writer of a competition.
type entrant struct {
	name  string
	parts []string
}

// competition is a table and those who write it.
type competition struct {
	// primaryKey is whether rows replace those of their key.
	primaryKey bool
	options    map[string]string
	// processes are leat programs, the first of which is killed on the way; inside
	// are writers of this process, which compact; java is Paimon's.
	processes, inside []entrant
	java              entrant
	javaOptions       map[string]string
}

var both = []string{"p0", "p1"}

var competitions = map[string]competition{
	"keys in the same buckets": {
		primaryKey: true, options: map[string]string{"bucket": "2"},
		inside: []entrant{{"a", both}, {"b", both}}, java: entrant{"java", both},
	},
	"keys in the same buckets, compacted by one": {
		primaryKey: true, options: map[string]string{"bucket": "2", "write-only": "true"},
		processes: []entrant{{"a", both}, {"b", both}}, java: entrant{"java", both}, javaOptions: map[string]string{"write-only": "false"},
	},
	"keys in partitions of their own": {
		primaryKey: true, options: map[string]string{"bucket": "2"},
		processes: []entrant{{"a", []string{"pa"}}, {"b", []string{"pb"}}}, java: entrant{"java", []string{"pj"}},
	},
	"rows in the same partitions": {
		options:   map[string]string{"bucket": "-1", "compaction.min.file-num": "5"},
		processes: []entrant{{"a", both}, {"b", []string{"p1", "pb"}}}, java: entrant{"java", both},
	},
}

// TestCompetition lets two leats and Paimon write one table at the same time:
// every row that somebody was told is in is there once, as Paimon reads it.
func TestCompetition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tables := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(competitions)) {
		tables[name] = fmt.Sprintf("d.t%d", i)
		competitions[name].create(t, judge.Java(t), dir, tables[name])
	}
	// Paimon's writers share a process of their own, so that the judge is free.
	// All write at the same time: no subtest, of which few run side by side.
	acks := paimon(t, dir, tables)
	races := map[string]*race{}
	for name, c := range competitions {
		races[name] = c.start(t, dir, tables[name])
	}
	time.Sleep(*soak / 3)
	for _, r := range races {
		if len(r.processes) > 0 {
			r.processes[0].restart()
		}
	}
	java := acks()
	for name, c := range competitions {
		results := races[name].wait()
		results[c.java.name] = java[tables[name]]
		t.Run(name, func(t *testing.T) { c.end(t, dir, tables[name], results) })
	}
}

func (c competition) create(t *testing.T, java *judge.Oracle, dir, table string) {
	t.Helper()
	key := []string{}
	if c.primaryKey {
		key = []string{"part", "w", "k"}
	}
	definition, err := json.Marshal(map[string]any{
		"fields": []map[string]string{
			{"name": "w", "type": "STRING NOT NULL"}, {"name": "part", "type": "STRING NOT NULL"}, {"name": "k", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "BIGINT"},
		},
		"primaryKeys": key, "partitionKeys": []string{"part"}, "options": c.options,
	})
	if err != nil {
		t.Fatal(err)
	}
	java.Create(t, dir, table, string(definition))
}

// result is what a writer says of itself: all rows up to acked are in.
type result struct {
	acked, commits int64
	// failed are commits given up and written again, dropped compactions given up, lost races for a snapshot.
	failed, dropped, lost int64
}

// race is a competition under way.
type race struct {
	c         competition
	processes []*process
	wg        sync.WaitGroup
	mu        sync.Mutex
	results   map[string]result
}

func (c competition) start(t *testing.T, dir, table string) *race {
	t.Helper()
	r := &race{c: c, results: map[string]result{}}
	for _, e := range c.processes {
		r.processes = append(r.processes, start(t, dir, table, e))
	}
	for _, e := range c.inside {
		r.wg.Go(func() {
			done, err := write(t.Context(), dir, table, e, time.Now().Add(*soak))
			if err != nil {
				t.Errorf("writer %s: %v", e.name, err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results[e.name] = done
		})
	}
	return r
}

// wait gives what leat's writers say when they have ended.
func (r *race) wait() map[string]result {
	r.wg.Wait()
	for i, p := range r.processes {
		r.results[r.c.processes[i].name] = p.wait()
	}
	return r.results
}

// end compares the table with what the writers say, also after a sweep.
func (c competition) end(t *testing.T, dir, table string, results map[string]result) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(results)) {
		t.Logf("%s: %+v", name, results[name])
	}
	c.check(t, dir, table, results)
	path := dir + "/" + strings.Replace(table, ".", ".db/", 1)
	snapshots, err := commit.NewSnapshots(local.New(), path).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, err := maintain.RemoveOrphans(t.Context(), local.New(), path, maintain.OrphanOptions{OlderThan: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d snapshots, %d orphans, %d bytes", snapshots, len(gone.Paths), gone.Bytes)
	c.check(t, dir, table, results)
}

// check reads the table with Paimon and compares it with what was acknowledged.
func (c competition) check(t *testing.T, dir, table string, results map[string]result) {
	t.Helper()
	want := map[string]int{}
	for _, e := range slices.Concat(c.processes, c.inside, []entrant{c.java}) {
		acked := results[e.name].acked
		if acked == 0 {
			t.Errorf("writer %s wrote nothing", e.name)
		}
		first := int64(1)
		if c.primaryKey {
			first = max(1, acked-keys+1)
		}
		for v := first; v <= acked; v++ {
			want[fmt.Sprintf("%s %s %d %d", e.name, e.parts[v%int64(len(e.parts))], v%keys, v)]++
		}
	}
	wrong := 0
	complain := func(format string, args ...any) {
		if wrong++; wrong <= 10 {
			t.Errorf(format, args...)
		}
	}
	for _, r := range judge.Java(t).Rows(t, dir, table) {
		row := fmt.Sprintf("%s %s %d %d", r.Text("w"), r.Text("part"), r.Int("k"), r.Int("v"))
		if want[row]--; want[row] < 0 {
			complain("row %s is there, and should not, or twice", row)
		}
	}
	for row, n := range want {
		if n > 0 {
			complain("row %s is not there", row)
		}
	}
	if wrong > 0 {
		t.Errorf("%d rows wrong", wrong)
	}
}

// paimon lets Paimon's writers of all tables write and gives their results when they have ended.
func paimon(t *testing.T, dir string, tables map[string]string) func() map[string]result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	oracle, err := judge.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var specs []map[string]any
	var order []string
	for name, c := range competitions {
		order = append(order, tables[name])
		specs = append(specs, map[string]any{
			"table": tables[name], "name": c.java.name, "parts": c.java.parts, "keys": keys, "rows": 20, "pause_ms": 300,
			"millis": soak.Milliseconds(), "options": c.javaOptions,
		})
	}
	input, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Acked, Commits, Failed int64
		Error                  string
	}
	var lines [][]byte
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines, err = oracle.Call(string(input), "compete", "--warehouse", dir, "--table", order[0])
	}()
	return func() map[string]result {
		<-ended
		if err != nil {
			t.Error(err)
			return nil
		}
		out := map[string]result{}
		for i, line := range lines {
			var a answer
			if err := json.Unmarshal(line, &a); err != nil || a.Error != "" {
				t.Errorf("Paimon's writer of %s: %v %s", order[i], err, a.Error)
			}
			out[order[i]] = result{acked: a.Acked, commits: a.Commits, failed: a.Failed}
		}
		return out
	}
}

// process is a leat program that writes a bounded number of rows.
type process struct {
	t     *testing.T
	job   *harness.Job
	child *harness.Child
	rows  int64
	log   string
}

// rate is the rows a second of a process.
const rate = 100

func start(t *testing.T, dir, table string, e entrant) *process {
	t.Helper()
	p := &process{t: t, rows: int64(math.Ceil(soak.Seconds() * rate))}
	part := "'" + e.parts[0] + "'"
	if len(e.parts) == 2 {
		part = fmt.Sprintf("CASE MOD(n, 2) WHEN 0 THEN '%s' ELSE '%s' END", e.parts[0], e.parts[1])
	}
	script := harness.Settings(e.name+"_"+strings.TrimPrefix(table, "d."), "300ms") + "CREATE TEMPORARY TABLE gen (n BIGINT NOT NULL) WITH (" + harness.Options(
		"connector", "datagen", "rows-per-second", fmt.Sprint(rate), "fields.n.kind", "sequence", "fields.n.start", "1", "fields.n.end", fmt.Sprint(p.rows)) + ");\n" +
		harness.LakeDatabase + fmt.Sprintf("INSERT INTO %s SELECT '%s', %s, MOD(n, %d), n FROM default_catalog.default_database.gen;\n", strings.TrimPrefix(table, "d."), e.name, part, keys)
	p.job = harness.NewJob(t, script, "WAREHOUSE="+dir)
	p.job.Timeout = *soak + harness.Timeout
	p.child = p.job.Start()
	return p
}

// restart kills the program and starts it again.
func (p *process) restart() {
	p.t.Helper()
	p.child.Kill()
	p.log += p.child.Stderr()
	p.child = p.job.Start()
}

// wait waits for the end.
func (p *process) wait() result {
	p.t.Helper()
	r := p.child.Wait()
	p.log += r.Stderr
	if r.Code != 0 {
		p.t.Errorf("leat ended with exit code %d:\n%s", r.Code, r.Stderr)
	}
	return result{acked: p.rows, dropped: int64(strings.Count(p.log, "compaction dropped"))}
}
