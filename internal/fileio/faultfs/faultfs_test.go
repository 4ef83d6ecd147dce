package faultfs_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/internal/fileio/fileiotest"
)

func TestConformanceWithoutRules(t *testing.T) {
	t.Parallel()
	fileiotest.Run(t, func(t *testing.T) (fileio.FS, string) {
		t.Helper()
		return faultfs.New(crashfs.New(), ""), "/w"
	})
}

// publish writes a data file and then a snapshot, as a commit does.
func publish(t *testing.T, fs fileio.FS) error {
	t.Helper()
	w, err := fs.Create(t.Context(), "/t/data-1")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, "0123456789"); err != nil {
		return errors.Join(err, w.Abort(t.Context()))
	}
	if err := w.Commit(t.Context()); err != nil {
		return err
	}
	return fs.CreateExclusive(t.Context(), "/t/snapshot-1", []byte("points to data-1"))
}

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rules string
		// fails says whether publish reports an error; left are the files that exist then.
		fails bool
		left  []string
	}{
		{"", false, []string{"/t/data-1", "/t/snapshot-1"}},
		{"create#1 fail", true, nil},
		{"write#1 fail", true, nil},
		{"commit#1 fail", true, nil},
		{"commit#1 lie", true, []string{"/t/data-1"}},
		{"commit#2 fail", false, []string{"/t/data-1", "/t/snapshot-1"}},
		{"createexclusive#1 fail", true, []string{"/t/data-1"}},
		{"createexclusive#1 lie", true, []string{"/t/data-1", "/t/snapshot-1"}},
		{"createexclusive[snapshot-] cut", true, []string{"/t/.snapshot-1.cut-1.tmp", "/t/data-1"}},
		{"createexclusive[other] fail", false, []string{"/t/data-1", "/t/snapshot-1"}},
		{"any#4 stop", true, []string{"/t/data-1"}},
		{"any#4 stop-after", true, []string{"/t/data-1", "/t/snapshot-1"}},
		{"mutate#3 stop; any fail", true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.rules, func(t *testing.T) {
			t.Parallel()
			disk := crashfs.New()
			fs := faultfs.New(disk, tt.rules)
			err := publish(t, fs)
			if (err != nil) != tt.fails || (err != nil && !errors.Is(err, faultfs.ErrInjected)) {
				t.Errorf("error %v, want one: %v", err, tt.fails)
			}
			if d := cmp.Diff(tt.left, append([]string(nil), disk.Paths()...)); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
		})
	}
}

func TestStopEndsEverything(t *testing.T) {
	t.Parallel()
	fs := faultfs.New(crashfs.New(), "commit stop")
	if err := publish(t, fs); !errors.Is(err, faultfs.ErrStopped) {
		t.Fatalf("error %v", err)
	}
	if _, err := fs.List(t.Context(), "/"); !errors.Is(err, faultfs.ErrStopped) || !fs.Stopped() {
		t.Fatalf("a call after the stop gives %v", err)
	}
	fs.Set("")
	if err := publish(t, fs); err != nil {
		t.Fatalf("after the rules were taken away: %v", err)
	}
}

func TestEveryCallOfASequenceCanFail(t *testing.T) {
	t.Parallel()
	probe := faultfs.New(crashfs.New(), "")
	if err := publish(t, probe); err != nil {
		t.Fatal(err)
	}
	want := map[faultfs.Op]int{"create": 1, "write": 1, "commit": 1, "createexclusive": 1}
	if d := cmp.Diff(want, probe.Counts()); d != "" {
		t.Fatalf("counts (-want +got):\n%s", d)
	}
	if probe.Total() != 4 || probe.Mutations() != 4 {
		t.Fatalf("Total = %d, Mutations = %d, want 4", probe.Total(), probe.Mutations())
	}
	for n := range probe.Total() {
		fs := faultfs.New(crashfs.New(), faultfs.Rule{Op: faultfs.Any, N: n + 1, Action: faultfs.Fail}.String())
		if err := publish(t, fs); !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("call %d: error %v", n+1, err)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"any fail", "commit#2 cut", "write#3+ fail", "createexclusive#1[snapshot-] lie", "mutate#9 stop-after"} {
		rs, err := faultfs.Parse(s)
		if err != nil || len(rs) != 1 || rs[0].String() != s {
			t.Errorf("%q gives %v, %v", s, rs, err)
		}
	}
	for _, s := range []string{"fail", "commit#0 fail", "comit#1 fail", "commit#1 explode", "commit#1"} {
		if rs, err := faultfs.Parse(s); err == nil {
			t.Errorf("%q gives %v, want an error", s, rs)
		}
	}
}
