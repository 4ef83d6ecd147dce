package checkpoint_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
)

func TestSecondStartOfAJobIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job", "lock")
	first, err := checkpoint.Lock(path, owner(4711))
	must(t, err)
	_, err = checkpoint.Lock(path, owner(4712))
	var e *diag.Error
	if !errors.As(err, &e) || e.Domain != diag.Guard || e.Code != diag.CodeJobRunning || e.Hint == "" {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(e.Msg, "pid 4711 on h since 2026-01-02 03:04:05") {
		t.Errorf("the error does not name the holder: %s", e.Msg)
	}
	must(t, first.Release())
	second, err := checkpoint.Lock(path, owner(4712))
	must(t, err)
	must(t, second.Release())
}

// lockEnv makes the test binary a process that takes a lock and dies with it.
const lockEnv = "LEAT_TEST_LOCK"

func TestLockOfADeadProcessIsFree(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(lockEnv); path != "" {
		if _, err := checkpoint.Lock(path, checkpoint.Self()); err != nil {
			t.Fatal(err)
		}
		self, err := os.FindProcess(os.Getpid())
		must(t, err)
		must(t, self.Kill())
		select {}
	}
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLockOfADeadProcessIsFree$")
	cmd.Env = append(os.Environ(), lockEnv+"="+path)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the other process ended with %v: %s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		t.Fatalf("it did not take the lock: %v", err)
	}
	l, err := checkpoint.Lock(path, owner(1))
	must(t, err)
	must(t, l.Release())
}
