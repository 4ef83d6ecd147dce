package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestJobCommands drives a running job from outside.
func TestJobCommands(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_jobs")
	j := i.job(t, "commands")
	run := j.Start()
	j.Wait("commands", "snapshot")
	lake := j.Lake("d.items")
	if sum, err := judge.Java(t).LatestSum(lake.Warehouse, lake.Table, "id"); err != nil || sum.Rows != 3 {
		t.Errorf("after wait --until snapshot the lake has %d rows, want 3; %v", sum.Rows, err)
	}

	list := j.Leat("job", "list")
	if list.Code != 0 || !strings.HasPrefix(list.Stdout, "NAME ") || !strings.Contains(list.Stdout, "\ncommands ") || !strings.Contains(list.Stdout, " RUNNING ") {
		t.Errorf("job list: %q, exit code %d", list.Stdout, list.Code)
	}
	var status struct {
		Name, State, Script string
		PID                 int
		Sinks               []string
	}
	show := j.Leat("job", "show", "commands")
	if err := json.Unmarshal([]byte(show.Stdout), &status); err != nil {
		t.Fatal(err)
	}
	if status.Name != "commands" || status.State != "RUNNING" || status.Script != "script.sql" || status.PID == 0 || len(status.Sinks) != 1 {
		t.Errorf("job show: %s", show.Stdout)
	}

	// What is committed before the wait begins is in the lake when it ends.
	for n := range 8 {
		i.exec(t, fmt.Sprintf("INSERT INTO items VALUES (%d, 'more')", 100+n))
		j.Wait("commands", "caught-up")
		if sum, err := judge.Java(t).LatestSum(lake.Warehouse, lake.Table, "id"); err != nil || sum.Rows != int64(4+n) {
			t.Errorf("after wait --until caught-up the lake has %d rows, want %d; %v", sum.Rows, 4+n, err)
		}
	}

	// A job at which nothing happens has reached both.
	time.Sleep(time.Second)
	j.Wait("commands", "snapshot")
	j.Wait("commands", "caught-up")

	if r := j.Leat("job", "wait", "commands", "--until", "end", "--timeout", "100ms"); r.Code != 1 || !strings.Contains(r.Stderr, "error LEAT-5002: ") {
		t.Errorf("job wait --until end: exit code %d\n%s", r.Code, r.Stderr)
	}
	if r := j.Leat("job", "stop", "commands"); r.Code != 0 {
		t.Fatalf("job stop: exit code %d\n%s", r.Code, r.Stderr)
	}
	if r := run.Wait(); r.Code != 0 {
		t.Errorf("the stopped job ended with exit code %d\n%s", r.Code, r.Stderr)
	}
	if r := j.Leat("job", "list", "--output", "ndjson"); r.Code != 0 || r.Stdout != "" {
		t.Errorf("job list after the stop: %q, exit code %d", r.Stdout, r.Code)
	}
	lake.CheckJava(t, i.rows(t))
	if r := j.CatchUp(); !strings.Contains(r.Stderr, "job commands resumes from checkpoint") {
		t.Errorf("the next run does not say that it resumes:\n%s", r.Stderr)
	}
	lake.CheckJava(t, i.rows(t))
}

// TestCatchUpDoesNotWaitForTheInterval ends long before a checkpoint is due.
func TestCatchUpDoesNotWaitForTheInterval(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_interval")
	j := harness.NewJob(t, strings.Replace(i.script("interval"), "'200ms'", "'1h'", 1), harness.SourceEnv(i.server, i.db)...)
	j.CatchUp() // the harness ends what takes minutes
	j.Lake("d.items").CheckRows(t, i.rows(t))
	i.exec(t, "DELETE FROM items WHERE id = 2", "INSERT INTO items VALUES (9, 'nine')")
	j.CatchUp()
	j.Lake("d.items").CheckRows(t, i.rows(t))
}
