package fileiotest

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"leat/internal/fileio"
)

// batchesHaveOneWinner has many batches publish under one name, beside each other.
func batchesHaveOneWinner(t *testing.T, fs fileio.FS, dir string) {
	const writers = 40
	var won atomic.Int64
	var wg sync.WaitGroup
	last := fs.Join(dir, "s", "last")
	for w := range writers {
		wg.Go(func() {
			b := fileio.NewBatch(fs)
			for i := range 3 {
				if err := b.Create(t.Context(), fs.Join(dir, "m", fmt.Sprintf("f-%d-%d", w, i)), []byte("content")); err != nil {
					t.Error(err)
				}
			}
			err := b.Publish(t.Context(), last, fmt.Appendf(nil, "%d", w))
			if err == nil {
				won.Store(int64(w))
				won.Add(1000)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n/1000 != 1 {
		t.Fatalf("%d batches won", n/1000)
	}
	wantContent(t, fs, last, strconv.FormatInt(won.Load()%1000, 10))
	for w := range writers {
		for i := range 3 {
			wantContent(t, fs, fs.Join(dir, "m", fmt.Sprintf("f-%d-%d", w, i)), "content")
		}
	}
	wantNames(t, fs, fs.Join(dir, "s"), "last")

	b := fileio.NewBatch(fs)
	wantErr(t, b.Create(t.Context(), last, nil), fileio.ErrExist, "Create of a name that is taken")
	wantErr(t, b.Publish(t.Context(), last, nil), fileio.ErrExist, "Publish under a name that is taken")
	// A lost race is not the end of a batch.
	check(t, b.Create(t.Context(), fs.Join(dir, "m", "more"), []byte("x")))
	check(t, b.Publish(t.Context(), fs.Join(dir, "s", "next"), []byte("y")))
	check(t, b.Close())
	wantContent(t, fs, fs.Join(dir, "m", "more"), "x")
	wantContent(t, fs, fs.Join(dir, "s", "next"), "y")
}

func hintsAreReplaced(t *testing.T, fs fileio.FS, dir string) {
	p := fs.Join(dir, "sub", "HINT")
	check(t, fileio.ReplaceHint(t.Context(), fs, p, []byte("1")))
	check(t, fileio.ReplaceHint(t.Context(), fs, p, []byte("2")))
	wantContent(t, fs, p, "2")
	wantNames(t, fs, fs.Join(dir, "sub"), "HINT")
}
