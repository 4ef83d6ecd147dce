package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio"
	"leat/internal/fileio/local"
)

// TestGroupCommitTellsEachItsOwnError has many wait together, so that they are
// confirmed in groups; those whose file or folder cannot be confirmed must hear it, and nobody else.
func TestGroupCommitTellsEachItsOwnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const callers = 200
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		names := []string{dir}
		switch i % 20 {
		case 7:
			f.Close()
		case 13:
			names = append(names, filepath.Join(dir, "missing"))
		}
		wg.Go(func() {
			errs[i] = local.Sync([]*os.File{f}, names...)
			f.Close()
		})
	}
	wg.Wait()
	for i, err := range errs {
		var want error
		switch i % 20 {
		case 7:
			want = os.ErrClosed
		case 13:
			want = os.ErrNotExist
		}
		if !errors.Is(err, want) {
			t.Errorf("caller %d: error %v, want %v", i, err, want)
		}
	}
}

// TestNewFoldersAreSyncedWithTheFirstFile looks at what is noted of folders whose
// names are not durable: whoever confirms a file below them confirms them too.
func TestNewFoldersAreSyncedWithTheFirstFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fs := local.New()
	in := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }

	if err := fs.ReplaceHint(t.Context(), in("t", "snapshot", "LATEST"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{in("t"), in("t", "snapshot")}, local.Fresh(dir)); d != "" {
		t.Fatalf("after a hint (-want +got):\n%s", d)
	}
	b := fs.NewBatch()
	if err := b.Create(t.Context(), in("t", "manifest", "m"), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), in("u", "f"), nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{in("t", "snapshot")}, local.Fresh(dir)); d != "" {
		t.Fatalf("after a batch (-want +got):\n%s", d)
	}
	for _, put := range []func(fileio.FS, string) error{
		func(fs fileio.FS, p string) error { return fs.CreateExclusive(t.Context(), p, nil) },
		func(fs fileio.FS, p string) error { return fs.Replace(t.Context(), p, nil) },
		func(fs fileio.FS, p string) error { return fs.MkdirAll(t.Context(), filepath.Dir(p)) },
		func(fs fileio.FS, p string) error {
			w, err := fs.Create(t.Context(), p)
			if err == nil {
				err = w.Commit(t.Context())
			}
			return err
		},
	} {
		if err := fs.ReplaceHint(t.Context(), in("v", "w", "HINT"), nil); err != nil {
			t.Fatal(err)
		}
		if err := put(fs, in("v", "w", "f")); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{in("t", "snapshot")}, local.Fresh(dir)); d != "" {
			t.Fatalf("after a file (-want +got):\n%s", d)
		}
		if err := fs.RemoveAll(t.Context(), in("v")); err != nil {
			t.Fatal(err)
		}
	}
}
