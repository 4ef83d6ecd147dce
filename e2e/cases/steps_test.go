package cases

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/cdc/mysqlrow"
	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

// step takes one step of a case.
func (r *run) step(step string) {
	r.t.Helper()
	verb, rest, _ := strings.Cut(step, " ")
	switch {
	case verb == "sql":
		name, _, _ := strings.Cut(rest, " ")
		r.sql(name)
	case verb == "job":
		r.jobStep(rest)
	case strings.HasPrefix(step, "second-job start"):
		r.second = harness.NewJob(r.t, r.script(), r.env()...)
		r.secondChild = r.second.Start()
	case step == "second-job stop":
		r.checkClash()
	case strings.HasPrefix(step, "shell: "):
		r.shell(strings.TrimPrefix(step, "shell: "))
	case strings.HasPrefix(step, "servers"):
		// They run since the case began.
	case step == "server a stop":
		if err := r.servers["a"].Stop(); err != nil {
			r.t.Fatal(err)
		}
	case strings.HasSuffix(step, "lead to b (a proxy, or restart with the new port)"):
		r.child.Stop()
		r.server = r.servers["b"]
		r.job.SetEnv(r.env()...)
		r.child = r.job.Start()
	case strings.HasPrefix(step, "another Paimon writer"):
		r.otherWriter()
	case strings.HasPrefix(step, "make the table's snapshot folder read-only"):
		r.block(true)
	case step == "make it writable":
		r.block(false)
	case verb == "idle":
		r.idle()
	case step == "wait 5 checkpoints":
		time.Sleep(2 * time.Second)
	case verb == "wait":
		// Long enough for a job to notice what is to be noticed.
		time.Sleep(5 * time.Second)
	case step == "expect error":
		r.checkError()
	case verb == "compare":
		r.without = strings.TrimPrefix(rest, "without id ")
		r.compare()
	default:
		r.t.Fatalf("unknown step %q", step)
	}
}

// jobStep starts, ends or waits for the job.
func (r *run) jobStep(step string) {
	r.t.Helper()
	switch {
	case step == "start" || strings.HasPrefix(step, "start (on "):
		r.start()
	case strings.HasPrefix(step, "start (user "):
		m := regexp.MustCompile(`user (\S+), password ([^;]+);`).FindStringSubmatch(step)
		r.user, r.password = m[1], m[2]
		r.start()
	case step == "start if it had stopped":
		if r.child.Ended() {
			r.start()
		}
	case step == "wait-snapshot" || step == "wait-running":
		r.wait("snapshot")
	case step == "wait-caught-up":
		r.wait("caught-up")
	case step == "stop":
		r.child.Stop()
	case step == "kill-9 within-the-first-second":
		time.Sleep(400 * time.Millisecond)
		r.child.Kill()
	case step == "kill-9 within-2-seconds":
		time.Sleep(time.Second)
		r.child.Kill()
	case step == "kill-9 at 5 random moments, each time job start":
		for range 5 {
			time.Sleep(time.Duration(100+rand.IntN(600)) * time.Millisecond)
			r.child.Kill()
			r.start()
		}
	case step == "kill-9":
		r.child.Kill()
	default:
		r.t.Fatalf("unknown step %q", "job "+step)
	}
}

func (r *run) start() {
	r.t.Helper()
	if r.job == nil {
		script := ""
		if !r.syncs() {
			script = r.script()
		}
		r.job = harness.NewJob(r.t, script, r.env()...)
	}
	if r.syncs() {
		r.child = r.job.StartCommand(r.syncArgs()...)
		return
	}
	r.child = r.job.Start()
}

// syncs reports whether whole tables are carried: no script, and no option that
// a script has to declare types for.
func (r *run) syncs() bool { return r.testCase.job == "" && len(r.servers) == 0 }

