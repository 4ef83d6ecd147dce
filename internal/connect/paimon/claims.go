package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"leat/configs"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/flock"
	"leat/internal/fileio/local"
)

// claims keeps two jobs off one partition of a table with a key, where the order
// of their changes would be left to chance. Each writer has a file in the
// table's folder .leat/writers, which it keeps locked: one JSON line that says
// who it is, then one line a partition. It works where files can be locked, on
// local disks; a dead writer's file is not locked and goes.
//
// Tables without a key take rows of many jobs. So does a table with 'write-only'
// = 'true': whoever sets it says that its writers share it.
type claims struct {
	fs    fileio.FS
	dir   string
	table string
	self  claimant

	mu   sync.Mutex
	lock *flock.Lock
	held map[string]bool
}

// claimant is who writes.
type claimant struct {
	checkpoint.Owner
	Job  string `json:"job"`
	User string `json:"commit_user"`
}

// wholeTable stands for a table without partitions, whose path is empty.
const wholeTable = "/"

// newClaims gives the claims of s; nil, which claims nothing, where partitions are shared or locks are not to be had.
func newClaims(s *sink) *claims {
	if _, ok := s.fs.(*local.FS); !ok || len(s.spec.Table.PrimaryKey) == 0 || configs.WriteOnly.Get(s.spec.Table.Options) {
		return nil
	}
	return &claims{
		fs: s.fs, dir: filepath.Join(s.path, ".leat", "writers"), table: s.spec.Table.Name,
		self: claimant{Owner: checkpoint.Self(), Job: s.spec.Job, User: s.spec.CommitUser}, held: map[string]bool{},
	}
}

// take claims a partition or says who has it.
func (c *claims) take(partition string) error {
	if c == nil {
		return nil
	}
	if partition == "" {
		partition = wholeTable
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[partition] {
		return nil
	}
	if err := c.claim(partition); err != nil {
		var e *diag.Error
		if errors.As(err, &e) {
			return err
		}
		return fmt.Errorf("claiming a partition of table %s: %w", c.table, err)
	}
	c.held[partition] = true
	return nil
}

func (c *claims) claim(partition string) (err error) {
	// One at a time looks at the others and adds to its own.
	turn, err := flock.AcquireFolder(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Release()) }()
	if err := c.refuse(partition); err != nil {
		return err
	}
	if c.lock == nil {
		b, err := json.Marshal(c.self)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d-%d", c.self.User, c.self.PID, time.Now().UnixNano())
		if c.lock, err = flock.Acquire(filepath.Join(c.dir, name), append(b, '\n')); err != nil {
			return err
		}
	}
	return c.lock.Append([]byte(partition + "\n"))
}

// refuse gives an error if another job's living writer has the partition, and removes the files of dead ones.
func (c *claims) refuse(partition string) error {
	ctx := context.Background()
	infos, err := c.fs.List(ctx, c.dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		living, err := flock.Held(i.Path)
		if err != nil {
			return err
		}
		if !living {
			if err := c.fs.Remove(ctx, i.Path); err != nil {
				return err
			}
			continue
		}
		b, err := c.fs.ReadFile(ctx, i.Path)
		if err != nil {
			return err
		}
		head, partitions, _ := bytes.Cut(b, []byte("\n"))
		var other claimant
		if err := json.Unmarshal(head, &other); err != nil {
			return fmt.Errorf("reading %s: %w", i.Path, err)
		}
		if other.User != c.self.User && slices.Contains(strings.Split(string(partitions), "\n"), partition) {
			return c.taken(partition, &other)
		}
	}
	return nil
}

func (c *claims) taken(partition string, o *claimant) error {
	where := "partition " + partition
	if partition == wholeTable {
		where = "the table"
	}
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeLakeWriter, Table: c.table,
		Msg: fmt.Sprintf("job %s (pid %d on %s since %s, commit user %s) is writing to %s: changes of one key by two jobs would have no order",
			o.Job, o.PID, o.Host, o.Since.Format(time.DateTime), o.User, where),
		Hint: "stop one of the jobs, let them write different partitions, or set 'write-only' = 'true' on the table if their keys differ and compact it with CALL sys.compact",
	}
}

// close gives everything back.
func (c *claims) close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return nil
	}
	err := c.lock.Remove()
	c.lock, c.held = nil, map[string]bool{}
	return err
}
