package fileiotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio"
)

// Open gives a file system and an empty folder in it.
type Open func(t *testing.T) (fs fileio.FS, dir string)

// Run checks the whole contract.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, fileio.FS, string){
		"CreateIsInvisibleUntilCommit":      createIsInvisibleUntilCommit,
		"CreateMakesParents":                createMakesParents,
		"CreateNeverOverwrites":             createNeverOverwrites,
		"AbortLeavesNothing":                abortLeavesNothing,
		"CreateExclusiveHasOneWinner":       createExclusiveHasOneWinner,
		"CreateExclusiveIsWholeWhenVisible": createExclusiveIsWhole,
		"ReplaceIsAtomic":                   replaceIsAtomic,
		"RangedReads":                       rangedReads,
		"MissingFiles":                      missingFiles,
		"ListIsSortedAndDirect":             listIsSortedAndDirect,
		"RemoveIsIdempotent":                removeIsIdempotent,
		"RemoveAll":                         removeAll,
		"CancelledContext":                  cancelledContext,
		"BatchesHaveOneWinner":              batchesHaveOneWinner,
		"HintsAreReplaced":                  hintsAreReplaced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs, dir := open(t)
			test(t, fs, dir)
		})
	}
}

func put(t *testing.T, fs fileio.FS, path, content string) {
	t.Helper()
	w, err := fs.Create(t.Context(), path)
	check(t, err)
	_, err = io.WriteString(w, content)
	check(t, err)
	check(t, w.Commit(t.Context()))
	check(t, w.Abort(t.Context()))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want one that wraps %q", what, err, want)
	}
}

func wantContent(t *testing.T, fs fileio.FS, path, want string) {
	t.Helper()
	b, err := fs.ReadFile(t.Context(), path)
	check(t, err)
	if string(b) != want {
		t.Fatalf("%s holds %q, want %q", path, b, want)
	}
}

func wantNames(t *testing.T, fs fileio.FS, dir string, want ...string) {
	t.Helper()
	infos, err := fs.List(t.Context(), dir)
	check(t, err)
	var got []string
	for _, i := range infos {
		got = append(got, i.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("names in %s (-want +got):\n%s", dir, d)
	}
}

func createIsInvisibleUntilCommit(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "f")
	w, err := fs.Create(t.Context(), p)
	check(t, err)
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	_, err = w.Write(big)
	check(t, err)
	_, err = fs.Stat(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "Stat before Commit")
	_, err = fs.Open(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "Open before Commit")
	check(t, w.Commit(t.Context()))
	check(t, w.Abort(t.Context()))
	wantContent(t, fs, p, string(big))
	wantNames(t, fs, dir, "f")
}

func createMakesParents(t *testing.T, fs fileio.FS, dir string) {
	put(t, fs, fs.Join(dir, "a", "b", "f"), "x")
	check(t, fs.CreateExclusive(t.Context(), fs.Join(dir, "c", "d", "f"), []byte("y")))
	check(t, fs.Replace(t.Context(), fs.Join(dir, "e", "g", "f"), []byte("z")))
	wantContent(t, fs, fs.Join(dir, "a", "b", "f"), "x")
	wantContent(t, fs, fs.Join(dir, "c", "d", "f"), "y")
	wantContent(t, fs, fs.Join(dir, "e", "g", "f"), "z")
	wantNames(t, fs, dir, "a", "c", "e")
	i, err := fs.Stat(t.Context(), fs.Join(dir, "a", "b"))
	check(t, err)
	if !i.IsDir || i.Name != "b" {
		t.Fatalf("Stat of a folder gives %+v", i)
	}
}

func createNeverOverwrites(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "f")
	w, err := fs.Create(t.Context(), p)
	check(t, err)
	_, err = io.WriteString(w, "second")
	check(t, err)
	check(t, fs.CreateExclusive(t.Context(), p, []byte("first")))
	wantErr(t, w.Commit(t.Context()), fileio.ErrExist, "Commit over an existing file")
	check(t, w.Abort(t.Context()))
	wantErr(t, fs.CreateExclusive(t.Context(), p, []byte("third")), fileio.ErrExist, "CreateExclusive over an existing file")
	wantContent(t, fs, p, "first")
	wantNames(t, fs, dir, "f")
}

func abortLeavesNothing(t *testing.T, fs fileio.FS, dir string) {
	w, err := fs.Create(t.Context(), fs.Join(dir, "f"))
	check(t, err)
	_, err = w.Write(make([]byte, 3<<20))
	check(t, err)
	check(t, w.Abort(t.Context()))
	check(t, w.Abort(t.Context()))
	wantNames(t, fs, dir)
	if err := w.Commit(t.Context()); err == nil {
		t.Fatal("Commit after Abort succeeded")
	}
	wantNames(t, fs, dir)
}

