package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Committer publishes the snapshots of one table for one commit user. Its
// methods may be called by several goroutines; commits happen one at a time.
type Committer struct {
	fs        fileio.FS
	table     string
	opt       Options
	log       *slog.Logger
	snaps     *Snapshots
	manifests *Manifests

	partitionTypes []columnar.DataType
	keyTypes       []columnar.DataType
	// unaware says that the table has neither key nor buckets.
	unaware bool
	paths   *spec.PartitionPaths
	layout  *spec.Layout

	mu       sync.Mutex
	user     string
	schemaID int64
	counter  int64
	// batch is the new manifests and lists that no snapshot names yet; nil without.
	batch fileio.Batch
	// view is the table at the latest snapshot known; nil before the first look.
	view *view
	// seen is the newest snapshot looked at, -1 for none.
	seen int64
	// recent are own snapshots that a slow writer may still replace, oldest first.
	recent []*ownSnapshot
	// redo are parts to commit again, because another writer replaced their
	// snapshot, and parts of other writers that ours would have lost.
	redo []*part
	// own maps the parts of user seen in snapshots to the snapshot.
	own map[key]int64
	// foreign is the newest snapshot of another user seen.
	foreign *spec.Snapshot
	// gapFrom > 0 says that snapshots after it were gone before they were looked at.
	gapFrom int64
	// unsure is parts whose create had no answer and were not found yet.
	unsure       map[key]bool
	earliestSeen bool
}

// New makes a committer of the table at tablePath, whose latest schema is
// schema; no I/O. A nil log logs nothing.
func New(fs fileio.FS, tablePath string, schema *spec.TableSchema, opt Options, log *slog.Logger) *Committer {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	layout := spec.NewLayout(tablePath, schema, fs.Join)
	return &Committer{
		fs: fs, table: tablePath, opt: opt.withDefaults(), log: log,
		snaps: NewSnapshots(fs, tablePath), manifests: NewManifests(fs, tablePath),
		partitionTypes: schema.Types(schema.PartitionKeys), keyTypes: schema.Types(schema.TrimmedPrimaryKeys()),
		paths: layout.Partitions, layout: layout, schemaID: schema.ID, seen: -1,
		unaware: len(schema.PrimaryKeys) == 0 && schema.Options[spec.OptionBucketKey] == "",
		own:     map[key]int64{}, unsure: map[key]bool{},
	}
}

// Commit publishes r and gives the ids of its snapshots: none, one or two. It
// may be repeated after any error; parts that are in are not committed twice.
// A conflict of the append part is ErrConflict; a conflicting compaction is
// dropped with a warning and is no error.
func (c *Committer) Commit(ctx context.Context, r Request) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.user != "" && c.user != r.User {
		return nil, fmt.Errorf("committing identifier %d: user %s on the committer of %s", r.Identifier, r.User, c.user)
	}
	c.user = r.User
	c.forgetBefore(r.Identifier)
	var ids []int64
	appendPart, compactPart := r.split()
	for _, p := range []*part{appendPart, compactPart} {
		if p == nil {
			continue
		}
		id, err := c.commitPart(ctx, p)
		if err != nil {
			return ids, c.explain(p, err)
		}
		if id > 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// forgetBefore keeps c.own small: requests come in order of identifier.
func (c *Committer) forgetBefore(identifier int64) {
	for k := range c.own {
		if k.identifier < identifier-keptIdentifiers {
			delete(c.own, k)
		}
	}
}

// keptIdentifiers is how far back repeated requests are recognised without reading.
const keptIdentifiers = 1000

// commitPart brings one part into the table and gives its snapshot; 0 if all of it was dropped.
func (c *Committer) commitPart(ctx context.Context, p *part) (int64, error) {
	if c.opt.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.Timeout)
		defer cancel()
	}
	var pre prepared
	id, err := c.tryUntilDone(ctx, p, &pre)
	if err != nil {
		c.dropFiles()
	}
	if err != nil && !c.unsure[p.key()] {
		c.discard(context.WithoutCancel(ctx), pre.names)
	}
	if err == nil {
		c.redo = slices.DeleteFunc(c.redo, func(r *part) bool { return r.key() == p.key() })
	}
	return id, err
}

