package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/fileiotest"
	"leat/internal/fileio/local"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	fileiotest.Run(t, func(t *testing.T) (fileio.FS, string) {
		t.Helper()
		return local.New(), t.TempDir()
	})
}

func TestTemporaryNameIsDottedAndBesideTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := local.New().Create(t.Context(), filepath.Join(dir, "data-1.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	es, err := os.ReadDir(dir)
	if err != nil || len(es) != 1 {
		t.Fatalf("folder holds %v, %v", es, err)
	}
	if n := es[0].Name(); !strings.HasPrefix(n, ".data-1.parquet.") || !strings.HasSuffix(n, ".tmp") {
		t.Errorf("temporary name %q", n)
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsTellWhatToDo(t *testing.T) {
	t.Parallel()
	fs := local.New()
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 300))
	err := fs.CreateExclusive(t.Context(), long, nil)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "shorter") || e.Code != diag.CodeLakeIO {
		t.Errorf("error %v", err)
	}
	if err := fs.MkdirAll(t.Context(), "/dev/null/x"); err == nil {
		t.Error("a folder was made below a device")
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	// /dev/full refuses every write with ENOSPC; the write goes through the
	// same file handle type as a table file's.
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.WriteString("x")
	err = local.Wrap("writing", "/lake/t/f", err)
	var e *diag.Error
	if !errors.As(err, &e) || !e.Retry || e.Domain != diag.External || !strings.Contains(e.Hint, "free space on the disk of /lake/t") {
		t.Fatalf("%v", err)
	}
	if got, want := err.Error(), "error LEAT-4001: writing /lake/t/f: no space left on device"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestOpenRefusesFolders(t *testing.T) {
	t.Parallel()
	if _, err := local.New().Open(t.Context(), t.TempDir()); err == nil {
		t.Fatal("a folder was opened as a file")
	}
}
