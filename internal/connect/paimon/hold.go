package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// held is what a savepoint knows of a table: what a checkpoint does, with the
// snapshot that a tag keeps for it.
type held struct {
	observed
	Tag string `json:"tag"`
	// Delta is the delta manifest list of the snapshot: its number may be given
	// again after a rollback, this name is not.
	Delta string `json:"delta"`
	// Schema is the id of the snapshot's schema.
	Schema int64 `json:"schema"`
	// User and Identifier are those of the snapshot's commit.
	User       string `json:"commit_user"`
	Identifier int64  `json:"commit_identifier"`
}

func (s *sink) held(tag string, snap *spec.Snapshot) held {
	o := s.observe()
	o.Snapshot = snap.ID
	return held{observed: o, Tag: tag, Delta: snap.DeltaManifestList, Schema: snap.SchemaID, User: snap.CommitUser, Identifier: snap.CommitIdentifier}
}

// Hold tags the latest snapshot. A table without one gets an empty one: there has
// to be something to go back to.
func (s *sink) Hold(ctx context.Context, name string, last *dataflow.Epoch) (json.RawMessage, error) {
	snap, err := s.tagged(ctx, name)
	if err == nil && snap == nil {
		snap, err = s.tagLatest(ctx, name, last)
	}
	if err != nil {
		return nil, mayPass(err, "tagging table "+s.spec.Table.Name)
	}
	b, err := json.Marshal(s.held(name, snap))
	if err != nil {
		return nil, fmt.Errorf("encoding what savepoint %s holds: %w", name, err)
	}
	return b, nil
}

// tagged gives the snapshot that a call before this one tagged, nil for none.
func (s *sink) tagged(ctx context.Context, name string) (*spec.Snapshot, error) {
	tag, err := findTag(ctx, s.fs, s.path, name)
	if err != nil || tag == nil {
		return nil, err
	}
	return tag.Snapshot, nil
}

func (s *sink) tagLatest(ctx context.Context, name string, last *dataflow.Epoch) (*spec.Snapshot, error) {
	// What another writer replaced is committed again before it is held.
	if err := s.committer.Settle(ctx); err != nil {
		return nil, err
	}
	snap, err := s.table.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snap == nil {
		empty := dataflow.Epoch{ID: last.ID, Properties: last.Properties}
		req, err := s.request(&empty)
		if err != nil {
			return nil, err
		}
		req.ForceSnapshot = true
		if err := s.commitRequest(ctx, &empty, req); err != nil {
			return nil, err
		}
		if snap, err = s.table.LatestSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	s.last.Store(max(s.last.Load(), snap.ID))
	return snap, maintain.CreateTag(ctx, s.fs, s.path, maintain.TagOptions{Name: name, Snapshot: snap.ID, Now: time.Now()})
}

// Release removes the tag of a savepoint.
func (s *sink) Release(ctx context.Context, name string) error {
	return untag(ctx, s.fs, s.path, name)
}

func untag(ctx context.Context, fs fileio.FS, path, name string) error {
	tag, err := findTag(ctx, fs, path, name)
	if err != nil || tag == nil {
		return err
	}
	return maintain.DeleteTag(ctx, fs, path, name)
}

// findTag gives a tag, nil if there is none of the name.
func findTag(ctx context.Context, fs fileio.FS, path, name string) (*maintain.Tag, error) {
	tags, err := maintain.Tags(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	for i := range tags {
		if tags[i].Name == name {
			return &tags[i], nil
		}
	}
	return nil, nil //nolint:nilnil // no tag is no error
}

// mayPass makes an error of the storage one to be retried; nil stays nil.
func mayPass(err error, doing string) error {
	var e *diag.Error
	if err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return err
	}
	return &diag.Error{Domain: diag.External, Code: diag.CodeLakeIO, Msg: doing, Retry: true, Cause: err, Hint: "look at the storage: space, permissions, reachability"}
}

// watchOthers notes commits of others that brought or took rows, so that a way
// back past them can be refused after the snapshots have expired.
func (s *sink) watchOthers(snap *spec.Snapshot) {
	if snap.CommitKind == spec.Append || snap.CommitKind == spec.Overwrite {
		s.foreign.Store(max(s.foreign.Load(), snap.ID))
	}
}

// missed notes snapshots that expired before anybody looked: they may be others'.
func (s *sink) missed(last int64) { s.foreign.Store(max(s.foreign.Load(), last)) }

// laterThan gives the ids of the snapshots after one, and those missing between.
func laterThan(ctx context.Context, snaps *commit.Snapshots, after int64) (ids []int64, gap [2]int64, err error) {
	all, err := snaps.List(ctx)
	if err != nil {
		return nil, gap, err
	}
	next := after + 1
	for _, id := range all {
		if id <= after {
			continue
		}
		if id > next {
			if gap[0] == 0 {
				gap[0] = next
			}
			gap[1] = id - 1
		}
		ids, next = append(ids, id), id+1
	}
	return ids, gap, nil
}
