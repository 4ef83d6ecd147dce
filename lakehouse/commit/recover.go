package commit

import (
	"context"
	"errors"
	"fmt"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// State is what is known of an identifier after a restart.
type State uint8

// The states.
const (
	// NotCommitted: no snapshot of it, and all snapshots that could be were read.
	NotCommitted State = iota
	// Committed: a snapshot of user and identifier was found. Its COMPACT part may
	// be missing: the files it read are live then.
	Committed
	// Unknown: not found, but snapshots were expired before they could be read. Ask AnyLive.
	Unknown
)

// String names the state.
func (s State) String() string {
	return [...]string{"not committed", "committed", "unknown"}[s]
}

// FindCommitted tells for each identifier of user whether it is in the table.
// It reads the snapshots after afterSnapshot, the latest one seen when the
// checkpoint was made (0: from the first). Commits of this committer then look
// at every snapshot that came later still.
func (c *Committer) FindCommitted(ctx context.Context, user string, afterSnapshot int64, identifiers []int64) (map[int64]State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest, err := c.snaps.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if latest < afterSnapshot {
		return nil, c.rolledBack(afterSnapshot, latest)
	}
	c.user, c.seen, c.view = user, latest, nil
	found := map[int64]bool{}
	gone := false
	for id := latest; id > afterSnapshot; id-- {
		snap, err := c.snaps.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			gone = true
			c.miss(id)
			break
		}
		if err != nil {
			return nil, err
		}
		if snap.CommitUser == user {
			found[snap.CommitIdentifier] = true
			c.own[key{user: user, identifier: snap.CommitIdentifier, kind: snap.CommitKind}] = id
		} else {
			c.tellForeign(snap)
		}
	}
	out := make(map[int64]State, len(identifiers))
	for _, i := range identifiers {
		switch {
		case found[i]:
			out[i] = Committed
		case gone:
			out[i] = Unknown
		default:
			out[i] = NotCommitted
		}
	}
	return out, nil
}

// AnyLive reports whether any file of the append parts of messages is live in
// the latest snapshot: then they were committed. false proves nothing, as a
// compaction may have replaced them since.
func (c *Committer) AnyLive(ctx context.Context, messages []spec.CommitMessage) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(ctx); err != nil {
		return false, err
	}
	return c.anyLive(ctx, messages)
}

func (c *Committer) anyLive(ctx context.Context, messages []spec.CommitMessage) (bool, error) {
	live, err := c.liveFiles(ctx)
	if err != nil {
		return false, err
	}
	for i := range messages {
		m := &messages[i]
		files := live.buckets[bucketID{partition: string(m.Partition.Data), bucket: m.Bucket}]
		for j := range m.NewFiles {
			for _, f := range files {
				if f.name == m.NewFiles[j].FileName {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// CheckFiles makes sure that all files that r would add exist; it gives a
// Guard error that names the first missing one.
func (c *Committer) CheckFiles(ctx context.Context, r Request) error {
	for i := range r.Messages {
		m := &r.Messages[i]
		for _, list := range [][]spec.DataFileMeta{m.NewFiles, m.Changelog, m.CompactAfter, m.CompactChangelog} {
			for j := range list {
				if err := c.checkFile(ctx, m, &list[j]); err != nil {
					return err
				}
			}
		}
		for _, list := range [][]spec.IndexFileMeta{m.NewIndex, m.CompactNewIndex} {
			for j := range list {
				if err := c.checkPath(ctx, c.layout.IndexPath(&list[j])); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Committer) checkFile(ctx context.Context, m *spec.CommitMessage, f *spec.DataFileMeta) error {
	paths, err := c.layout.FilePaths(m.Partition, m.Bucket, f)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := c.checkPath(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *Committer) checkPath(ctx context.Context, path string) error {
	_, err := c.fs.Stat(ctx, path)
	if errors.Is(err, fileio.ErrNotExist) {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: c.table,
			Msg:  "file " + path + " of a checkpoint that is not committed yet is gone",
			Hint: "restore the file, or start the job anew with --fresh --replace",
		}
	}
	if err != nil {
		return fmt.Errorf("looking for a prepared file: %w", err)
	}
	return nil
}

// settleGap decides about a part whose create had no answer when the snapshots
// that could tell were expired meanwhile: its files are live, or nobody knows.
func (c *Committer) settleGap(ctx context.Context, p *part) error {
	if c.gapFrom == 0 || !c.unsure[p.key()] {
		return nil
	}
	var messages []spec.CommitMessage
	for i := range p.entries {
		if e := &p.entries[i]; e.Kind == spec.Add {
			messages = append(messages, spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, NewFiles: []spec.DataFileMeta{e.File}})
		}
	}
	live, err := c.anyLive(ctx, messages)
	if err != nil {
		return err
	}
	if live {
		c.own[p.key()] = c.view.id()
		return nil
	}
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: c.table,
		Msg:  fmt.Sprintf("nobody can tell whether identifier %d was committed: the snapshots after %d were expired meanwhile", p.identifier, c.gapFrom),
		Hint: "raise snapshot.num-retained.min, and start the job anew with --fresh --replace",
	}
}
