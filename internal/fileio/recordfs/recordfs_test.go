package recordfs_test

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/fileiotest"
	"leat/internal/fileio/recordfs"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	fileiotest.Run(t, func(t *testing.T) (fileio.FS, string) {
		t.Helper()
		return recordfs.New(crashfs.New(), recordfs.Options{Reads: true}), "/w"
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	fs := recordfs.New(crashfs.New(), recordfs.Options{Root: "/w", Reads: true})
	const id, id2 = "0b5d4bfa-0b5d-4bfa-8b5d-0b5d4bfa0b5d", "1b5d4bfa-0b5d-4bfa-8b5d-0b5d4bfa0b5d"
	w, err := fs.Create(t.Context(), "/w/t/data-"+id+"-0.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "01234"); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = fs.CreateExclusive(t.Context(), "/w/t/snapshot-1", []byte("abc")) // the second one loses; the log shows it
	}
	_, _ = fs.ReadFile(t.Context(), "/w/none")
	if err := fs.Remove(t.Context(), "/w/t/data-"+id2); err != nil {
		t.Fatal(err)
	}
	if err := fs.RemoveAll(t.Context(), "/w/t/data-"+id); err != nil {
		t.Fatal(err)
	}
	want := `create /t/data-$1-0.parquet
commit /t/data-$1-0.parquet 5
createexclusive /t/snapshot-1 3
createexclusive /t/snapshot-1 3: file exists already
readfile /none: no such file
remove /t/data-$2
removeall /t/data-$1
`
	if d := cmp.Diff(want, fs.Take()); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
	if s := fs.Take(); s != "" {
		t.Errorf("a second Take gives %q", s)
	}
}