// syncArgs is the command that carries the tables of the case.
func (r *run) syncArgs() []string {
	include := make([]string, len(r.Sync))
	for i, source := range r.Sync {
		db, table, _ := strings.Cut(source, ".")
		include[i] = mysqlrow.QuoteName(db) + "." + mysqlrow.QuoteName(table)
	}
	if r.Database != "" {
		include = append(include, r.Database+".*")
	}
	args := []string{
		"sync", "mysql", "--url", fmt.Sprintf("mysql://%s@127.0.0.1:%d/", r.user, r.server.Port), "--include", strings.Join(include, ","),
		"--warehouse", r.job.Warehouse(), "--name", "case", "--set", "execution.checkpointing.interval=200ms",
	}
	for _, k := range slices.Sorted(maps.Keys(r.Options)) {
		if k != zoneOption {
			args = append(args, "--mysql-conf", k+"="+r.Options[k])
		}
	}
	return args
}

func (r *run) env() []string {
	return []string{"MYSQL_PORT=" + strconv.Itoa(r.server.Port), "LEAT_MYSQL_PASSWORD=" + r.password}
}

// sql runs a part of source.sql, each statement on the server it is for.
func (r *run) sql(part string) {
	r.t.Helper()
	on := map[*mysqld.Server][]string{}
	var order []*mysqld.Server
	for _, st := range r.parts[part] {
		s := r.server
		if st.server != "" {
			s = r.servers[st.server]
		}
		text := st.sql
		if a := r.servers["a"]; a != nil {
			text = strings.ReplaceAll(text, "${MYSQL_PORT_A}", strconv.Itoa(a.Port))
		}
		if len(on[s]) == 0 {
			order = append(order, s)
		}
		on[s] = append(on[s], text)
	}
	for _, s := range order {
		judge.Exec(r.t, s, on[s]...)
	}
}

// shell runs a statement in the shell, with the lake as catalog lake.
func (r *run) shell(sql string) {
	r.t.Helper()
	catalog := fmt.Sprintf("CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s')", r.job.Warehouse())
	if got := r.job.Leat("shell", "-e", catalog+"; "+sql); got.Code != 0 {
		r.t.Fatalf("%s: exit code %d\n%s", sql, got.Code, got.Stderr)
	}
}

// checkClash requires that one of the two jobs names the server id that both use.
func (r *run) checkClash() {
	r.t.Helper()
	said := r.child.Stderr() + r.secondChild.Stderr()
	if !strings.Contains(said, "server-id") || !strings.Contains(said, "5400") {
		r.t.Errorf("neither job says that another client uses its server id:\n%s", said)
	}
	r.secondChild.End()
}

// otherWriter lets Java commit a row and compact.
func (r *run) otherWriter() {
	r.t.Helper()
	java, lake := judge.Java(r.t), r.job.Lake(r.targets()[0])
	java.Write(r.t, lake.Warehouse, lake.Table, "other", 1, `{"id":900,"v":900}`+"\n")
	java.Compact(r.t, lake.Warehouse, lake.Table)
}

// block makes commits to the table fail, as a folder without permission does,
// also for root.
func (r *run) block(on bool) {
	r.t.Helper()
	db, table, _ := strings.Cut(r.targets()[0], ".")
	dir := filepath.Join(r.job.Warehouse(), db+".db", table, "snapshot")
	var err error
	if on {
		if err = os.Rename(dir, dir+".away"); err == nil {
			err = os.WriteFile(dir, nil, 0o600)
		}
	} else {
		if err = os.Remove(dir); err == nil {
			err = os.Rename(dir+".away", dir)
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// idle leaves the job alone and requires that it uses next to nothing.
func (r *run) idle() {
	r.t.Helper()
	const idle = 10 * time.Second
	snapshots := func() int { return len(judge.Java(r.t).Snapshots(r.t, r.job.Warehouse(), r.targets()[0])) }
	before, files := snapshots(), len(harness.Tree(r.t, r.job.Dir))
	cpu, memory := r.child.Usage()
	time.Sleep(idle)
	cpuAfter, memoryAfter := r.child.Usage()
	if used := cpuAfter - cpu; used > idle*3/100 {
		r.t.Errorf("an idle job used %v of CPU time in %v", used, idle)
	}
	if grown := memoryAfter - memory; grown > 8<<20 {
		r.t.Errorf("an idle job grew by %d bytes", grown)
	}
	if after := snapshots(); after != before {
		r.t.Errorf("an idle job made %d snapshots", after-before)
	}
	if after := len(harness.Tree(r.t, r.job.Dir)); after > files+2 {
		r.t.Errorf("an idle job made %d files", after-files)
	}
}
