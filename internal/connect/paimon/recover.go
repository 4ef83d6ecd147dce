package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// observed is what a checkpoint entry remembers of a table.
type observed struct {
	Location string `json:"location"`
	// Created is the creation time of schema-0 in epoch milliseconds: the identity of the table.
	Created int64 `json:"created"`
	// Snapshot is the latest snapshot id seen; commits of the entry are later.
	Snapshot int64 `json:"snapshot"`
	// Foreign is the newest snapshot of others that brought or took rows, among
	// those after Watched, which is nil where nobody looked. 0 is none.
	Foreign int64  `json:"foreign,omitempty"`
	Watched *int64 `json:"watched,omitempty"`
}

// Recover opens the table and brings it to the state of the last checkpoint.
func (s *sink) Recover(ctx context.Context, last *dataflow.SinkRecovery) error {
	if err := s.open(ctx); err != nil {
		return s.missing(err, last)
	}
	if last == nil || len(last.Observed) == 0 {
		if err := s.claimTable(); err != nil {
			return err
		}
		if err := s.watch(ctx, observed{Snapshot: s.last.Load()}); err != nil || last == nil {
			return err
		}
	} else {
		var o observed
		if err := json.Unmarshal(last.Observed, &o); err != nil {
			return fmt.Errorf("reading what the checkpoint knows of table %s: %w", s.spec.Table.Name, err)
		}
		if err := s.guard(o); err != nil {
			return err
		}
		if err := s.claimTable(); err != nil {
			return err
		}
		if err := s.commitMissing(ctx, o, last.Epochs); err != nil {
			return err
		}
		if s.table.Schema.ID > 0 {
			if err := s.rekey(ctx); err != nil {
				return err
			}
		}
	}
	for _, attempt := range last.DeadAttempts {
		if err := maintain.RemoveAttempt(ctx, s.fs, s.path, attempt, nil); err != nil {
			return fmt.Errorf("removing files of an earlier run: %w", err)
		}
	}
	for _, name := range last.Abandoned {
		if err := s.Release(ctx, name); err != nil {
			return fmt.Errorf("removing the tag of a savepoint that was not written: %w", err)
		}
	}
	if err := maintain.RemoveStaleTemps(ctx, s.fs, s.path, time.Now()); err != nil {
		return fmt.Errorf("removing files of an earlier run: %w", err)
	}
	return s.refreshLast(ctx)
}

// watchFrom goes on with what an entry knows of the commits of others.
func (s *sink) watchFrom(o observed) {
	s.foreign.Store(o.Foreign)
	if s.watched = o.Watched; s.watched == nil {
		s.watched = &o.Snapshot
	}
}

// watch lets the committer look at every snapshot after the one in o.
func (s *sink) watch(ctx context.Context, o observed) error {
	s.watchFrom(o)
	_, err := s.committer.FindCommitted(ctx, s.spec.CommitUser, o.Snapshot, nil)
	return err
}

// missing turns "no table" into a refusal where the job has written it before.
func (s *sink) missing(err error, last *dataflow.SinkRecovery) error {
	if last == nil || len(last.Observed) == 0 || diag.DomainOf(err) != diag.User {
		return err
	}
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: s.spec.Table.Name, Msg: "the job has written it, and it is gone from " + s.path,
		Hint: "bring the table back, or begin anew with `leat run --fresh`", Cause: err,
	}
}

// guard refuses a table that is not the one the entry knows.
func (s *sink) guard(o observed) error {
	if s.created != o.Created {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: s.spec.Table.Name,
			Msg:  fmt.Sprintf("it is another table than the one the job wrote: created %s, the job knows one of %s", stamp(s.created), stamp(o.Created)),
			Hint: "bring the former table back, or begin anew with `leat run --fresh --replace`",
		}
	}
	if latest := s.last.Load(); latest < o.Snapshot {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: s.spec.Table.Name,
			Msg:  fmt.Sprintf("its latest snapshot is %d, the job has seen %d: it was rolled back or replaced by an older copy", latest, o.Snapshot),
			Hint: "bring the newer state back, or begin anew with `leat run --fresh --replace`",
		}
	}
	return nil
}

func stamp(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }

