package cachedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"leat/internal/cachedir"
)

func TestEnsureBuildsOnce(t *testing.T) {
	t.Setenv("LEAT_CACHE", t.TempDir())
	var builds atomic.Int64
	build := func(dir string) error {
		builds.Add(1)
		return os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := cachedir.Ensure(t.Context(), "entry", build)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "x" {
				t.Errorf("content %q, %v", b, err)
			}
		})
	}
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
}

func TestEnsureStartsCleanAfterFailure(t *testing.T) {
	t.Setenv("LEAT_CACHE", t.TempDir())
	broken := errors.New("broken")
	_, err := cachedir.Ensure(t.Context(), "entry", func(dir string) error {
		return errors.Join(broken, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
	})
	if !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	dir, err := cachedir.Ensure(t.Context(), "entry", func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the failed attempt's file is still there: %v", err)
	}
}