func createExclusiveHasOneWinner(t *testing.T, fs fileio.FS, dir string) {
	const rounds, writers = 20, 8
	for round := range rounds {
		p := fs.Join(dir, fmt.Sprintf("snapshot-%02d", round))
		var winner atomic.Int64
		winner.Store(-1)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				err := fs.CreateExclusive(t.Context(), p, fmt.Appendf(nil, "writer %d", i))
				switch {
				case err == nil:
					if prev := winner.Swap(int64(i)); prev != -1 {
						t.Errorf("writers %d and %d both won", prev, i)
					}
				case !errors.Is(err, fileio.ErrExist):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantContent(t, fs, p, fmt.Sprintf("writer %d", winner.Load()))
	}
}

func createExclusiveIsWhole(t *testing.T, fs fileio.FS, dir string) {
	content := bytes.Repeat([]byte{7}, 1<<20)
	for round := range 10 {
		p := fs.Join(dir, fmt.Sprintf("f%d", round))
		done := make(chan error, 1)
		go func() { done <- fs.CreateExclusive(context.WithoutCancel(t.Context()), p, content) }()
		for {
			b, err := fs.ReadFile(t.Context(), p)
			if err == nil {
				if !bytes.Equal(b, content) {
					t.Fatalf("a reader saw %d of %d bytes", len(b), len(content))
				}
				break
			}
			wantErr(t, err, fileio.ErrNotExist, "ReadFile during CreateExclusive")
		}
		check(t, <-done)
	}
}

func replaceIsAtomic(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "LATEST")
	check(t, fs.Replace(t.Context(), p, bytes.Repeat([]byte("0"), 4096)))
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := fs.Replace(context.WithoutCancel(t.Context()), p, bytes.Repeat([]byte{byte('0' + i%10)}, 4096)); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 200 {
		b, err := fs.ReadFile(t.Context(), p)
		check(t, err)
		if len(b) != 4096 || bytes.Count(b, b[:1]) != 4096 {
			t.Error("a reader saw a mixture of two contents")
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantNames(t, fs, dir, "LATEST")
}

func rangedReads(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "f")
	put(t, fs, p, "0123456789")
	f, err := fs.Open(t.Context(), p)
	check(t, err)
	if f.Size() != 10 {
		t.Fatalf("Size = %d, want 10", f.Size())
	}
	var wg sync.WaitGroup
	for off := range 8 {
		wg.Go(func() {
			b := make([]byte, 3)
			if _, err := f.ReadAt(b, int64(off)); err != nil {
				t.Error(err)
			}
			if want := "0123456789"[off : off+3]; string(b) != want {
				t.Errorf("ReadAt(%d) = %q, want %q", off, b, want)
			}
		})
	}
	wg.Wait()
	b := make([]byte, 4)
	n, err := f.ReadAt(b, 8)
	if n != 2 || !errors.Is(err, io.EOF) {
		t.Fatalf("ReadAt over the end = %d, %v, want 2, EOF", n, err)
	}
	// What is open stays readable whatever happens to the name.
	check(t, fs.Remove(t.Context(), p))
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatalf("reading a removed file that is open: %v", err)
	}
	check(t, f.Close())
}

func missingFiles(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "none")
	_, err := fs.Open(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "Open")
	_, err = fs.ReadFile(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "ReadFile")
	_, err = fs.Stat(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "Stat")
	wantNames(t, fs, p)
}

func listIsSortedAndDirect(t *testing.T, fs fileio.FS, dir string) {
	for _, n := range []string{"b", "snapshot-10", "a", "snapshot-2"} {
		put(t, fs, fs.Join(dir, n), n)
	}
	put(t, fs, fs.Join(dir, "sub", "x"), "xx")
	wantNames(t, fs, dir, "a", "b", "snapshot-10", "snapshot-2", "sub")
	infos, err := fs.List(t.Context(), dir)
	check(t, err)
	for _, i := range infos {
		if i.Path != fs.Join(dir, i.Name) {
			t.Errorf("path %q of %q", i.Path, i.Name)
		}
		if i.IsDir != (i.Name == "sub") {
			t.Errorf("%s: IsDir = %v", i.Name, i.IsDir)
		}
		if !i.IsDir && i.Size != int64(len(i.Name)) {
			t.Errorf("%s: Size = %d", i.Name, i.Size)
		}
		st, err := fs.Stat(t.Context(), i.Path)
		check(t, err)
		if st.Name != i.Name || st.IsDir != i.IsDir || st.Size != i.Size {
			t.Errorf("Stat gives %+v, List gave %+v", st, i)
		}
	}
}

func removeIsIdempotent(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "f")
	put(t, fs, p, "x")
	check(t, fs.Remove(t.Context(), p))
	check(t, fs.Remove(t.Context(), p))
	_, err := fs.Stat(t.Context(), p)
	wantErr(t, err, fileio.ErrNotExist, "Stat after Remove")
	put(t, fs, p, "again")
	wantContent(t, fs, p, "again")
}

func removeAll(t *testing.T, fs fileio.FS, dir string) {
	put(t, fs, fs.Join(dir, "t", "a", "b"), "x")
	put(t, fs, fs.Join(dir, "t", "c"), "x")
	put(t, fs, fs.Join(dir, "t2", "c"), "x")
	check(t, fs.RemoveAll(t.Context(), fs.Join(dir, "t")))
	check(t, fs.RemoveAll(t.Context(), fs.Join(dir, "t")))
	wantNames(t, fs, dir, "t2")
	_, err := fs.Stat(t.Context(), fs.Join(dir, "t", "a", "b"))
	wantErr(t, err, fileio.ErrNotExist, "Stat below a removed folder")
}

func cancelledContext(t *testing.T, fs fileio.FS, dir string) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := fs.Join(dir, "f")
	wantErr(t, fs.CreateExclusive(ctx, p, nil), context.Canceled, "CreateExclusive")
	wantErr(t, fs.Replace(ctx, p, nil), context.Canceled, "Replace")
	_, err := fs.ReadFile(ctx, p)
	wantErr(t, err, context.Canceled, "ReadFile")
	w, err := fs.Create(t.Context(), p)
	check(t, err)
	wantErr(t, w.Commit(ctx), context.Canceled, "Commit")
	check(t, w.Abort(ctx))
	wantNames(t, fs, dir)
}
