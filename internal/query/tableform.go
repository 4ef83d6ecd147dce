package query

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"leat/internal/columnar"
)

// tableSample is the number of rows whose widths a table's columns take; later
// rows are written as they come, so that no result is held whole.
const tableSample = 1000

// narrowColumn is the width below which fitting a table to a window does not go.
const narrowColumn = 8

// tableForm writes names, a rule and rows, columns padded to their widest cell.
type tableForm struct {
	w      *bufio.Writer
	width  int
	schema *columnar.Schema
	rows   int
	// cells are the rows of the sample; widths follow from them.
	cells  [][]string
	widths []int
}

func (f *tableForm) begin(schema *columnar.Schema) { f.schema = schema }

func (f *tableForm) row(b *columnar.Batch, i int) {
	cells := tableCells(b, i)
	f.rows++
	if f.widths != nil {
		f.line(cells, true)
		return
	}
	if f.cells = append(f.cells, cells); len(f.cells) == tableSample {
		f.head()
	}
}

func (f *tableForm) end() {
	if len(f.schema.Fields) == 1 && len(f.cells) == 1 && f.rows == 1 && strings.Contains(f.cells[0][0], `\n`) {
		// One text of several lines, such as that of SHOW CREATE TABLE.
		put(f.w, strings.ReplaceAll(f.cells[0][0], `\n`, "\n"), "\n")
		return
	}
	if f.widths == nil {
		f.head()
	}
	put(f.w, rowCount(f.rows), "\n")
}

func rowCount(n int) string {
	if n == 1 {
		return "(1 row)"
	}
	return fmt.Sprintf("(%d rows)", n)
}

// head settles the widths and writes what the sample holds.
func (f *tableForm) head() { f.headOf(f.cells) }

// headOf settles the widths by the sample, and writes names and rows.
func (f *tableForm) headOf(rows [][]string) {
	names := f.schema.Names()
	f.widths = make([]int, len(names))
	for _, row := range append([][]string{names}, f.cells...) {
		for c, s := range row {
			f.widths[c] = max(f.widths[c], uniseg.StringWidth(s))
		}
	}
	fit(f.widths, f.width)
	f.line(names, false)
	for c, w := range f.widths {
		if c > 0 {
			put(f.w, "-+-")
		}
		put(f.w, strings.Repeat("-", w))
	}
	put(f.w, "\n")
	for _, row := range rows {
		f.line(row, true)
	}
	if f.rows >= tableSample {
		f.cells = nil
	}
}

// liveText is the width of a text column whose rows are not known yet.
const liveText = 20

// liveWidth is as wide as values of a column mostly are.
func liveWidth(f columnar.Field) int {
	switch t := f.Type; {
	case f.Name == kindName:
		return 2
	case t.Kind == columnar.Boolean:
		return 5
	case t.IsInteger() && t.Kind != columnar.BigInt, t.Kind == columnar.Date, t.Kind == columnar.Time:
		return 11
	case t.Kind == columnar.Decimal:
		return min(t.Precision+2, liveText)
	case t.Kind == columnar.Timestamp, t.Kind == columnar.TimestampLTZ:
		return 26
	default:
		return liveText
	}
}

// live settles the widths by the types of the columns and writes the head.
func (f *tableForm) live() {
	sample := make([]string, len(f.schema.Fields))
	for c, field := range f.schema.Fields {
		sample[c] = strings.Repeat(" ", liveWidth(field))
	}
	f.cells = [][]string{sample}
	f.headOf(nil)
}

// fit narrows the widest columns until a row is no wider than window, if it can be.
func fit(widths []int, window int) {
	if window <= 0 {
		return
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > window {
		widest := 0
		for c, w := range widths {
			if w > widths[widest] {
				widest = c
			}
		}
		if widths[widest] <= narrowColumn {
			return
		}
		widths[widest]--
		total--
	}
}

func (f *tableForm) line(cells []string, numbersRight bool) {
	var line strings.Builder
	for c, s := range cells {
		if c > 0 {
			line.WriteString(" | ")
		}
		if f.width > 0 {
			s = cut(s, f.widths[c])
		}
		pad := strings.Repeat(" ", max(f.widths[c]-uniseg.StringWidth(s), 0))
		if numbersRight && f.schema.Fields[c].Type.IsNumeric() {
			line.WriteString(pad + s)
		} else {
			line.WriteString(s + pad)
		}
	}
	put(f.w, strings.TrimRight(line.String(), " "), "\n")
}

// cut shortens a text to width cells, the last of which says so.
func cut(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	var out strings.Builder
	rest, state, used := s, -1, 0
	for rest != "" {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += w; used > width-1 {
			break
		}
		out.WriteString(cluster)
	}
	return out.String() + "…"
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

// expandedForm writes a block of "name | value" lines a row.
type expandedForm struct {
	w     *bufio.Writer
	names []string
	wide  int
	rows  int
}

func (f *expandedForm) begin(schema *columnar.Schema) {
	f.names = schema.Names()
	for _, n := range f.names {
		f.wide = max(f.wide, uniseg.StringWidth(n))
	}
}

func (f *expandedForm) row(b *columnar.Batch, i int) {
	f.rows++
	head := fmt.Sprintf("-[ row %d ]", f.rows)
	put(f.w, head, strings.Repeat("-", max(f.wide+3-len(head), 3)), "\n")
	for c, s := range tableCells(b, i) {
		pad := strings.Repeat(" ", f.wide-uniseg.StringWidth(f.names[c]))
		put(f.w, strings.TrimRight(f.names[c]+pad+" | "+s, " "), "\n")
	}
}

func (f *expandedForm) end() { put(f.w, rowCount(f.rows), "\n") }

// markdownForm writes a table as GitHub's Markdown has it.
type markdownForm struct {
	w      *bufio.Writer
	schema *columnar.Schema
}

func (f *markdownForm) begin(schema *columnar.Schema) {
	f.schema = schema
	f.line(slices.Clone(schema.Names()))
	for _, field := range schema.Fields {
		if field.Type.IsNumeric() {
			put(f.w, "|--:")
		} else {
			put(f.w, "|---")
		}
	}
	put(f.w, "|\n")
}

func (f *markdownForm) row(b *columnar.Batch, i int) { f.line(tableCells(b, i)) }

func (*markdownForm) end() {}

func (f *markdownForm) line(cells []string) {
	for _, s := range cells {
		put(f.w, "| ", strings.ReplaceAll(s, "|", `\|`), " ")
	}
	put(f.w, "|\n")
}
