package job_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// seen is what a statement has printed so far.
type seen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *seen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestSelectFollows reads tables as they change: rows come while the statement
// runs, and it ends in good order when it is stopped.
func TestSelectFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, options, want string }{
		{"input", "'bucket' = '1', 'changelog-producer' = 'input'", "+I,1,a\n-U,1,a\n+U,1,b\n-D,1,b\n+I,2,c\n"},
		{"lookup", "'bucket' = '1', 'changelog-producer' = 'lookup'", "+I,1,a\n-U,1,a\n+U,1,b\n-D,1,b\n+I,2,c\n"},
		{"none", "'bucket' = '1'", "+I,1,a\n+U,1,b\n-D,1,b\n+I,2,c\n"},
		{"vectors", "'bucket' = '1', 'deletion-vectors.enabled' = 'true', 'changelog-producer' = 'lookup'", "+I,1,a\n-U,1,a\n+U,1,b\n-D,1,b\n+I,2,c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			do := func(text string) {
				t.Helper()
				if _, err := shell(t.Context(), warehouse, "csv", text); err != nil {
					t.Fatal(err)
				}
			}
			do("CREATE DATABASE d; CREATE TABLE d.t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (" + c.options + ", 'continuous.discovery-interval' = '5 ms')")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var out seen
			ended := make(chan error, 1)
			go func() {
				ended <- shellTo(ctx, &out, warehouse, "csv", "SET 'execution.runtime-mode' = 'streaming'; SELECT * FROM d.t")
			}()
			await := func(want string) {
				t.Helper()
				for until := time.Now().Add(2 * time.Minute); out.text() != want; time.Sleep(time.Millisecond) {
					if time.Now().After(until) {
						t.Fatalf("prints %q, want %q", out.text(), want)
					}
				}
			}
			await("op,id,v\n")
			got := "op,id,v\n"
			lines := strings.SplitAfter(c.want, "\n")
			for _, s := range []string{"INSERT INTO d.t VALUES (1, 'a')", "UPDATE d.t SET v = 'b'", "DELETE FROM d.t", "INSERT INTO d.t VALUES (2, 'c')"} {
				do(s)
				got += lines[0]
				lines = lines[1:]
				if strings.HasPrefix(got[len(got)-7:], "-U") {
					got += lines[0]
					lines = lines[1:]
				}
				await(got)
			}
			stop()
			if err := <-ended; err != nil || out.text() != "op,id,v\n"+c.want {
				t.Errorf("ends with %v and %q", err, out.text())
			}
		})
	}
}
