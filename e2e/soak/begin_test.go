package soak

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

const jobName = "soak"

// begin fills the tables and starts the job and the writers, in the order that
// the startup mode asks for.
func (x *round) begin(write func()) {
	x.t.Helper()
	var options []string
	switch x.mode {
	case "specific-offset", "gtid-set":
		end, err := x.server().EndOfLog()
		if err != nil {
			x.t.Fatal(err)
		}
		options = []string{"scan.startup.specific-offset.file", end.File, "scan.startup.specific-offset.pos", strconv.FormatUint(end.Offset, 10)}
		if x.mode == "gtid-set" {
			options = []string{"scan.startup.specific-offset.gtid-set", end.GTIDs}
		}
	case "timestamp":
		time.Sleep(1100 * time.Millisecond)
		options = []string{"scan.startup.timestamp-millis", strconv.FormatInt(time.Now().UnixMilli(), 10)}
		time.Sleep(10 * time.Millisecond)
	}
	mode := x.mode
	if mode == "gtid-set" {
		mode = "specific-offset"
	}
	x.job = harness.NewJob(x.t, x.script(append(options, "scan.startup.mode", mode)),
		append(harness.SourceEnv(x.server(), database), fmt.Sprintf("MYSQL_PORT=%d", x.proxy.port()))...)
	if x.mode == "latest-offset" {
		x.start()
		x.job.Wait(jobName, "snapshot")
		x.fill()
		// A start before the first checkpoint would begin at another end of the log.
		harness.Eventually(x.t, "the accounts came", func() bool {
			s, err := judge.Java(x.t).LatestSum(x.job.Warehouse(), "d.accounts", "balance")
			return err == nil && s.Rows == accounts
		})
		write()
		return
	}
	x.fill()
	write()
	time.Sleep(time.Duration(x.rnd.IntN(500)) * time.Millisecond)
	x.start()
}

// whole waits until all tables have been read once, which takes a slow machine longer
// than the accidents: only what changes after that makes a complete snapshot of each.
func (x *round) whole() {
	x.t.Helper()
	x.proxy.wait(0)
	if x.mode == "snapshot" {
		return
	}
	harness.Eventually(x.t, "the tables were read", func() bool {
		return !x.over() && x.job.Leat("job", "wait", jobName, "--until", "snapshot", "--timeout", "10s").Code == 0
	})
}

// finish lets the job read all that was written, and ends it.
func (x *round) finish() {
	x.t.Helper()
	x.proxy.wait(0)
	if x.over() {
		return
	}
	x.stop()
	if x.mode == "snapshot" {
		x.job.MustRun()
		return
	}
	x.job.CatchUp()
}

// script is the job: every sink of every table, and the accounts by region.
func (x *round) script(options []string) string {
	r := x.rnd
	interval := time.Duration(100+r.IntN(280)) * time.Millisecond
	s := harness.Settings(jobName, interval.String(), "leat.memory.write-buffers", "16 mb", "restart-strategy", "fixed-delay",
		"restart-strategy.fixed-delay.delay", "200ms", "restart-strategy.fixed-delay.attempts", "1000")
	options = append([]string{
		"scan.incremental.snapshot.chunk.size", fmt.Sprint(2 + r.IntN(400)), "leat.snapshot.readers", fmt.Sprint(1 + r.IntN(3)), "connect.max-retries", fmt.Sprint(1 + r.IntN(20)),
	}, options...)
	var tables, inserts strings.Builder
	for _, t := range x.tables {
		constraint := ""
		if t.key != nil {
			constraint = ", PRIMARY KEY (" + strings.Join(t.keyNames(), ", ") + ") NOT ENFORCED"
		}
		own := options
		if t.key == nil {
			own = append(slices.Clone(options), "scan.incremental.snapshot.chunk.key-column", "h")
		}
		s += harness.MySQLTable("src_"+t.name, t.lakeColumns()+constraint, t.name, own...)
		for _, k := range t.sinks {
			columns, tail, query := t.lakeColumns()+k.constraint(t), "", t.lakeNames()
			if k.partition {
				tail = "PARTITIONED BY (g)"
			}
			if k.groups {
				columns, query = "g INT NOT NULL, n BIGINT, h BIGINT, txn BIGINT, PRIMARY KEY (g) NOT ENFORCED", "g, 1, h, txn"
			}
			tables.WriteString(harness.LakeTable(k.name, columns, tail, append(harness.KeepAll(), k.options...)...))
			fmt.Fprintf(&inserts, "  INSERT INTO %s SELECT %s FROM default_catalog.default_database.src_%s;\n", k.name, query, t.name)
		}
	}
	s += harness.MySQLTable("src_accounts", "id BIGINT NOT NULL, region STRING NOT NULL, balance BIGINT, note STRING, PRIMARY KEY (id) NOT ENFORCED", "accounts", options...)
	tables.WriteString(harness.LakeTable("accounts", "id BIGINT NOT NULL, region STRING NOT NULL, balance BIGINT, note STRING, PRIMARY KEY (region, id) NOT ENFORCED",
		"PARTITIONED BY (region)", append(harness.KeepAll(), "bucket", "2", "bucket-key", "id", "changelog-producer", "input", "num-sorted-run.compaction-trigger", "3")...))
	inserts.WriteString("  INSERT INTO accounts SELECT id, region, balance, note FROM default_catalog.default_database.src_accounts;\n")
	return s + harness.LakeDatabase + tables.String() + "EXECUTE STATEMENT SET BEGIN\n" + inserts.String() + "END;\n"
}

// constraint is the key of a sink that holds the rows; a table without one is appended to.
func (k sink) constraint(t *table) string {
	if len(k.key(t)) == 0 {
		return ""
	}
	return ", PRIMARY KEY (" + strings.Join(k.key(t), ", ") + ") NOT ENFORCED"
}

func (k sink) key(t *table) []string {
	switch {
	case k.groups:
		return []string{"g"}
	case k.partition:
		return append([]string{"g"}, t.keyNames()...)
	default:
		return t.keyNames()
	}
}

// lakeNames are the columns that the job reads.
func (t *table) lakeNames() string {
	var out []string
	for _, c := range t.cols {
		if !c.unread {
			out = append(out, c.name)
		}
	}
	return strings.Join(out, ", ")
}
