package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// claimTable makes a table of accounts on a local disk.
func claimTable(t *testing.T, key, partitions []string, options map[string]string) func(job string) *sink {
	t.Helper()
	schema := &spec.TableSchema{Version: spec.SchemaVersion, PrimaryKeys: key, PartitionKeys: partitions, Options: options}
	for i, f := range accountColumns.Fields {
		f.ID = i
		if f.Name == "part" {
			f.Type = f.Type.NotNull()
		}
		schema.Fields = append(schema.Fields, f)
	}
	schema.HighestFieldID = len(schema.Fields) - 1
	b, err := spec.MarshalSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t")
	if err := local.New().CreateExclusive(t.Context(), filepath.Join(path, spec.SchemaDir, spec.SchemaName(0)), b); err != nil {
		t.Fatal(err)
	}
	def := &connect.Table{Name: "lake.db.t", Schema: accountColumns, PrimaryKey: key, PartitionKeys: partitions, Options: configs.Values{}}
	for k, v := range options {
		def.Options[k] = configs.Value{Text: v}
	}
	return func(job string) *sink {
		s := &sink{
			spec: connect.SinkSpec{UID: "sink", Table: def, Job: job, CommitUser: "user-" + job, Attempt: "attempt-" + job}, fs: local.New(), path: path,
			budget: lakehouse.NewMemoryBudget(1 << 20), pool: lakehouse.NewWorkPool(1), log: slog.New(slog.DiscardHandler),
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}

// epochOf writes one row to a partition and commits it.
func epochOf(ctx context.Context, s *sink, id dataflow.CheckpointID, part string) error {
	w, err := s.NewWriter(ctx, 0, 1)
	if err != nil {
		return err
	}
	if err := w.Write(ctx, batchOf([]change{{columnar.Insert, int64(id), account{part: part, amount: 1}}})); err != nil {
		return err
	}
	p, err := w.Prepare(ctx, id)
	if err != nil {
		return err
	}
	c, err := p.Wait(ctx)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(s.Commit(ctx, []dataflow.Epoch{{ID: id, Committables: []json.RawMessage{c}}}), w.Close())
}

func refused(t *testing.T, err error, where string) {
	t.Helper()
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.CodeLakeWriter || diag.DomainOf(err) != diag.Guard || diag.Retryable(err) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"job one", fmt.Sprintf("pid %d", os.Getpid()), "user-one", where} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestSecondWriterOfAPartition(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	open := claimTable(t, []string{"part", "id"}, []string{"part"}, map[string]string{"bucket": "1"})
	one, two, three := open("one"), open("two"), open("three")
	for _, s := range []*sink{one, two, three} {
		if err := s.Recover(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	for id, part := range []string{"p0", "p1", "p0"} {
		if err := epochOf(ctx, one, dataflow.CheckpointID(id+1), part); err != nil {
			t.Fatal(err)
		}
	}
	if err := epochOf(ctx, two, 1, "p2"); err != nil {
		t.Errorf("another partition: %v", err)
	}
	refused(t, epochOf(ctx, two, 2, "p1"), "partition part=p1")
	refused(t, epochOf(ctx, three, 1, "p0"), "partition part=p0")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := epochOf(ctx, three, 1, "p0"); err != nil {
		t.Errorf("after the first writer's end: %v", err)
	}
	for _, s := range []*sink{two, three} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := local.New().List(ctx, filepath.Join(one.path, ".leat", "writers")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Without partitions a second job is refused before it does anything; a dead
// one's file does not count.
func TestSecondWriterOfATable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	open := claimTable(t, []string{"id"}, nil, map[string]string{"bucket": "1"})
	one, two := open("one"), open("two")
	if err := one.Recover(ctx, nil); err != nil {
		t.Fatal(err)
	}
	refused(t, two.Recover(ctx, nil), "the table")
	if err := one.claims.lock.Release(); err != nil {
		t.Fatal(err)
	}
	one.claims.lock = nil
	if err := two.Recover(ctx, nil); err != nil {
		t.Fatalf("after the first writer's death: %v", err)
	}
	if err := epochOf(ctx, two, 1, "p0"); err != nil {
		t.Fatal(err)
	}
}

func TestSharedTables(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, open := range map[string]func(string) *sink{
		"append":     claimTable(t, nil, nil, map[string]string{"bucket": "-1"}),
		"write-only": claimTable(t, []string{"id"}, nil, map[string]string{"bucket": "1", "write-only": "true"}),
	} {
		for _, job := range []string{"one", "two"} {
			s := open(job)
			if err := s.Recover(ctx, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := epochOf(ctx, s, 1, "p0"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
