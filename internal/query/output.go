package query

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// Formats are the forms of a result.
var Formats = []string{"table", "csv", "json", "ndjson", "markdown"}

// Printer writes results in one form. It belongs to one goroutine.
type Printer struct {
	w *bufio.Writer
	// out is what w writes to.
	out    io.Writer
	format string
	form   form
	// Expanded writes each row of a table as lines of name and value.
	Expanded bool
	// Width is the number of columns that tables are fitted to; 0 leaves them as
	// wide as they are.
	Width int
}

// form writes one result.
type form interface {
	begin(schema *columnar.Schema)
	row(b *columnar.Batch, i int)
	end()
}

// NewPrinter writes to w in one of Formats.
func NewPrinter(w io.Writer, format string) (*Printer, error) {
	p := &Printer{w: bufio.NewWriterSize(w, 1<<16), out: w}
	return p, p.SetFormat(format)
}

// SetFormat chooses the form of the results to come.
func (p *Printer) SetFormat(format string) error {
	if !slices.Contains(Formats, format) {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "there is no output format '" + format + "'", Hint: "write " + strings.Join(Formats, ", ")}
	}
	p.format = format
	return nil
}

// Format is one of Formats.
func (p *Printer) Format() string { return p.format }

// SetWriter sends what follows to w.
func (p *Printer) SetWriter(w io.Writer) {
	p.out = w
	p.w.Reset(w)
}

// Live says that the rows of the result begun come by and by: they are shown as
// they come, tables with columns as wide as their types may need.
func (p *Printer) Live() {
	if l, ok := p.out.(interface{ Live() }); ok {
		l.Live()
	}
	if t, ok := p.form.(*tableForm); ok {
		t.live()
	}
}

// Flush writes out what there is of a result.
func (p *Printer) Flush() error { return p.flush() }

// Begin starts a result.
func (p *Printer) Begin(schema *columnar.Schema) error {
	switch {
	case p.format == "csv":
		p.form = &csvForm{w: p.w}
	case p.format == "json":
		p.form = &jsonForm{w: p.w}
	case p.format == "ndjson":
		p.form = &ndjsonForm{w: p.w}
	case p.format == "markdown":
		p.form = &markdownForm{w: p.w}
	case p.Expanded:
		p.form = &expandedForm{w: p.w}
	default:
		p.form = &tableForm{w: p.w, width: p.Width}
	}
	p.form.begin(schema)
	return nil
}

// Batch adds rows.
func (p *Printer) Batch(b *columnar.Batch) error {
	for i := range b.Rows() {
		p.form.row(b, i)
	}
	// A writer that failed once fails for good: what was written before tells.
	if _, err := p.w.Write(nil); err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return nil
}

// End finishes a result and writes it out.
func (p *Printer) End() error {
	p.form.end()
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
	p.w.WriteString(text) //nolint:errcheck // flush reports it
	return p.flush()
}

func (p *Printer) flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return nil
}

// put writes text; the writer keeps its first error for Flush.
func put(w *bufio.Writer, texts ...string) {
	for _, s := range texts {
		w.WriteString(s) //nolint:errcheck // Flush reports it
	}
}

// jsonForm writes an array with an object a row.
type jsonForm struct {
	w    *bufio.Writer
	rows int
	line []byte
}

func (f *jsonForm) begin(*columnar.Schema) { put(f.w, "[") }

func (f *jsonForm) row(b *columnar.Batch, i int) {
	f.line = f.line[:0]
	if f.rows > 0 {
		f.line = append(f.line, ',')
	}
	f.line = appendRow(append(f.line, "\n  "...), b, i)
	f.w.Write(f.line) //nolint:errcheck // Flush reports it
	f.rows++
}

func (f *jsonForm) end() {
	if f.rows > 0 {
		put(f.w, "\n")
	}
	put(f.w, "]\n")
}

// ndjsonForm writes an object a line.
type ndjsonForm struct {
	w    *bufio.Writer
	line []byte
}

func (*ndjsonForm) begin(*columnar.Schema) {}
func (*ndjsonForm) end()                   {}

func (f *ndjsonForm) row(b *columnar.Batch, i int) {
	f.line = append(appendRow(f.line[:0], b, i), '\n')
	f.w.Write(f.line) //nolint:errcheck // Flush reports it
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

// csvForm writes a line of names, then the rows, as RFC 4180 has it. NULL is
// nothing, empty text two quotes.
type csvForm struct{ w *bufio.Writer }

func (f *csvForm) begin(schema *columnar.Schema) {
	for c, n := range schema.Names() {
		f.cell(c, n)
	}
	put(f.w, "\n")
}

func (f *csvForm) row(b *columnar.Batch, i int) {
	for c, a := range b.Cols {
		if a.IsNull(i) {
			if c > 0 {
				put(f.w, ",")
			}
			continue
		}
		s := plainText(a, i, b.Schema.Fields[c].Type)
		f.cell(c, s)
	}
	put(f.w, "\n")
}

func (*csvForm) end() {}

// plainText gives a value as text without quotes and escapes; nested ones are JSON.
func plainText(a arrow.Array, i int, t columnar.DataType) string {
	if v, ok := a.(*array.String); ok {
		return v.Value(i)
	}
	return strings.Trim(string(AppendValue(nil, a, i, t)), `"`)
}

func (f *csvForm) cell(c int, s string) {
	if c > 0 {
		put(f.w, ",")
	}
	if s == "" || strings.ContainsAny(s, "\",\n\r") || s[0] == ' ' || s[len(s)-1] == ' ' {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	put(f.w, s)
}
