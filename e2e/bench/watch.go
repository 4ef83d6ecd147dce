package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leat/lakehouse/spec"
)

// seen is a snapshot and when it was there for a reader.
type seen struct {
	at    time.Time
	id    int64
	kind  spec.CommitKind
	total int64 // records in all files, before merging
	delta int64
	gtid  string
}

// watcher looks for new snapshots of one table from outside.
type watcher struct {
	dir   string
	next  int64
	seen  []seen
	stop  chan struct{}
	ended chan struct{}
	err   error
}

const pollEvery = 3 * time.Millisecond

func watch(tableDir string) *watcher {
	w := &watcher{dir: filepath.Join(tableDir, "snapshot"), next: 1, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for {
			select {
			case <-w.stop:
				w.poll()
				return
			case <-time.After(pollEvery):
				w.poll()
			}
		}
	}()
	return w
}

// end stops watching after a last look and gives what was seen.
func (w *watcher) end() ([]seen, error) {
	close(w.stop)
	<-w.ended
	return w.seen, w.err
}

func (w *watcher) poll() {
	for w.err == nil {
		b, err := os.ReadFile(filepath.Join(w.dir, spec.SnapshotName(w.next)))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			w.err = err
			return
		}
		s, err := spec.ParseSnapshot(b)
		if err != nil {
			w.err = err
			return
		}
		n := seen{at: time.Now(), id: s.ID, kind: s.CommitKind, gtid: s.Properties["leat.source.gtid"]}
		n.total, n.delta = deref(s.TotalRecordCount), deref(s.DeltaRecordCount)
		w.seen = append(w.seen, n)
		w.next++
	}
}

// dataSnapshots gives the snapshots that brought rows.
func dataSnapshots(all []seen) []seen {
	return slices.DeleteFunc(slices.Clone(all), func(s seen) bool { return s.kind != spec.Append || s.delta == 0 })
}

// diskUse gives number and bytes of the data files (changelog files included) on disk.
func diskUse(tableDir string) (files, size int64, err error) {
	err = filepath.WalkDir(tableDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(filepath.Base(filepath.Dir(p)), "bucket-") {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		files++
		size += st.Size()
		return nil
	})
	return files, size, err
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
