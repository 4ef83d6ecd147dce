package crashfs_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/fileiotest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	fileiotest.Run(t, func(t *testing.T) (fileio.FS, string) {
		t.Helper()
		return crashfs.New(), "/w"
	})
}

func TestCrashKeepsWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	undone, tempLeft := false, false
	for seed := range uint64(20) {
		fs := crashfs.New()
		ctx := t.Context()
		must(t, fs.CreateExclusive(ctx, "/t/kept", []byte("a")))
		must(t, fs.CreateExclusive(ctx, "/t/removed", []byte("b")))
		must(t, fs.Replace(ctx, "/t/replaced", []byte("old")))
		must(t, fs.Replace(ctx, "/t/replaced", []byte("new")))
		must(t, fs.Remove(ctx, "/t/removed"))
		w, err := fs.Create(ctx, "/t/open")
		must(t, err)
		_, err = io.WriteString(w, "partial")
		must(t, err)

		after := fs.Crash(rand.New(rand.NewPCG(seed, 1)))
		if err := w.Commit(ctx); !errors.Is(err, crashfs.ErrCrashed) {
			t.Fatalf("Commit after the crash: %v", err)
		}
		if _, err := fs.ReadFile(ctx, "/t/kept"); !errors.Is(err, crashfs.ErrCrashed) {
			t.Fatalf("the old handle still works: %v", err)
		}
		for p, want := range map[string]string{"/t/kept": "a", "/t/replaced": "new"} {
			if b, err := after.ReadFile(ctx, p); err != nil || string(b) != want {
				t.Fatalf("%s = %q, %v", p, b, err)
			}
		}
		if _, err := after.Stat(ctx, "/t/open"); !errors.Is(err, fileio.ErrNotExist) {
			t.Fatalf("an uncommitted file is visible: %v", err)
		}
		paths := after.Paths()
		undone = undone || slices.Contains(paths, "/t/removed")
		tempLeft = tempLeft || slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, "/t/.open.") })
	}
	if !undone || !tempLeft {
		t.Errorf("in 20 crashes: removal undone %v, temporary file left %v; want both at least once", undone, tempLeft)
	}
}

func TestCrashWithoutChance(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	must(t, fs.CreateExclusive(t.Context(), "/t/a", nil))
	must(t, fs.Remove(t.Context(), "/t/a"))
	if got := fs.Crash(nil).Paths(); len(got) != 0 {
		t.Errorf("files %v, want none", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
