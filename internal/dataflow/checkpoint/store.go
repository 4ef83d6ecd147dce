package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
)

// ErrFenced is the cause of the error that a writer gets after another process
// took the job over. It stops at once and deletes nothing.
var ErrFenced = errors.New("the checkpoint log was continued by another process")

const entryPrefix = "entry-"

// Options of a store.
type Options struct {
	// Retain is the number of completed checkpoints to keep, at least 1.
	Retain int
	// Log receives what goes wrong without harm, such as a failed pruning; nil discards.
	Log *slog.Logger
}

// Store is the log of one job as this process sees it. It is safe for concurrent use.
type Store struct {
	fs  fileio.FS
	dir string
	opt Options

	mu sync.Mutex
	// entries are those present, oldest first, without gaps.
	entries []Entry
	// superseded are the numbers below them that are still to be removed.
	superseded []int64
	// next is the number of the next entry.
	next int64
	// attempt and commitUser go into every entry from TakeOver on.
	attempt, commitUser string
	// unknown are our entries whose create failed without telling its outcome.
	unknown map[string]bool
}

var _ dataflow.Log = (*Store)(nil)

// Open reads the log in dir. A missing folder is an empty log. Nothing is written.
func Open(ctx context.Context, fs fileio.FS, dir string, o Options) (*Store, error) {
	o.Retain = max(o.Retain, 1)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{fs: fs, dir: dir, opt: o, unknown: map[string]bool{}}
	entries, below, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	s.entries, s.superseded, s.next = entries, below, 1
	if n := len(entries); n > 0 {
		last := entries[n-1]
		s.next, s.commitUser = last.Number+1, last.CommitUser
	}
	return s, nil
}

// Entries gives the entries present, oldest first.
func (s *Store) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// CommitUser is that of the newest entry, "" for an empty log.
func (s *Store) CommitUser() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commitUser
}

// TakeOver begins an attempt: from its entry on every other attempt is fenced. A
// fresh takeover makes all checkpoints before it void; it goes with a new commit user.
func (s *Store) TakeOver(ctx context.Context, t Takeover) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.append(ctx, Entry{Kind: KindTakeover, Attempt: t.Attempt, CommitUser: t.CommitUser, Owner: &t.Owner, Fresh: t.Fresh, Replace: t.Replace})
	if err != nil {
		return err
	}
	s.attempt, s.commitUser = t.Attempt, t.CommitUser
	return nil
}

// Takeover begins an attempt.
type Takeover struct {
	Owner Owner
	// Attempt is the uuid of the run, CommitUser the user under which it commits.
	Attempt, CommitUser string
	// Fresh makes all checkpoints before void; Replace says that the first commit
	// overwrites the tables, and holds until a checkpoint is complete.
	Fresh, Replace bool
}

// AppendCheckpoint completes c, see dataflow.Log, and prunes old entries.
func (s *Store) AppendCheckpoint(ctx context.Context, c *dataflow.Checkpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt == "" {
		return errors.New("writing a checkpoint: the job was not taken over")
	}
	e := Entry{Kind: KindCheckpoint, Attempt: s.attempt, CommitUser: s.commitUser, Checkpoint: c}
	if c.Savepoint != nil {
		e.Kind = KindSavepoint
	}
	if err := s.append(ctx, e); err != nil {
		return err
	}
	s.prune(ctx)
	return nil
}

// GoBack makes c, which r restores, the newest checkpoint and all before void.
// Commits after it are made by another user: the identifiers of the void ones
// may be given again.
func (s *Store) GoBack(ctx context.Context, c *dataflow.Checkpoint, r Restore, commitUser string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt == "" {
		return errors.New("going back to a savepoint: the job was not taken over")
	}
	e := Entry{Kind: KindRestore, Attempt: s.attempt, CommitUser: commitUser, Checkpoint: c, Restore: &r}
	if err := s.append(ctx, e); err != nil {
		return err
	}
	s.commitUser = commitUser
	return nil
}

// append writes e under the next number. When a create gives no clear outcome,
// the entry is read back; if that does not tell either, the uuid is remembered:
// the create may still arrive, and the next append then finds it, takes it for
// its own if it is the same step, and goes past it if not.
func (s *Store) append(ctx context.Context, e Entry) error {
	e.Version, e.UUID, e.Time = 1, uuid.NewString(), time.Now().UTC()
	for {
		e.Number = s.next
		e.Oldest = s.oldestNeeded(e)
		there, err := s.claim(ctx, e)
		if err != nil {
			return err
		}
		if err := s.checkTop(ctx, there); err != nil {
			return err
		}
		s.accept(there)
		if there.UUID == e.UUID || sameStep(there, e) {
			return nil
		}
	}
}

// claim creates e and gives the entry that then stands under its number, which
// is one of ours: e or an earlier one whose outcome was unknown.
func (s *Store) claim(ctx context.Context, e Entry) (Entry, error) {
	content, err := json.Marshal(&e)
	if err != nil {
		return Entry{}, fmt.Errorf("encoding log entry %d: %w", e.Number, err)
	}
	err = s.fs.CreateExclusive(ctx, s.path(e.Number), content)
	if err == nil {
		return e, nil
	}
	there, rerr := s.read(ctx, e.Number)
	switch {
	case rerr == nil && (there.UUID == e.UUID || s.unknown[there.UUID]):
		return there, nil
	case rerr == nil:
		return Entry{}, s.fenced(there)
	case errors.Is(err, fileio.ErrExist) && errors.Is(rerr, fileio.ErrNotExist):
		// It stood there and is pruned by now: nobody but a successor prunes it.
		return Entry{}, s.fenced(Entry{})
	}
	s.unknown[e.UUID] = true
	return Entry{}, fmt.Errorf("writing log entry %s: %w", s.path(e.Number), err)
}