// commitMissing commits what the last checkpoint prepared and did not commit.
func (s *sink) commitMissing(ctx context.Context, o observed, epochs []dataflow.Epoch) error {
	s.watchFrom(o)
	ids := make([]int64, len(epochs))
	for i := range epochs {
		ids[i] = int64(epochs[i].ID)
	}
	states, err := s.committer.FindCommitted(ctx, s.spec.CommitUser, o.Snapshot, ids)
	if err != nil {
		return fmt.Errorf("looking for the commits of the last checkpoint: %w", err)
	}
	for i := range epochs {
		e := &epochs[i]
		switch states[int64(e.ID)] {
		case commit.Committed:
			if err := s.commitCompaction(ctx, e); err != nil {
				return err
			}
			continue
		case commit.NotCommitted:
		case commit.Unknown:
			req, err := s.request(e)
			if err != nil {
				return err
			}
			live, err := s.committer.AnyLive(ctx, req.Messages)
			if err != nil {
				return err
			}
			if live || appendless(&req) {
				continue
			}
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeJobState, Table: s.spec.Table.Name,
				Msg:  fmt.Sprintf("snapshots that would tell whether checkpoint %d was committed have expired", e.ID),
				Hint: "keep snapshots longer than an outage (snapshot.time-retained), and begin anew with `leat run --fresh --replace`",
			}
		}
		if err := s.commitRecovered(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// commitCompaction commits the compact part of an epoch whose append part is in
// the table: the run may have ended between the two. Without it the rows would
// wait for the next write to their bucket, unseen by readers that leave out level
// 0 and missing in the changelog. Where it is there already, or its files are
// gone, nothing is left to do.
func (s *sink) commitCompaction(ctx context.Context, e *dataflow.Epoch) error {
	req, err := s.request(e)
	if err != nil {
		return err
	}
	whole := req.Messages
	req.Messages, req.Overwrite, req.ForceSnapshot, req.CheckAppend = nil, false, false, false
	for i := range whole {
		m := &whole[i]
		if len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog)+len(m.CompactNewIndex)+len(m.CompactGoneIndex) == 0 {
			continue
		}
		req.Messages = append(req.Messages, spec.CommitMessage{
			Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, CompactBefore: m.CompactBefore, CompactAfter: m.CompactAfter,
			CompactChangelog: m.CompactChangelog, CompactNewIndex: m.CompactNewIndex, CompactGoneIndex: m.CompactGoneIndex,
		})
	}
	if len(req.Messages) == 0 {
		return nil
	}
	if err := s.committer.CheckFiles(ctx, req); err != nil {
		var gone *diag.Error
		if errors.As(err, &gone) && gone.Code == diag.CodeLakeMissing {
			return nil
		}
		return err
	}
	if err := s.claimPartitions(req.Messages); err != nil {
		return err
	}
	return s.commitRequest(ctx, e, req)
}

func (s *sink) commitRecovered(ctx context.Context, e *dataflow.Epoch) error {
	req, err := s.request(e)
	if err != nil {
		return err
	}
	if err := s.claimPartitions(req.Messages); err != nil {
		return err
	}
	if err := s.committer.CheckFiles(ctx, req); err != nil {
		return err
	}
	return s.commitEpoch(ctx, e, true)
}

// claimPartitions claims what messages are about: another job may have come meanwhile.
func (s *sink) claimPartitions(messages []spec.CommitMessage) error {
	paths := spec.NewLayout(s.path, s.table.Schema, s.fs.Join).Partitions
	for i := range messages {
		p, err := paths.Path(messages[i].Partition)
		if err != nil {
			return err
		}
		if err := s.claims.take(strings.TrimSuffix(p, "/")); err != nil {
			return err
		}
	}
	return nil
}

// appendless reports whether r adds no rows: then it does not matter whether it
// was committed.
func appendless(r *commit.Request) bool {
	for i := range r.Messages {
		if len(r.Messages[i].NewFiles)+len(r.Messages[i].Changelog) > 0 {
			return false
		}
	}
	return true
}

// firstSchemaTime gives the creation time of schema-0 in epoch milliseconds.
func firstSchemaTime(ctx context.Context, fs fileio.FS, path string) (int64, error) {
	name := fs.Join(path, spec.SchemaDir, spec.SchemaName(0))
	b, err := fs.ReadFile(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	schema, err := spec.ParseSchema(b)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	return schema.TimeMillis, nil
}
