package cdc

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaceOfAllSessions lets sessions read side by side, and times them.
func TestPaceOfAllSessions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rows, bytes int64
		want        time.Duration
	}{
		"rows":      {rows: 1000, want: 4 * time.Second},
		"bytes":     {bytes: 200_000, want: 2 * time.Second},
		"both":      {rows: 1000, bytes: 200_000, want: 4 * time.Second},
		"more rows": {rows: 4000, bytes: 50_000, want: 8 * time.Second},
		"no limit":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPace(tt.rows, tt.bytes)
				start := time.Now()
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for range 1000 {
							if err := p.wait(t.Context(), nil, 1, 100); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				if got := time.Since(start); got > tt.want || got < tt.want-saved-shortest {
					t.Errorf("4000 rows of 100 bytes took %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestPaceEndsWithTheSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1, 0)
		stop := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(stop) })
		if err := p.wait(t.Context(), stop, 1000, 0); !errors.Is(err, errStopped) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.wait(ctx, nil, 1, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
