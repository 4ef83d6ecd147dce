package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/reeflective/readline"

	"leat/internal/fileio/local"
	"leat/sqlfront"
)

// editor reads entries with a line editor.
type editor struct {
	shell *readline.Shell
	now   string
}

func newEditor(ctx context.Context, c *Console) *editor {
	e := &editor{shell: readline.NewShell()}
	e.shell.Prompt.Primary(func() string { return e.now })
	e.shell.Prompt.Secondary(func() string { return strings.Repeat(" ", max(len(e.now)-3, 0)) + "-> " })
	e.shell.AcceptMultiline = func(line []rune) bool { return whole(string(line)) }
	e.shell.SyntaxHighlighter = func(line []rune) string { return highlight(string(line)) }
	e.shell.History.Delete()
	e.shell.History.Add("entries", openHistory(ctx, local.New(), c.HistoryFile))
	e.shell.Completer = func(line []rune, cursor int) readline.Completions {
		return offered(complete(ctx, c.Names, string(line[:min(cursor, len(line))])))
	}
	// What the terminal's own settings file says is for the user's shell.
	maps.Copy(e.shell.Config.Vars, map[string]any{
		"completion-ignore-case": true, "autocomplete": false, "history-autosuggest": false, "enable-bracketed-paste": true,
		// Asking the terminal where its cursor is can swallow keys typed ahead.
		"cursor-position-probe": false,
	})
	return e
}

// offered hands proposals to the editor.
func offered(p proposals) readline.Completions {
	values := make([]readline.Completion, len(p.words))
	for i, w := range p.words {
		values[i] = readline.Completion{Value: w, Display: w, Tag: p.what}
	}
	out := readline.CompleteRaw(values)
	out.PREFIX = p.prefix
	return out
}

func (e *editor) read(prompt string) (string, error) {
	e.now = prompt
	text, err := e.shell.Readline()
	if errors.Is(err, readline.ErrInterrupt) {
		return "", errInterrupted
	}
	return text, err
}

// lines reads entries as lines, for terminals that cannot move their cursor.
type lines struct {
	in     *bufio.Reader
	prompt io.Writer
}

func newLines(in io.Reader, prompt io.Writer) *lines {
	return &lines{in: bufio.NewReader(in), prompt: prompt}
}

func (l *lines) read(prompt string) (string, error) {
	var text strings.Builder
	for mark := prompt; ; mark = strings.Repeat(" ", max(len(prompt)-3, 0)) + "-> " {
		fmt.Fprint(l.prompt, mark)
		line, err := l.in.ReadString('\n')
		text.WriteString(line)
		switch {
		case errors.Is(err, io.EOF) && strings.TrimSpace(text.String()) != "":
			return text.String(), nil
		case err != nil:
			return "", err
		case whole(text.String()):
			return text.String(), nil
		}
	}
}

// The colours of pieces, as terminals number them; the window's own colours stay
// where nothing is said.
var colours = map[sqlfront.PieceKind]string{
	sqlfront.Keyword: "\x1b[1;34m", sqlfront.String: "\x1b[32m", sqlfront.Number: "\x1b[36m", sqlfront.Comment: "\x1b[2m", sqlfront.HintMark: "\x1b[35m",
}

// highlight colours a text.
func highlight(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), `\`) {
		return text
	}
	var out strings.Builder
	for _, p := range sqlfront.Pieces(text) {
		if colour := colours[p.Kind]; colour != "" {
			out.WriteString(colour + text[p.Start:p.End] + "\x1b[0m")
		} else {
			out.WriteString(text[p.Start:p.End])
		}
	}
	return out.String()
}