func (c *Committer) tryUntilDone(ctx context.Context, p *part, pre *prepared) (int64, error) {
	for try := 0; ; try++ {
		id, done, err := c.tryOnce(ctx, &p, pre)
		if done || err != nil && !errors.Is(err, errUnknown) {
			return id, err
		}
		if err != nil {
			c.log.Warn("outcome of a snapshot create is unknown; looking again", "snapshot", c.view.id()+1, "error", err)
		}
		switch {
		case try < c.opt.MaxRetries:
		case err != nil:
			return 0, err
		default:
			return 0, c.gaveUp(p, try+1)
		}
		if err := c.pause(ctx, try); err != nil {
			return 0, err
		}
	}
}

// tryOnce looks at the table, checks the part against it and makes one attempt
// to create a snapshot. Neither done nor an error is a lost race.
func (c *Committer) tryOnce(ctx context.Context, p **part, pre *prepared) (id int64, done bool, err error) {
	if err := c.refresh(ctx); err != nil {
		return 0, false, err
	}
	k := (*p).key()
	if err := c.redoBefore(ctx, k); err != nil {
		return 0, false, err
	}
	if err := c.settleGap(ctx, *p); err != nil {
		return 0, false, err
	}
	if id, ok := c.own[k]; ok {
		if c.unsure[k] && id == c.view.id() {
			c.remember(*p, pre.delta)
		}
		delete(c.unsure, k)
		return id, true, nil
	}
	ready, err := c.checked(ctx, *p)
	if err != nil || ready == nil {
		return 0, err == nil, err
	}
	if ready != *p || len(pre.names) == 0 || pre.batch != c.batch {
		*p = ready
		if err := c.prepare(ctx, ready, pre); err != nil {
			return 0, false, err
		}
	}
	if err := c.followSchema(ctx); err != nil {
		return 0, false, err
	}
	created, err := c.publish(ctx, c.view, ready, pre)
	if err != nil || !created {
		return 0, false, err
	}
	delete(c.unsure, k)
	return c.view.id(), true, nil
}

// checked gives the part as it can be committed on the view: p itself, a
// compaction without its conflicting buckets, or nil if nothing is left.
func (c *Committer) checked(ctx context.Context, p *part) (*part, error) {
	switch {
	case p.overwrite:
		return c.replaceAll(ctx, p)
	case p.restore != nil:
		return c.leadBack(ctx, p)
	}
	if id, why, err := c.indexConflict(ctx, p); err != nil || why != "" {
		if err == nil {
			err = c.conflictError(ctx, p, []conflict{{bucket: id, why: why}})
		}
		return nil, err
	}
	if p.base > 0 {
		if err := c.baseConflict(ctx, p); err != nil {
			return nil, err
		}
	}
	if !p.check {
		return p, nil
	}
	live, err := c.liveFiles(ctx)
	if err != nil {
		return nil, err
	}
	found, err := findConflicts(live, p.entries, false, c.keyTypes)
	if err != nil {
		return nil, err
	}
	vectors, err := c.vectorConflicts(ctx, live, p)
	if found = append(found, vectors...); err != nil || len(found) == 0 {
		return p, err
	}
	if p.kind == spec.Append {
		return nil, c.conflictError(ctx, p, found)
	}
	return c.dropConflicts(ctx, p, found), nil
}

// replaceAll gives the part with a deletion of every file that is live now, in
// the partitions that it is about.
func (c *Committer) replaceAll(ctx context.Context, p *part) (*part, error) {
	if p.base > 0 && c.view.id() != p.base {
		return nil, &diag.Error{
			Domain: diag.External, Code: diag.CodeLakeConflict, Table: c.table, Cause: ErrConflict,
			Msg:  fmt.Sprintf("user %s replaces snapshot %d, and the latest is %d (other writer: %s)", p.user, p.base, c.view.id(), writerOf(c.foreign)),
			Hint: "stop the other writer, then do it again",
		}
	}
	q := *p
	q.entries = nil
	if c.view.snap != nil {
		live, err := c.manifests.Live(ctx, c.view.snap)
		if err != nil {
			return nil, err
		}
		if p.partition != nil {
			live = slices.DeleteFunc(live, func(e spec.ManifestEntry) bool { return !p.partition(e.Partition) })
		}
		for i := range live {
			live[i].Kind = spec.Remove
		}
		q.entries = live
	}
	for i := range p.entries {
		if p.entries[i].Kind == spec.Add {
			q.entries = append(q.entries, p.entries[i])
		}
	}
	return &q, nil
}

