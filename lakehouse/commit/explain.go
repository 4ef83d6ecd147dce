package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"leat/internal/diag"
	"leat/lakehouse/spec"
)

func (c *Committer) gaveUp(p *part, tries int) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeLakeConflict, Table: c.table, Retry: true,
		Msg:  fmt.Sprintf("user %s, identifier %d: %d tries to create a snapshot were lost to other writers (%s)", p.user, p.identifier, tries, writerOf(c.foreign)),
		Hint: "raise commit.max-retries or commit.max-retry-wait, or let fewer writers commit to this table",
	}
}

// conflictError names the buckets in found and the snapshot that changed them last.
func (c *Committer) conflictError(ctx context.Context, p *part, found []conflict) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeLakeConflict, Table: c.table, Cause: ErrConflict,
		Msg: fmt.Sprintf("user %s cannot commit identifier %d after snapshot %d: %s: %s (other writer: %s)",
			p.user, p.identifier, c.view.id(), c.bucketNames(found), found[0].why, writerOf(c.culprit(ctx, found))),
		Hint: "stop the other writer, or restart the job from its last checkpoint",
	}
}

// maxNamed bounds the buckets that a message names.
const maxNamed = 10

// bucketNames gives the paths of the buckets in found, dt=d1/bucket-0, each once.
func (c *Committer) bucketNames(found []conflict) string {
	var names []string
	for _, f := range found {
		name := fmt.Sprint("bucket-", f.bucket.bucket)
		row := spec.BinaryRow{Arity: len(c.partitionTypes), Data: []byte(f.bucket.partition)}
		if partition, err := c.paths.Path(row); err == nil && partition != "" {
			name = strings.TrimSuffix(partition, "/") + "/" + name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if n := len(names); n > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
	}
	return strings.Join(names, ", ")
}

// culpritDepth is how many snapshots culprit looks at.
const culpritDepth = 100

// culprit gives the newest snapshot of another user that changed a bucket in
// found; the newest foreign one seen if none of the last ones did.
func (c *Committer) culprit(ctx context.Context, found []conflict) *spec.Snapshot {
	buckets := map[bucketID]bool{}
	for _, f := range found {
		buckets[f.bucket] = true
	}
	latest := c.view.id()
	for id := latest; id > max(latest-culpritDepth, 0); id-- {
		s, err := c.snaps.Read(ctx, id)
		if err != nil {
			break // expired: nothing older is there
		}
		if s.CommitUser == c.user {
			continue
		}
		entries, err := c.manifests.Delta(ctx, s)
		if err != nil {
			break
		}
		for i := range entries {
			if buckets[bucketOf(&entries[i])] {
				return s
			}
		}
	}
	return c.foreign
}

func writerOf(s *spec.Snapshot) string {
	if s == nil {
		return "none seen"
	}
	return fmt.Sprintf("user %s, snapshot %d, %s", s.CommitUser, s.ID, s.CommitKind)
}

// explain turns errors of the file system into the form for people; they may be retried.
func (c *Committer) explain(p *part, err error) error {
	var e *diag.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return err
	}
	if c.opt.Timeout > 0 && errors.Is(err, context.DeadlineExceeded) {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeLakeConflict, Table: c.table, Retry: true, Cause: err, Option: "commit.timeout",
			Msg:  fmt.Sprintf("user %s, identifier %d: no snapshot was created within %s (other writer: %s)", p.user, p.identifier, c.opt.Timeout, writerOf(c.foreign)),
			Hint: "raise commit.timeout, or let fewer writers commit to this table",
		}
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeLakeIO, Table: c.table, Retry: true, Cause: err,
		Msg:  fmt.Sprintf("the snapshot of identifier %d (%s) could not be committed", p.identifier, p.kind),
		Hint: "look at the storage: space, permissions, reachability",
	}
}
