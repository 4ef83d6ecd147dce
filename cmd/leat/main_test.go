package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"leat": main})
}

// TestScripts runs testdata/*.txtar: arguments, output and exit codes of what
// needs no server.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "await": await},
	})
}

// TestStoppedBeforeItBegan sends the signal while a script is planned.
func TestStoppedBeforeItBegan(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "job.sql")
	script := "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = 'file://" + t.TempDir() + "');\nUSE CATALOG lake;\nCREATE DATABASE IF NOT EXISTS d;\nUSE d;\n" +
		"CREATE TABLE t (id INT);\nINSERT INTO t SELECT id FROM default_catalog.default_database.gone;\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	sync := []string{"sync", "mysql", "--url", "mysql://leat@" + mute(t) + "/shop", "--include", "orders", "--warehouse", t.TempDir()}
	for _, tt := range []struct {
		after time.Duration
		args  []string
	}{{0, []string{"run", file}}, {100 * time.Millisecond, sync}} {
		ctx, cancel := context.WithTimeout(t.Context(), tt.after)
		defer cancel()
		args, begin := tt.args, time.Now()
		var says bytes.Buffer
		root := newApp().root()
		root.SetArgs(append(args, "--state-dir", t.TempDir()))
		root.SetErr(&says)
		if err := root.ExecuteContext(ctx); err != nil || says.String() != "stopped before the job began\n" {
			t.Errorf("%s: %v, %q", args[0], err, says.String())
		}
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("%s: it took %s", args[0], took)
		}
	}
}

// mute gives the address of a server that takes connections and never says a word.
func mute(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// exits runs a command and requires its exit code: exits 2 leat run x.sql.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// await runs a command again and again until it ends well, as a program that
// was started beside needs its time: await leat job show x.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: await PROGRAM ARGS…")
	}
	var err error
	for range 200 {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%v: %v", args, err)
}
