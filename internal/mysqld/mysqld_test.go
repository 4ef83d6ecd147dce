package mysqld_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"leat/internal/mysqld"
)

// TestStartQueryKillRestartStop is the life of a server: what is committed
// survives a kill, a stop removes the temporary folder and the process.
func TestStartQueryKillRestartStop(t *testing.T) {
	t.Parallel()
	in, err := mysqld.Get(t.Context(), "", func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := mysqld.Start(t.Context(), mysqld.Options{Install: in, DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec("CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (7)"); err != nil {
		t.Error(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if s, err = mysqld.Start(t.Context(), mysqld.Options{Install: in, DataDir: dir, Flags: []string{"--server-id=9"}}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect("d")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Execute("SELECT a, @@server_id, @@binlog_row_image, @@gtid_mode FROM t")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"7", "9", "FULL", "ON"} {
		if got, err := r.GetString(0, i); err != nil || got != want {
			t.Errorf("column %d = %q, %v, want %q", i, got, err, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	pid := s.PID()
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if alive(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

// TestReleases starts servers of several releases with a binlog.
func TestReleases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, version, column string }{
		{"8.0.15", "8.0.15", "JSON"},
		{"8.0.31", "8.0.31", "JSON"},
		{"mariadb-10.11", "10.11.", "UUID"},
		{"mariadb-11.8", "11.8.", "UUID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, err := mysqld.FetchRelease(t.Context(), tt.name, func(line string) { t.Log(line) })
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(in.Version, tt.version) || in.MariaDB != strings.HasPrefix(tt.name, "mariadb") {
				t.Errorf("version %s, MariaDB %v", in.Version, in.MariaDB)
			}
			s, err := mysqld.Start(t.Context(), mysqld.Options{Install: in})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Exec("CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b "+tt.column+")", "INSERT INTO d.t VALUES (1, NULL)", "SHOW BINLOG EVENTS IN 'binlog.000001'"); err != nil {
				t.Error(err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := mysqld.FetchRelease(t.Context(), "5.7", nil); err == nil || !strings.Contains(err.Error(), "mariadb-11.8") {
		t.Errorf("a release that does not exist: %v", err)
	}
}

// TestAtLeast compares versions by their numbers.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version string
		want    bool
	}{{"8.0.15", false}, {"8.0.30", true}, {"8.4.0", true}, {"10.11.18", true}, {"8.0.9", false}, {"x", false}} {
		if got := (&mysqld.Install{Version: tt.version}).AtLeast(8, 0, 30); got != tt.want {
			t.Errorf("%s is at least 8.0.30: %v", tt.version, got)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// TestServerEndsWithItsStarter kills a process that runs a server: the server
// must not stay behind.
func TestServerEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil || !alive(pid) {
		t.Fatalf("the child gave pid %d, %v", pid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for deadline := time.Now().Add(2 * time.Minute); alive(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("mysqld %d is still there", pid)
		}
	}
}

const childEnv = "LEAT_MYSQLD_TEST_CHILD"

// TestMain runs the tests, or with childEnv starts a server, prints its pid and waits to be killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := mysqld.Start(context.Background(), mysqld.Options{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.PID())
	select {}
}
