package job_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/internal/job"
	"leat/lakehouse"
	"leat/planner"
	"leat/sqlfront"
)

// place is a warehouse and a state directory of one test.
type place struct {
	t                   *testing.T
	warehouse, stateDir string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	// The state directory holds a socket, whose path is limited.
	dir, err := os.MkdirTemp("", "leat-job") //nolint:usetesting // the name of a test would make the socket path too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &place{t: t, warehouse: filepath.Join(t.TempDir(), "lake"), stateDir: dir}
}

// job plans a script that writes rows of datagen into lake.db.t; rows 0 is without end.
func (p *place) job(rows string, change func(*job.Spec)) *job.Job {
	p.t.Helper()
	limit := ""
	if rows != "0" {
		limit = ", 'number-of-rows' = '" + rows + "', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '" + rows + "'"
	}
	text := `SET 'execution.checkpointing.interval' = '100ms';
SET 'pipeline.name' = 'copy';
CREATE TABLE src (id BIGINT, v INT) WITH ('connector' = 'datagen', 'rows-per-second' = '20000'` + limit + `);
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '` + p.warehouse + `');
CREATE DATABASE IF NOT EXISTS lake.db;
CREATE TABLE IF NOT EXISTS lake.db.t (id BIGINT NOT NULL, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2');
INSERT INTO lake.db.t SELECT id, v FROM src;`
	script, err := sqlfront.Parse("test.sql", text, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := planner.Build(p.t.Context(), script, planner.Env{Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: configs.Values{}})
	if err != nil {
		p.t.Fatal(err)
	}
	spec := job.Spec{Result: r, Script: "test.sql", StateDir: p.stateDir, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&spec)
	}
	return job.New(spec)
}

// rows counts the rows of the latest snapshot, and gives its id.
func (p *place) rows() (rows int, snapshot int64) {
	p.t.Helper()
	t, err := lakehouse.Open(p.t.Context(), local.New(), filepath.Join(p.warehouse, "db.db", "t"))
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := t.LatestSnapshot(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if s == nil {
		return 0, 0
	}
	err = t.Scan(p.t.Context(), lakehouse.ScanOptions{}, func(b *columnar.Batch) error {
		rows += b.Rows()
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return rows, s.ID
}

func wantError(t *testing.T, err error, code diag.Code, domain diag.Domain) {
	t.Helper()
	var list diag.List
	list.Add(err)
	if len(list) == 0 || list[0].Code != code || list[0].Domain != domain || list[0].Hint == "" {
		t.Fatalf("got error %v, want %s of domain %d with a hint", err, code, domain)
	}
	if !errors.Is(err, job.ErrNotStarted) {
		t.Fatalf("error %v does not say that nothing was started", err)
	}
}

func TestRunsToTheEndAndResumesWithNothingLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for range 2 {
		if err := p.job("5000", nil).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, _ := p.rows(); n != 5000 {
			t.Fatalf("the table has %d rows, want 5000", n)
		}
	}
}

func TestSecondStartIsRefusedAndClientStopsTheFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.job("0", nil).Run(ctx) }()
	client := job.NewClient(p.stateDir)
	var s job.Status
	for s.Stats.Checkpoints.Completed == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the job ended by itself: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		s, _ = client.Find(ctx, "copy")
	}
	if s.State != job.Running || s.PID != os.Getpid() || len(s.Sinks) != 1 {
		t.Errorf("status %+v", s)
	}
	wantError(t, p.job("0", nil).Run(ctx), diag.CodeJobRunning, diag.Guard)
	if _, err := client.Find(ctx, "copi"); err == nil || !strings.Contains(err.Error(), "no job called copi") {
		t.Errorf("finding an unknown job: %v", err)
	}
	if err := client.Stop(ctx, &s); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("a stopped job ends with %v", err)
	}
	if n, _ := p.rows(); n == 0 {
		t.Error("the last checkpoint of a stopped job brought no rows")
	}
	if list, err := client.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("after the stop %d jobs are listed, error %v", len(list), err)
	}
}

func TestKnownJobWithoutItsTableIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := p.job("1000", nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.warehouse); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.job("1000", nil).Run(t.Context()), diag.CodeLakeMissing, diag.Guard)
	if _, err := os.Stat(p.warehouse); !os.IsNotExist(err) {
		t.Errorf("the refused job left something in the warehouse: %v", err)
	}
	if err := p.job("1000", func(s *job.Spec) { s.Fresh = true }).Run(t.Context()); err != nil {
		t.Fatalf("a fresh start over a missing table: %v", err)
	}
	if n, _ := p.rows(); n != 1000 {
		t.Errorf("the table has %d rows, want 1000", n)
	}
}

func TestFreshNeedsReplaceOverRows(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := p.job("3000", nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.job("1000", func(s *job.Spec) { s.Fresh = true }).Run(t.Context()), diag.CodeFreshRefused, diag.Guard)
	if n, _ := p.rows(); n != 3000 {
		t.Fatalf("a refused start changed the table: %d rows", n)
	}
	if err := p.job("1000", func(s *job.Spec) { s.Fresh, s.Replace = true, true }).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, _ := p.rows(); n != 1000 {
		t.Errorf("after --fresh --replace the table has %d rows, want 1000", n)
	}
}
