package sqlfront

import (
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// Format prints a statement in canonical form, without the closing ";". Values
// with ${NAME} in them are printed as they were written.
func Format(st Statement) string {
	var w writer
	w.statement(st)
	return w.b.String()
}

// FormatExpr prints an expression with no more parentheses than it needs.
func FormatExpr(x Expr) string {
	var w writer
	w.expr(x, 0)
	return w.b.String()
}

// FormatQuery prints a query on one line.
func FormatQuery(q *Query) string {
	w := writer{sep: " "}
	w.query(q)
	return w.b.String()
}

// FormatType prints a type as Flink's DDL writes it.
func FormatType(t columnar.DataType) string {
	var w writer
	w.dataType(t)
	return w.b.String()
}

// QuoteName prints a name, in backticks where Flink needs them.
func QuoteName(name string) string {
	bare := name != "" && isNameStart(rune(name[0])) && !reserved[strings.ToUpper(name)] && !grammarWord[strings.ToUpper(name)]
	for i := 0; i < len(name) && bare; i++ {
		bare = isNamePart(name[i])
	}
	if bare {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// QuoteString prints a string literal.
func QuoteString(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	return "'" + strings.ReplaceAll(s, "${", "$${") + "'"
}

// writer prints; sep stands between the clauses of a query.
type writer struct {
	b   strings.Builder
	sep string
}

func (w *writer) put(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

// putIf writes s if ok.
func (w *writer) putIf(ok bool, s string) {
	if ok {
		w.put(s)
	}
}

// list writes n items with sep between them.
func (w *writer) list(n int, sep string, item func(i int)) {
	for i := range n {
		w.putIf(i > 0, sep)
		item(i)
	}
}

func (w *writer) object(n ObjectName) {
	w.list(len(n.Parts), ".", func(i int) { w.put(QuoteName(n.Parts[i].Text)) })
}

func (w *writer) names(list []Name) {
	w.put("(")
	w.list(len(list), ", ", func(i int) { w.put(QuoteName(list[i].Text)) })
	w.put(")")
}

func (w *writer) value(o Option) {
	if o.Raw != "" {
		w.put(o.Raw)
		return
	}
	w.put(QuoteString(o.Value))
}

// options writes ('key' = 'value', …), one a line if lines is set.
func (w *writer) options(list Options, lines bool) {
	before, between, after := "(", ", ", ")"
	if lines && len(list) > 0 {
		before, between, after = "(\n  ", ",\n  ", "\n)"
	}
	w.put(before)
	w.list(len(list), between, func(i int) {
		w.put(QuoteString(list[i].Key), " = ")
		w.value(list[i])
	})
	w.put(after)
}

func (w *writer) comment(c *string) {
	if c != nil {
		w.put(" COMMENT ", QuoteString(*c))
	}
}

func (w *writer) hints(list []Hint) {
	if len(list) == 0 {
		return
	}
	w.put(" /*+ ")
	w.list(len(list), ", ", func(i int) {
		w.put(list[i].Name)
		switch {
		case list[i].Options != nil:
			w.options(list[i].Options, false)
		case list[i].Args != "":
			w.put("(", list[i].Args, ")")
		}
	})
	w.put(" */")
}

func (w *writer) dataType(t columnar.DataType) {
	defer w.putIf(!t.Nullable, " NOT NULL")
	switch t.Kind {
	case columnar.Array, columnar.Multiset:
		w.put(map[columnar.Kind]string{columnar.Array: "ARRAY<", columnar.Multiset: "MULTISET<"}[t.Kind])
		w.dataType(*t.Elem)
		w.put(">")
	case columnar.Map:
		w.put("MAP<")
		w.dataType(*t.Key)
		w.put(", ")
		w.dataType(*t.Elem)
		w.put(">")
	case columnar.Row:
		w.put("ROW<")
		w.list(len(t.Fields), ", ", func(i int) {
			w.put(QuoteName(t.Fields[i].Name), " ")
			w.dataType(t.Fields[i].Type)
			if t.Fields[i].Comment != "" {
				w.put(" ", QuoteString(t.Fields[i].Comment))
			}
		})
		w.put(">")
	case columnar.TimestampLTZ:
		w.put("TIMESTAMP_LTZ(", strconv.Itoa(t.Precision), ")")
	default:
		w.put(t.AsNullable().String())
	}
}
