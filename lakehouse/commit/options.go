package commit

import (
	"time"

	"leat/lakehouse/spec"
)

// Options steer a Committer. Zero values stand for the defaults of the table options named.
type Options struct {
	// Attempt is the uuid of this run; names of manifests carry it, so that the
	// files of a dead run can be found.
	Attempt string
	// MaxRetries is commit.max-retries (10); negative means none.
	MaxRetries int
	// MinRetryWait and MaxRetryWait are commit.min-retry-wait (10 ms) and commit.max-retry-wait (10 s).
	MinRetryWait, MaxRetryWait time.Duration
	// Timeout is commit.timeout, over all tries of one part; 0 is none.
	Timeout time.Duration
	// ManifestTargetSize is manifest.target-file-size (8 MB), ManifestMergeMinCount
	// manifest.merge-min-count (30), ManifestFullCompactionSize
	// manifest.full-compaction-threshold-size (16 MB).
	ManifestTargetSize         int64
	ManifestMergeMinCount      int
	ManifestFullCompactionSize int64

	// Foreign is told of every snapshot of another user, in order, before the
	// next own one is made: open writers have to reload levels and sequence numbers.
	Foreign func(*spec.Snapshot)
	// Missed is told the newest of the snapshots that were expired before anybody
	// looked at them: they may be foreign.
	Missed func(last int64)
	// Dropped is told of compactions that were given up for a conflict: their
	// inputs are still live (or were changed by another writer), their outputs are not.
	Dropped func(identifier int64, dropped []spec.CommitMessage)
	// Lost is told of every snapshot id that another writer took first.
	Lost func(snapshot int64)
}

func (o Options) withDefaults() Options {
	if o.MaxRetries == 0 {
		o.MaxRetries = 10
	}
	o.MaxRetries = max(o.MaxRetries, 0)
	if o.MinRetryWait <= 0 {
		o.MinRetryWait = 10 * time.Millisecond
	}
	if o.MaxRetryWait <= 0 {
		o.MaxRetryWait = 10 * time.Second
	}
	if o.ManifestTargetSize <= 0 {
		o.ManifestTargetSize = 8 << 20
	}
	if o.ManifestMergeMinCount <= 0 {
		o.ManifestMergeMinCount = 30
	}
	if o.ManifestFullCompactionSize <= 0 {
		o.ManifestFullCompactionSize = 16 << 20
	}
	return o
}

// Request is what one epoch of one commit user wrote to a table.
type Request struct {
	// User is the commit user, stable over restarts; Identifier rises with every
	// request of a user (the checkpoint id).
	User       string
	Identifier int64
	Messages   []spec.CommitMessage
	// Properties go onto every snapshot of the request.
	Properties map[string]string
	Watermark  *int64
	// ForceSnapshot makes an APPEND snapshot even if there is nothing to append.
	ForceSnapshot bool
	// CheckAppend checks the append part for conflicts too: after a recovery.
	CheckAppend bool
	// Overwrite replaces all that the table holds by NewFiles; changelog files are left out.
	Overwrite bool
	// Partition limits Overwrite to partitions; nil takes all.
	Partition func(spec.BinaryRow) bool
	// Base, if above 0, is the snapshot that the rows were made from. An overwrite
	// has to come right after it; for others rows that came since then into the
	// buckets of the request are a conflict.
	Base int64
}

// part is one snapshot to make of a request.
type part struct {
	user       string
	identifier int64
	kind       spec.CommitKind
	entries    []spec.ManifestEntry
	changelog  []spec.ManifestEntry
	index      []spec.IndexManifestEntry
	properties map[string]string
	watermark  *int64
	check      bool
	overwrite  bool
	// adopted says that it is another writer's, which ours would have lost.
	adopted bool
	// partition limits overwrite; nil takes all.
	partition func(spec.BinaryRow) bool
	// base is Request.Base.
	base int64
	// restore is the snapshot whose state is brought back; live is what is there before.
	restore *spec.Snapshot
	live    []spec.ManifestEntry
}

// key is what makes a part recognisable among snapshots.
type key struct {
	user       string
	identifier int64
	kind       spec.CommitKind
}

func (p *part) key() key { return key{user: p.user, identifier: p.identifier, kind: p.kind} }

// split gives the append part and the compact part of r; nil where there is none.
func (r *Request) split() (appendPart, compactPart *part) {
	a := &part{
		user: r.User, identifier: r.Identifier, kind: spec.Append, properties: r.Properties,
		watermark: r.Watermark, check: r.CheckAppend, base: r.Base,
	}
	if r.Overwrite {
		a.kind, a.overwrite, a.partition = spec.Overwrite, true, r.Partition
	}
	c := &part{
		user: r.User, identifier: r.Identifier, kind: spec.Compact, properties: r.Properties,
		watermark: r.Watermark, check: true,
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		a.entries = addEntries(a.entries, m, spec.Add, m.NewFiles)
		if !r.Overwrite {
			a.changelog = addEntries(a.changelog, m, spec.Add, m.Changelog)
		}
		a.index = addIndex(a.index, m, spec.Remove, m.GoneIndex)
		a.index = addIndex(a.index, m, spec.Add, m.NewIndex)
		c.index = addIndex(c.index, m, spec.Remove, m.CompactGoneIndex)
		c.index = addIndex(c.index, m, spec.Add, m.CompactNewIndex)
		c.entries = addEntries(c.entries, m, spec.Remove, m.CompactBefore)
		c.entries = addEntries(c.entries, m, spec.Add, m.CompactAfter)
		c.changelog = addEntries(c.changelog, m, spec.Add, m.CompactChangelog)
	}
	if !a.empty() || r.ForceSnapshot || r.Overwrite {
		appendPart = a
	}
	if !c.empty() {
		compactPart = c
	}
	return appendPart, compactPart
}

func (p *part) empty() bool { return len(p.entries)+len(p.changelog)+len(p.index) == 0 }

func addIndex(to []spec.IndexManifestEntry, m *spec.CommitMessage, kind spec.EntryKind, files []spec.IndexFileMeta) []spec.IndexManifestEntry {
	for i := range files {
		to = append(to, spec.IndexManifestEntry{Kind: kind, Partition: m.Partition, Bucket: m.Bucket, File: files[i]})
	}
	return to
}

func addEntries(to []spec.ManifestEntry, m *spec.CommitMessage, kind spec.EntryKind, files []spec.DataFileMeta) []spec.ManifestEntry {
	for i := range files {
		to = append(to, spec.ManifestEntry{
			Kind: kind, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, File: files[i],
		})
	}
	return to
}
