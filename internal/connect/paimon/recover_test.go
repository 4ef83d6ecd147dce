package paimon

import (
	"encoding/json"
	"testing"

	"leat/internal/dataflow"
	"leat/lakehouse/spec"
)

// TestCrashBetweenTheParts ends a run after the append part of a checkpoint: the
// next one commits the compact part, though nothing is written any more.
func TestCrashBetweenTheParts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	open := claimTable(t, []string{"part", "id"}, nil, map[string]string{"bucket": "1", "changelog-producer": "lookup", "deletion-vectors.enabled": "true"})
	one := open("one")
	if err := one.Recover(ctx, nil); err != nil {
		t.Fatal(err)
	}
	seen, err := one.Observe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	epoch := firstEpoch(t, one)
	req, err := one.request(&epoch)
	if err != nil {
		t.Fatal(err)
	}
	compacts := 0
	for i := range req.Messages {
		m := &req.Messages[i]
		compacts += len(m.CompactAfter)
		m.CompactBefore, m.CompactAfter, m.CompactChangelog, m.CompactNewIndex, m.CompactGoneIndex = nil, nil, nil, nil, nil
	}
	if compacts == 0 {
		t.Fatal("the checkpoint has no compact part")
	}
	if _, err := one.committer.Commit(ctx, req); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time there is nothing left to do
		next := open("one")
		last := dataflow.SinkRecovery{Observed: seen, Epochs: []dataflow.Epoch{epoch}, DeadAttempts: []string{"attempt-one"}}
		if err := next.Recover(ctx, &last); err != nil {
			t.Fatal(err)
		}
		snap, err := next.table.LatestSnapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if snap.ID != 2 || snap.CommitKind != spec.Compact || snap.CommitIdentifier != 1 {
			t.Errorf("the latest snapshot is %d, %s of checkpoint %d", snap.ID, snap.CommitKind, snap.CommitIdentifier)
		}
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// firstEpoch writes a row and gives the epoch that would commit it.
func firstEpoch(t *testing.T, s *sink) dataflow.Epoch {
	t.Helper()
	ctx := t.Context()
	w, err := s.NewWriter(ctx, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, batchOf(transaction(0, map[int64]account{}))); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dataflow.Epoch{ID: 1, Committables: []json.RawMessage{c}}
}
