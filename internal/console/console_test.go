package console_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/creack/pty"
	"golang.org/x/term"

	"leat/internal/columnar"
	"leat/internal/console"
	"leat/internal/diag"
	"leat/internal/query"
)

// The line editor reads the process's own terminal, so that tests run this binary
// again in one.
func TestMain(m *testing.M) {
	if history := os.Getenv("CONSOLE_UNDER_TEST"); history != "" {
		serve(history)
		return
	}
	os.Exit(m.Run())
}

// serve runs a console whose statements are: WAIT;, which only Ctrl-C ends;
// ROWS;, a table; FAIL;, an error. Others are printed in brackets.
func serve(history string) {
	out, err := query.NewPrinter(os.Stdout, "table")
	if err != nil {
		panic(err)
	}
	c := console.Console{
		Run: func(ctx context.Context, file, text string) error {
			switch strings.TrimSpace(text) {
			case "WAIT;":
				fmt.Println("waiting")
				<-ctx.Done()
				return ctx.Err()
			case "FAIL;":
				return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Pos: diag.Pos{File: file, Line: 1, Col: 1, Len: 4}, Msg: "it failed", Hint: "try again"}
			case "ROWS;":
				return rows(out)
			}
			fmt.Printf("[%s]\n", strings.ReplaceAll(text, "\n", "/"))
			return nil
		},
		Names: names{}, Out: out, Screen: os.Stdout, Messages: os.Stdout, HistoryFile: history,
		Source: func(string) (string, bool) { return "", false },
		Window: func() (int, int) {
			columns, lines, err := term.GetSize(1)
			if err != nil || os.Getenv("TERM") == "dumb" {
				return 0, 0
			}
			return columns, lines
		},
	}
	if err := c.Interact(context.Background(), os.Stdin, os.Getenv("TERM") != "dumb"); err != nil {
		panic(err)
	}
	fmt.Println("left")
}

func rows(out *query.Printer) error {
	schema := &columnar.Schema{Fields: []columnar.Field{{ID: 0, Name: "remark", Type: columnar.StringType()}}}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append(strings.Repeat("wide ", 30))
	batch := columnar.NewBatch(schema, nil, []arrow.Array{b.NewArray()}, 1)
	defer batch.Release()
	if err := out.Begin(schema); err != nil {
		return err
	}
	if err := out.Batch(batch); err != nil {
		return err
	}
	return out.End()
}

// names is a session with one table.
type names struct{}

func (names) Current() (catalog, database string) { return "lake", "shop" }
func (names) Catalogs() []string                  { return []string{"lake"} }
func (names) Databases(context.Context, string) ([]string, error) {
	return []string{"shop", "odd name"}, nil
}

func (names) Tables(_ context.Context, _, database string) ([]string, error) {
	if database == "shop" {
		return []string{"orders", "customers", "order"}, nil
	}
	return nil, nil
}

func (names) Columns(_ context.Context, _, _, table string) []string {
	if table == "orders" {
		return []string{"order_id", "amount", "select"}
	}
	return nil
}

// session is a console in a terminal of its own.
type session struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen strings.Builder
	done chan struct{}
	at   int
}

func start(t *testing.T, history string, env ...string) *session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, cmd: exec.Command(self), done: make(chan struct{})}
	s.cmd.Env = append(append(os.Environ(), "CONSOLE_UNDER_TEST="+history, "TERM=xterm", "PAGER="), env...)
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		b := make([]byte, 4096)
		for answered := 0; ; {
			n, err := s.tty.Read(b)
			s.mu.Lock()
			s.seen.Write(b[:n])
			asked := strings.Count(s.seen.String(), "\x1b[6n")
			s.mu.Unlock()
			// Line editors ask where the cursor is.
			for ; answered < asked; answered++ {
				s.tty.WriteString("\x1b[1;1R") //nolint:errcheck // the console would wait, and the test tell
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill() //nolint:errcheck // it may have ended
		s.cmd.Wait()         //nolint:errcheck // see above
		s.tty.Close()
		<-s.done
	})
	s.waits("shop> ")
	return s
}