// badBuckets tells the buckets of p that found rules out. Where postponed rows
// get their buckets, a partition comes whole or not at all: rows must neither be
// lost nor be there twice.
func badBuckets(p *part, found []conflict) func(bucketID) bool {
	buckets, partitions := map[bucketID]bool{}, map[string]bool{}
	for _, f := range found {
		buckets[f.bucket] = true
	}
	for i := range p.entries {
		if e := &p.entries[i]; e.Bucket == spec.PostponeBucket {
			for _, f := range found {
				if f.bucket.partition == string(e.Partition.Data) {
					partitions[f.bucket.partition] = true
				}
			}
		}
	}
	return func(id bucketID) bool { return buckets[id] || partitions[id.partition] }
}

// dropConflicts gives p without the buckets in found; nil if nothing is left.
func (c *Committer) dropConflicts(ctx context.Context, p *part, found []conflict) *part {
	bad := badBuckets(p, found)
	q := *p
	q.entries, q.changelog, q.index = nil, nil, nil
	dropped := map[bucketID]*spec.CommitMessage{}
	var order []bucketID
	message := func(e *spec.ManifestEntry) *spec.CommitMessage {
		m := dropped[bucketOf(e)]
		if m == nil {
			m = &spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
			dropped[bucketOf(e)] = m
			order = append(order, bucketOf(e))
		}
		return m
	}
	for _, e := range p.entries {
		switch {
		case !bad(bucketOf(&e)):
			q.entries = append(q.entries, e)
		case e.Kind == spec.Add:
			m := message(&e)
			m.CompactAfter = append(m.CompactAfter, e.File)
		default:
			m := message(&e)
			m.CompactBefore = append(m.CompactBefore, e.File)
		}
	}
	for _, e := range p.changelog {
		if !bad(bucketOf(&e)) {
			q.changelog = append(q.changelog, e)
			continue
		}
		m := message(&e)
		m.CompactChangelog = append(m.CompactChangelog, e.File)
	}
	for _, e := range p.index {
		id := bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
		switch m := dropped[id]; {
		case !bad(id):
			q.index = append(q.index, e)
		case m == nil:
		case e.Kind == spec.Add:
			m.CompactNewIndex = append(m.CompactNewIndex, e.File)
		default:
			m.CompactGoneIndex = append(m.CompactGoneIndex, e.File)
		}
	}
	c.log.Warn("compaction dropped: it conflicts with another writer", "identifier", p.identifier,
		"buckets", c.bucketNames(found), "reason", found[0].why, "other", writerOf(c.culprit(ctx, found)))
	if c.opt.Dropped != nil {
		messages := make([]spec.CommitMessage, 0, len(dropped))
		for _, id := range order {
			messages = append(messages, *dropped[id])
		}
		c.opt.Dropped(p.identifier, messages)
	}
	if q.empty() {
		return nil
	}
	return &q
}

// followSchema moves to the latest schema id: snapshots name it, not that of their files.
func (c *Committer) followSchema(ctx context.Context) error {
	for {
		next := c.fs.Join(c.table, spec.SchemaDir, spec.SchemaName(c.schemaID+1))
		_, err := c.fs.Stat(ctx, next)
		if errors.Is(err, fileio.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for a newer schema: %w", err)
		}
		c.schemaID++
	}
}

// pause waits before the next try: doubling up to the maximum, plus up to a fifth by chance.
func (c *Committer) pause(ctx context.Context, try int) error {
	wait := c.opt.MaxRetryWait
	if try < 30 {
		wait = min(c.opt.MinRetryWait<<try, c.opt.MaxRetryWait)
	}
	wait += time.Duration(rand.Int64N(int64(wait)/5 + 1))
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
