package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"leat/internal/diag"
	"leat/internal/query"
	"leat/sqlfront"
)

// Names are the objects that a session knows, for completion and the prompt.
type Names interface {
	Current() (catalog, database string)
	Catalogs() []string
	Databases(ctx context.Context, catalog string) ([]string, error)
	Tables(ctx context.Context, catalog, database string) ([]string, error)
	Columns(ctx context.Context, catalog, database, table string) []string
}

// Console reads and runs statements until the user leaves.
type Console struct {
	// Run carries out the statements of a text, which errors name by file.
	Run   func(ctx context.Context, file, text string) error
	Names Names
	Out   *query.Printer
	// Screen takes results, Messages errors and remarks.
	Screen, Messages io.Writer
	// Source gives the text that a file in an error names.
	Source func(file string) (string, bool)
	// HistoryFile keeps what was entered; none if it is empty.
	HistoryFile string
	// Window gives columns and lines of the terminal; 0 for what is not known.
	Window func() (columns, lines int)

	timing, expanded bool
	entered          int
}

// errQuit ends the console.
var errQuit = errors.New("the user leaves")

// input reads what the user enters: a command that begins with a backslash, or
// text of whole statements.
type input interface {
	// read gives io.EOF when there is no more, and errInterrupted when the entry
	// was given up.
	read(prompt string) (string, error)
}

// errInterrupted says that Ctrl-C was pressed while something was being entered.
var errInterrupted = errors.New("the entry was given up")

// Interact runs until the user leaves or ctx ends. in is the terminal; edit says
// that it has a cursor to move.
func (c *Console) Interact(ctx context.Context, in io.Reader, edit bool) error {
	var from input
	if edit {
		from = newEditor(ctx, c)
	} else {
		from = newLines(in, c.Messages)
	}
	fmt.Fprintln(c.Messages, `leat shell. Statements end with ";". \? lists the commands, \q leaves.`)
	for ctx.Err() == nil {
		text, err := from.read(c.prompt())
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the terminal: %w", err)
		}
		if err := c.enter(ctx, text); errors.Is(err, errQuit) {
			return nil
		}
	}
	return nil
}

func (c *Console) prompt() string {
	_, db := c.Names.Current()
	return db + "> "
}

// enter carries out one entry and prints what went wrong.
func (c *Console) enter(ctx context.Context, text string) error {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil
	}
	if word := leavingWord(trimmed); word != "" {
		return errQuit
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var err error
	if strings.HasPrefix(trimmed, `\`) {
		err = c.command(ctx, trimmed)
	} else {
		err = c.statements(ctx, "", text)
	}
	if errors.Is(err, errQuit) {
		return err
	}
	c.report(ctx, err)
	return nil
}

// leavingWord gives the word of the Flink client by which the user leaves.
func leavingWord(text string) string {
	switch word := strings.ToUpper(strings.TrimRight(text, "; ")); word {
	case "QUIT", "EXIT":
		return word
	}
	return ""
}

// statements runs a text and says how long it took if that was asked for.
func (c *Console) statements(ctx context.Context, file, text string) error {
	if file == "" {
		c.entered++
		file = fmt.Sprintf("entry %d", c.entered)
	}
	if columns, lines := c.Window(); columns > 0 {
		c.Out.Width = columns
		screen := newPager(c.Screen, columns, lines)
		c.Out.SetWriter(screen)
		defer c.Out.SetWriter(c.Screen)
		defer screen.close()
	}
	c.Out.Expanded = c.expanded
	ctx, progress := query.Watch(ctx)
	quiet := c.showProgress(progress)
	start := time.Now()
	err := c.Run(ctx, file, text)
	quiet()
	if c.timing {
		fmt.Fprintf(c.Messages, "time: %s\n", time.Since(start).Round(10*time.Microsecond))
	}
	return err
}

// report prints an error; a statement that the user stopped is none.
func (c *Console) report(ctx context.Context, err error) {
	switch {
	case err == nil, errors.Is(err, errSeenEnough):
	case ctx.Err() != nil:
		fmt.Fprintln(c.Messages, "stopped")
	default:
		diag.Render(c.Messages, err, c.Source)
	}
}

// progressAfter is how long a statement runs before its progress is shown.
const progressAfter = time.Second

// showProgress shows how far a long statement has come until the function it
// gives is called. Nothing is shown where there is no window.
func (c *Console) showProgress(p *query.Progress) (quiet func()) {
	columns, _ := c.Window()
	if columns <= 0 {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(gone)
		tick := time.NewTicker(progressAfter)
		defer tick.Stop()
		for shown := false; ; {
			select {
			case <-done:
				if shown {
					fmt.Fprint(c.Messages, "\r\x1b[K")
				}
				return
			case <-tick.C:
				read, of := p.Rows()
				line := progressLine(read, of, time.Since(start))
				if waiting := p.Waiting(); waiting != "" {
					line = fitted(waiting, columns) + stopHint
				}
				if read > 0 || shown || p.Waiting() != "" {
					fmt.Fprintf(c.Messages, "\r\x1b[K%s", line)
					shown = true
				}
			}
		}
	}()
	return func() { close(done); <-gone }
}

func progressLine(read, of int64, took time.Duration) string {
	s := fmt.Sprintf("%d rows read in %s", read, took.Round(time.Second))
	if of > 0 && read <= of {
		s += fmt.Sprintf(", %d %% of %d", 100*read/of, of)
	}
	return s + stopHint
}

const stopHint = ", Ctrl-C stops"

// fitted cuts a line so that it stays one in the window, with the hint behind it.
func fitted(line string, columns int) string {
	room := max(columns-len(stopHint)-1, 10)
	if r := []rune(line); len(r) > room {
		return string(r[:room-1]) + "…"
	}
	return line
}

// whole reports whether an entry can be run as it is.
func whole(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed == "" || strings.HasPrefix(trimmed, `\`) || leavingWord(trimmed) != "" || sqlfront.Finished(text)
}