var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\a]*\a|[=>78])`)

func (s *session) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return escapes.ReplaceAllString(s.seen.String(), "")
}

// types presses keys.
func (s *session) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.tty, keys); err != nil {
		s.t.Fatal(err)
	}
}

// waits waits until the text shows behind what was waited for before.
func (s *session) waits(text string) {
	s.t.Helper()
	for range 600 {
		all := s.screen()
		if i := strings.Index(all[min(s.at, len(all)):], text); i >= 0 {
			s.at += i + len(text)
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.t.Fatalf("%q does not show; the end of the screen is %q", text, tail(s.screen()))
}

func tail(s string) string { return s[max(len(s)-600, 0):] }

func TestEntries(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "history"))
	s.types("SELECT 1;\r")
	s.waits("[SELECT 1;]")
	s.types("SELECT 1,\r")
	s.types("'a;'\r")
	s.types(";\r")
	s.waits("[SELECT 1,/'a;'/;]")
	s.types("FAIL;\r")
	s.waits("error LEAT-6001: it failed")
	s.waits("do: try again")
	s.types("\\nothing\r")
	s.waits("there is no command \\nothing")
	s.types("\\c odd name\r")
	s.waits("[USE `odd name`]")
	s.types("\\timing on\r")
	s.waits("timing is on")
	s.types("SELECT 2;\r")
	s.waits("[SELECT 2;]")
	s.waits("time: ")
	s.types("\\q\r")
	s.waits("left")
}

func TestCtrlCStopsTheStatement(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "history"))
	s.types("WAIT;\r")
	s.waits("waiting")
	s.types("\x03")
	s.waits("stopped")
	s.waits("shop> ")
	s.types("SELECT half")
	s.waits("half")
	s.types("\x03")
	s.waits("shop> ")
	s.types("SELECT 1;\r")
	s.waits("[SELECT 1;]")
	s.types("exit;\r")
	s.waits("left")
}

func TestCompletionInTheEditor(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "history"))
	s.types("SELECT am FROM orders;\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D")
	s.waits("orders;")
	s.types("*\x05\r") // typed where the cursor is, then to the end of the line
	s.waits("[SELECT am* FROM orders;]")
	s.types("SELECT am FROM cust\t")
	s.waits("customers")
	s.types(";\r")
	s.waits("[SELECT am FROM customers;]")
	s.types("DESCR\t")
	s.waits("DESCRIBE")
	s.types(" orders;\r")
	s.waits("[DESCRIBE orders;]")
}

func TestHistoryOutlivesTheConsole(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state", "history")
	s := start(t, file)
	s.types("SELECT 'first';\r")
	s.waits("[SELECT 'first';]")
	s.types("CREATE CATALOG c WITH ('password' = 'hunter2');\r")
	s.waits("[CREATE CATALOG c WITH ('password' = 'hunter2');]")
	s.types("\\q\r")
	s.waits("left")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "hunter2") || !strings.Contains(string(raw), "'password' = '***'") {
		t.Errorf("the history holds\n%s", raw)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to others: %v %v", info.Mode(), err)
	}
	s = start(t, file)
	s.types("\x1b[A\x1b[A\x1b[A")
	s.waits("SELECT 'first';")
	s.types("\r")
	s.waits("[SELECT 'first';]")
}

func TestTablesFitTheWindow(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "history"))
	s.types("ROWS;\r")
	s.waits("…")
	s.waits("(1 row)")
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 40, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	s.types("ROWS;\r")
	s.waits(strings.TrimSpace(strings.Repeat("wide ", 30)))
	s.types("\\x\r")
	s.waits("expanded rows is on")
	s.types("ROWS;\r")
	s.waits("-[ row 1 ]-")
}

func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "history"), "TERM=dumb")
	s.types("SELECT 1,\n")
	s.waits("-> ")
	s.types("2;\n")
	s.waits("[SELECT 1,/2;/]")
	s.types("ROWS;\n")
	s.waits(strings.Repeat("wide ", 29))
	s.types("\x04")
	s.waits("left")
}