// checkTop makes sure that e, which stands in the log, is its newest entry. A
// successor may have pruned the very number that was created now; then its newer
// entries stand above it, for they were there before it pruned.
func (s *Store) checkTop(ctx context.Context, e Entry) error {
	numbers, err := s.numbers(ctx)
	if err != nil {
		s.unknown[e.UUID] = true
		return fmt.Errorf("checking log entry %s: %w", s.path(e.Number), err)
	}
	if len(numbers) == 0 || numbers[len(numbers)-1] <= e.Number {
		return nil
	}
	there, err := s.read(ctx, numbers[len(numbers)-1])
	if err != nil {
		there = Entry{}
	}
	return s.fenced(there)
}

// sameStep reports whether two of our entries record the same thing.
func sameStep(a, b Entry) bool {
	if a.Kind != b.Kind || a.Attempt != b.Attempt {
		return false
	}
	return a.Checkpoint == nil || b.Checkpoint == nil || a.Checkpoint.ID == b.Checkpoint.ID
}

// accept takes e, which stands in the log under the next number, as ours.
func (s *Store) accept(e Entry) {
	delete(s.unknown, e.UUID)
	s.entries = append(s.entries, e)
	s.next = e.Number + 1
}

func (s *Store) fenced(by Entry) error {
	e := &diag.Error{
		Domain: diag.Guard, Code: diag.CodeJobFenced, Msg: "another process has taken the job over",
		Hint: "let that process run; this one has stopped and deleted nothing", Cause: ErrFenced,
	}
	if o := by.Owner; o != nil {
		e.Msg += fmt.Sprintf(": pid %d on %s since %s", o.PID, o.Host, o.Since.Format(time.DateTime))
	}
	return e
}

func (s *Store) path(number int64) string {
	return s.fs.Join(s.dir, fmt.Sprintf("%s%010d", entryPrefix, number))
}

func (s *Store) read(ctx context.Context, number int64) (Entry, error) {
	b, err := s.fs.ReadFile(ctx, s.path(number))
	if err != nil {
		return Entry{}, fmt.Errorf("reading log entry %d: %w", number, err)
	}
	var e Entry
	if err := json.Unmarshal(b, &e); err != nil {
		return Entry{}, s.corrupt(number, err.Error())
	}
	switch {
	case e.Version != 1:
		return Entry{}, s.corrupt(number, fmt.Sprintf("version %d is not known to this leat", e.Version))
	case e.Number != number:
		return Entry{}, s.corrupt(number, fmt.Sprintf("it calls itself number %d", e.Number))
	case e.Oldest < 1 || e.Oldest > e.Number:
		return Entry{}, s.corrupt(number, fmt.Sprintf("it needs number %d", e.Oldest))
	case (e.completes() || e.Kind == KindRestore) && e.Checkpoint == nil:
		return Entry{}, s.corrupt(number, "it has no checkpoint")
	case e.Kind == KindRestore && e.Restore == nil:
		return Entry{}, s.corrupt(number, "it does not say what it restores")
	}
	return e, nil
}

const corruptHint = "restore the folder from a backup, or move it away and start anew with --fresh --replace"

func (s *Store) corrupt(number int64, reason string) error {
	return &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeJobState, Msg: fmt.Sprintf("log entry %s cannot be read: %s", s.path(number), reason),
		Hint: corruptHint,
	}
}

// numbers lists the numbers of all entries present, rising.
func (s *Store) numbers(ctx context.Context) ([]int64, error) {
	infos, err := s.fs.List(ctx, s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing the checkpoint log: %w", err)
	}
	var out []int64
	for _, i := range infos {
		digits, ok := strings.CutPrefix(i.Name, entryPrefix)
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// loadTries bounds how often a reader starts again because entries were pruned under its hands.
const loadTries = 5

// load reads the entries that count, those from the newest down to the oldest
// that it needs, and the numbers below, which wait for pruning or were left by a
// fenced writer under a pruned number.
func (s *Store) load(ctx context.Context) (entries []Entry, below []int64, err error) {
	for range loadTries {
		entries, below, err = s.loadOnce(ctx)
		if !errors.Is(err, fileio.ErrNotExist) {
			return entries, below, err
		}
	}
	return nil, nil, &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeJobState, Msg: "the checkpoint log " + s.dir + " is not complete", Cause: err, Hint: corruptHint,
	}
}

func (s *Store) loadOnce(ctx context.Context) ([]Entry, []int64, error) {
	numbers, err := s.numbers(ctx)
	if err != nil || len(numbers) == 0 {
		return nil, nil, err
	}
	newest, err := s.read(ctx, numbers[len(numbers)-1])
	if err != nil {
		return nil, nil, err
	}
	var entries []Entry
	for n := newest.Oldest; n < newest.Number; n++ {
		e, err := s.read(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	i, _ := slices.BinarySearch(numbers, newest.Oldest)
	return append(entries, newest), numbers[:i], nil
}
