package lakehouse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"leat/internal/fileio/local"
)

// keyStore is the part of a keyIndex that does not fit its memory: sorted files
// of a Pebble store in a scratch folder. It is written by whole files alone, so
// that a full disk is an error of the call at hand and no write waits for one in
// the background; nothing in it outlives the process.
type keyStore struct {
	db    *pebble.DB
	opts  *pebble.Options
	dir   string
	files int
}

// First bytes of the keys of a store: the index, and the places that keys left, by epoch.
const (
	storedKey  byte = 0
	storedLeft byte = 1
)

// storeBlock is the size of a block: small ones cost less a key, as keys come in no order.
const storeBlock = 4 << 10

// openKeyStore makes an empty store in dir that keeps about cache bytes in memory.
func openKeyStore(dir string, cache int64, log *slog.Logger) (*keyStore, error) {
	blocks := pebble.NewCache(cache)
	defer blocks.Unref() // the store holds it
	o := &pebble.Options{
		FS: unsynced{vfs.Default}, Cache: blocks, DisableWAL: true, MemTableSize: 256 << 10, FormatMajorVersion: pebble.FormatNewest, Logger: storeLog{log},
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
	}
	o.EnsureDefaults()
	for i := range o.Levels {
		o.Levels[i].FilterPolicy, o.Levels[i].BlockSize = bloom.FilterPolicy(10), storeBlock
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	if err := local.NewScratch().MkdirAll(context.Background(), dir); err != nil {
		return nil, fmt.Errorf("opening the index of keys: %w", err)
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("opening the index of keys in %s: %w", dir, err)
	}
	return &keyStore{db: db, opts: o, dir: dir}, nil
}

// unsynced is a file system for files that need not outlive the process.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := u.FS.Create(name, c)
	return unsyncedFile{f}, err
}

func (u unsynced) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := u.FS.OpenReadWrite(name, c, opts...)
	return unsyncedFile{f}, err
}

func (u unsynced) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := u.FS.ReuseForWrite(from, to, c)
	return unsyncedFile{f}, err
}

func (u unsynced) OpenDir(name string) (vfs.File, error) {
	f, err := u.FS.OpenDir(name)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error                { return nil }
func (unsyncedFile) SyncData() error            { return nil }
func (unsyncedFile) SyncTo(int64) (bool, error) { return false, nil }

// storeLog hands what a store has to say to the log.
type storeLog struct{ log *slog.Logger }

// Infof drops what goes as it should.
func (storeLog) Infof(string, ...any) {}

// Errorf logs trouble.
func (l storeLog) Errorf(format string, args ...any) {
	l.log.Warn("index of keys", "error", fmt.Sprintf(format, args...))
}

// Fatalf is for states from which the store cannot go on, and must not return.
func (l storeLog) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("index of keys: "+format, args...))
}

// storedEntry is a key of a store with its place; a place of gone deletes it.
type storedEntry struct {
	key []byte
	at  keyPlace
}

// gone is the place of a key that the table no longer has.
var gone = keyPlace{part: -1}

// get gives the place of a key.
func (s *keyStore) get(key []byte) (at keyPlace, ok bool, err error) {
	v, free, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return keyPlace{}, false, nil
	}
	if err != nil {
		return keyPlace{}, false, fmt.Errorf("reading the index of keys: %w", err)
	}
	part, n := binary.Uvarint(v)
	no, m := binary.Uvarint(v[max(n, 0):])
	if err := free.Close(); err != nil {
		return keyPlace{}, false, fmt.Errorf("reading the index of keys: %w", err)
	}
	if n <= 0 || m <= 0 {
		return keyPlace{}, false, errors.New("reading the index of keys: a place is damaged")
	}
	return keyPlace{part: int32(part), bucket: int32(no)}, true, nil
}

// ingest takes entries in as one sorted file; they overwrite what is there.
func (s *keyStore) ingest(ctx context.Context, entries []storedEntry) error {
	slices.SortFunc(entries, func(a, b storedEntry) int { return bytes.Compare(a.key, b.key) })
	s.files++
	path := filepath.Join(s.dir, fmt.Sprintf("in-%d", s.files))
	if err := s.writeFile(path, entries); err != nil {
		return fmt.Errorf("writing the index of keys: %w", err)
	}
	if err := s.db.Ingest(ctx, []string{path}); err != nil {
		return fmt.Errorf("writing the index of keys: %w", err)
	}
	return nil
}

func (s *keyStore) writeFile(path string, entries []storedEntry) error {
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.opts.MakeWriterOptions(0, s.db.TableFormat()))
	var value [2 * binary.MaxVarintLen32]byte
	for i := range entries {
		e := &entries[i]
		if e.at == gone {
			err = w.Delete(e.key)
		} else {
			v := binary.AppendUvarint(value[:0], uint64(e.at.part))
			err = w.Set(e.key, binary.AppendUvarint(v, uint64(e.at.bucket)))
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// dropLeft forgets the places that keys left.
func (s *keyStore) dropLeft() error {
	if err := s.db.DeleteRange([]byte{storedLeft}, []byte{storedLeft + 1}, pebble.NoSync); err != nil {
		return fmt.Errorf("writing the index of keys: %w", err)
	}
	return nil
}

// close removes the store.
func (s *keyStore) close(ctx context.Context) error {
	if err := errors.Join(s.db.Close(), local.NewScratch().RemoveAll(ctx, s.dir)); err != nil {
		return fmt.Errorf("removing the index of keys: %w", err)
	}
	return nil
}
