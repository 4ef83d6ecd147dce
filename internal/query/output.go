package query

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// Formats are the forms of a result.
var Formats = []string{"table", "json", "ndjson"}

// Printer writes results in one form. It belongs to one goroutine.
type Printer struct {
	w      *bufio.Writer
	format string

	schema *columnar.Schema
	rows   int
	line   []byte
	// cells are the rows of a table, which is printed when all are known.
	cells [][]string
}

// NewPrinter writes to w in one of Formats.
func NewPrinter(w io.Writer, format string) (*Printer, error) {
	if slices.Contains(Formats, format) {
		return &Printer{w: bufio.NewWriterSize(w, 1<<16), format: format}, nil
	}
	return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "there is no output format '" + format + "'", Hint: "write " + strings.Join(Formats, ", ")}
}

// Begin starts a result.
func (p *Printer) Begin(schema *columnar.Schema) error {
	p.schema, p.rows, p.cells = schema, 0, nil
	if p.format == "json" {
		return p.w.WriteByte('[')
	}
	return nil
}

// Batch adds rows.
func (p *Printer) Batch(b *columnar.Batch) error {
	for i := range b.Rows() {
		if p.format == "table" {
			p.cells = append(p.cells, tableCells(b, i))
			p.rows++
			continue
		}
		p.line = p.line[:0]
		if p.format == "json" {
			if p.rows > 0 {
				p.line = append(p.line, ',')
			}
			p.line = append(p.line, "\n  "...)
		}
		p.line = appendRow(p.line, b, i)
		if p.format == "ndjson" {
			p.line = append(p.line, '\n')
		}
		if _, err := p.w.Write(p.line); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
		p.rows++
	}
	return nil
}

func appendRow(dst []byte, b *columnar.Batch, i int) []byte {
	dst = append(dst, '{')
	for c := range b.Cols {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, b.Schema.Fields[c].Name), ':')
		dst = AppendValue(dst, b.Cols[c], i, b.Schema.Fields[c].Type)
	}
	return append(dst, '}')
}

// End finishes a result and writes it out.
func (p *Printer) End() error {
	switch p.format {
	case "json":
		if p.rows > 0 {
			p.w.WriteByte('\n') //nolint:errcheck // Flush reports it
		}
		p.w.WriteString("]\n") //nolint:errcheck // Flush reports it
	case "table":
		p.table()
	}
	return p.flush()
}

// Done says that a statement without rows was carried out.
func (p *Printer) Done(text string) error {
	if p.format == "table" {
		fmt.Fprintln(p.w, text)
	}
	return p.flush()
}

// Text writes a text as it is, such as a plan.
func (p *Printer) Text(text string) error {
	p.w.WriteString(text) //nolint:errcheck // Flush reports it
	return p.flush()
}

func (p *Printer) flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return nil
}

// tableCells renders a row for people: text without quotes, control characters
// escaped, a blank between date and time.
func tableCells(b *columnar.Batch, i int) []string {
	out := make([]string, len(b.Cols))
	for c, a := range b.Cols {
		t := b.Schema.Fields[c].Type
		s := string(AppendValue(nil, a, i, t))
		switch {
		case a.IsNull(i):
			s = "NULL"
		case strings.HasPrefix(s, `"`):
			s = strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
			if t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ {
				s = strings.Replace(s, "T", " ", 1)
			}
		}
		out[c] = s
	}
	return out
}

// table prints names, a rule and rows, columns padded to their widest cell.
func (p *Printer) table() {
	names := p.schema.Names()
	if len(names) == 1 && len(p.cells) == 1 && strings.Contains(p.cells[0][0], `\n`) {
		// One text of several lines, such as that of SHOW CREATE TABLE.
		fmt.Fprintln(p.w, strings.ReplaceAll(p.cells[0][0], `\n`, "\n"))
		return
	}
	widths := make([]int, len(names))
	for _, row := range append([][]string{names}, p.cells...) {
		for c, s := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(s))
		}
	}
	p.row(names, widths, nil)
	for c, w := range widths {
		if c > 0 {
			p.w.WriteString("-+-") //nolint:errcheck // Flush reports it
		}
		p.w.WriteString(strings.Repeat("-", w)) //nolint:errcheck // Flush reports it
	}
	p.w.WriteByte('\n') //nolint:errcheck // Flush reports it
	right := make([]bool, len(names))
	for c, f := range p.schema.Fields {
		right[c] = f.Type.IsNumeric()
	}
	for _, row := range p.cells {
		p.row(row, widths, right)
	}
	noun := "rows"
	if p.rows == 1 {
		noun = "row"
	}
	fmt.Fprintf(p.w, "(%d %s)\n", p.rows, noun)
}

func (p *Printer) row(cells []string, widths []int, right []bool) {
	var line strings.Builder
	for c, s := range cells {
		if c > 0 {
			line.WriteString(" | ")
		}
		pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(s))
		if right != nil && right[c] {
			line.WriteString(pad + s)
		} else {
			line.WriteString(s + pad)
		}
	}
	p.w.WriteString(strings.TrimRight(line.String(), " ") + "\n") //nolint:errcheck // Flush reports it
}
