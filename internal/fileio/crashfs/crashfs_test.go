package crashfs_test

import (
	"errors"
	"io"
	"maps"
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
	undone, tempLeft, partLeft := false, false, false
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
		// It may have been within Commit.
		b, err := after.ReadFile(ctx, "/t/open")
		if err == nil && !startOf(b, "partial") || err != nil && !errors.Is(err, fileio.ErrNotExist) {
			t.Fatalf("an uncommitted file is there with %q, %v", b, err)
		}
		partLeft = partLeft || err == nil
		paths := after.Paths()
		undone = undone || slices.Contains(paths, "/t/removed")
		tempLeft = tempLeft || slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, "/t/.open.") })
	}
	if !undone || !tempLeft || !partLeft {
		t.Errorf("in 20 crashes: removal undone %v, temporary file left %v, part left %v; want each at least once", undone, tempLeft, partLeft)
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

// TestCrashTakesWhatWasNotPublished looks at all that a crash may make of a batch.
func TestCrashTakesWhatWasNotPublished(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(60) {
		fs := crashfs.New()
		ctx := t.Context()
		b := fs.NewBatch()
		must(t, b.Create(ctx, "/t/m-1", []byte("first")))
		must(t, b.Publish(ctx, "/t/s-1", []byte("names m-1")))
		must(t, b.Create(ctx, "/t/m-2", []byte("second")))
		after := fs.Crash(rand.New(rand.NewPCG(seed, 3)))
		for p, want := range map[string]string{"/t/m-1": "first", "/t/s-1": "names m-1"} {
			if got, err := after.ReadFile(ctx, p); err != nil || string(got) != want {
				t.Fatalf("%s = %q, %v", p, got, err)
			}
		}
		got, err := after.ReadFile(ctx, "/t/m-2")
		switch {
		case errors.Is(err, fileio.ErrNotExist):
			seen["gone"] = true
		case err != nil || !startOf(got, "second"):
			t.Fatalf("m-2 = %q, %v", got, err)
		case string(got) == "second":
			seen["whole"] = true
		default:
			seen["part"] = true
		}
	}
	if !seen["gone"] || !seen["part"] || !seen["whole"] {
		t.Errorf("of a file that was not published, 60 crashes left %v", seen)
	}
}

func TestCrashTurnsHintsBack(t *testing.T) {
	t.Parallel()
	free, settled := map[string]bool{}, map[string]bool{}
	for seed := range uint64(60) {
		ctx, rnd := t.Context(), rand.New(rand.NewPCG(seed, 4))
		fs := crashfs.New()
		must(t, fs.Replace(ctx, "/t/HINT", []byte("1")))
		must(t, fs.ReplaceHint(ctx, "/t/HINT", []byte("2")))
		must(t, fs.ReplaceHint(ctx, "/t/HINT", []byte("3")))
		b, err := fs.Crash(rnd).ReadFile(ctx, "/t/HINT")
		must(t, err)
		free[string(b)] = true

		fs = crashfs.New()
		must(t, fs.Replace(ctx, "/t/HINT", []byte("1")))
		must(t, fs.ReplaceHint(ctx, "/t/HINT", []byte("2")))
		must(t, fs.CreateExclusive(ctx, "/t/other", nil))
		b, err = fs.Crash(rnd).ReadFile(ctx, "/t/HINT")
		must(t, err)
		settled[string(b)] = true
	}
	if want := map[string]bool{"": true, "1": true, "2": true, "3": true}; !maps.Equal(free, want) {
		t.Errorf("crashes leave %v, want %v", free, want)
	}
	if want := map[string]bool{"": true, "2": true}; !maps.Equal(settled, want) {
		t.Errorf("once something in the folder was confirmed, crashes leave %v, want %v", settled, want)
	}
}

// startOf reports whether whole begins with part.
func startOf(part []byte, whole string) bool { return strings.HasPrefix(whole, string(part)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
