package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/internal/job"
	"leat/lakehouse/maintain"
)

// running starts an endless job and waits for its first commit.
func (p *place) running(change func(*job.Spec)) (*job.Job, chan error) {
	p.t.Helper()
	j := p.job("0", change)
	ended := make(chan error, 1)
	go func() { ended <- j.Run(p.t.Context()) }()
	for until := time.Now().Add(2 * time.Minute); j.Status().Stats.Checkpoints.Completed == 0; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			p.t.Fatalf("the job ended by itself: %v", err)
		default:
		}
		if time.Now().After(until) {
			p.t.Fatal("no checkpoint within 30 s")
		}
	}
	return j, ended
}

func (p *place) tags() []string {
	p.t.Helper()
	tags, err := maintain.Tags(p.t.Context(), local.New(), filepath.Join(p.warehouse, "db.db", "t"))
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for i := range tags {
		names = append(names, tags[i].Name)
	}
	return names
}

func TestSavepointIsStartedFromOnAnotherStateDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	j, ended := p.running(nil)
	info, err := j.Savepoint(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("a job that stops with a savepoint ends with %v", err)
	}
	rows, snapshot := p.rows()
	if tags := p.tags(); len(tags) != 1 || tags[0] != info.Name || info.State != "taken" || info.Checkpoint == 0 {
		t.Errorf("savepoint %+v, tags %v", info, tags)
	}

	// Refused where it would lose something, exactly there where not.
	var notices []string
	from := func(s *job.Spec) {
		s.From, s.Notice = info.Path, func(n string) { notices = append(notices, n) }
	}
	saved := *p
	p.stateDir = filepath.Join(p.stateDir, "n")
	again, ended := p.running(from)
	again.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(notices, "\n"), "starts from "+info.Name) {
		t.Errorf("notices %v", notices)
	}
	more, latest := p.rows()
	if more <= rows || latest <= snapshot {
		t.Errorf("after the start from the savepoint: %d rows at snapshot %d, before %d at %d", more, latest, rows, snapshot)
	}
	p.stateDir = saved.stateDir
	wantError(t, p.job("0", from).Run(t.Context()), diag.CodeSavepoint, diag.Guard)
	if n, at := p.rows(); n != more || at != latest {
		t.Errorf("a refused start changed the table: %d rows at %d", n, at)
	}

	notices = nil
	back, ended := p.running(func(s *job.Spec) { from(s); s.RollbackTables = true })
	back.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(notices, "\n"); !strings.Contains(text, "is rolled back from snapshot") {
		t.Errorf("notices %v", notices)
	}

	// Gone with its tag.
	lake, ok := builtin.Lake().(connect.Rewinder)
	if !ok {
		t.Fatal("lake tables hold no savepoints")
	}
	if _, err := job.Dispose(t.Context(), info.Path, "", p.stateDir, lake); err != nil {
		t.Fatal(err)
	}
	if tags := p.tags(); len(tags) != 0 {
		t.Errorf("tags after the disposal: %v", tags)
	}
	wantError(t, p.job("0", from).Run(t.Context()), diag.CodeSavepoint, diag.User)
}

func TestFailedSavepointLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	j, ended := p.running(nil)
	// A file stands where the folder of savepoints is to be.
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Savepoint(t.Context(), dir, true); diag.DomainOf(err) != diag.External {
		t.Errorf("a savepoint below a file: %v", err)
	}
	if tags := p.tags(); len(tags) != 0 {
		t.Errorf("tags of a savepoint that failed: %v", tags)
	}
	j.Stop()
	if err := <-ended; err != nil {
		t.Errorf("the job did not go on: %v", err)
	}
	if _, err := j.Savepoint(t.Context(), dir, false); diag.DomainOf(err) != diag.External {
		t.Errorf("a savepoint of an ended job: %v", err)
	}
}

func TestLostStateIsNoFreshStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := p.job("1000", nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(p.stateDir, "jobs")); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.job("1000", nil).Run(t.Context()), diag.CodeJobState, diag.Guard)
	if n, at := p.rows(); n != 1000 || at == 0 {
		t.Errorf("a refused start changed the table: %d rows at %d", n, at)
	}
	if err := p.job("500", func(s *job.Spec) { s.Fresh, s.Replace = true, true }).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, _ := p.rows(); n != 500 {
		t.Errorf("after --fresh --replace the table has %d rows, want 500", n)
	}
}
