package cdc

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// RowCondition compares a column with constants: Op is =, IN, <, <=, >, >=, IS NULL
// or IS NOT NULL. Values are the constants as CAST writes them as text.
type RowCondition struct {
	Column int
	Op     string
	Values []string
}

// where gives the conditions that the server can look at, in its SQL; "" for none.
// The server may let more rows pass, as it compares texts by their collation, but
// none fewer: conditions for which that is not sure are left out.
func (r *Rows) where(t *table, conds []RowCondition) string {
	var parts []string
	for _, c := range conds {
		field := t.def.Schema.Fields[c.Column]
		j := t.src.index(field.Name)
		if t.def.metadata(c.Column) != "" || j < 0 {
			continue
		}
		if sql, ok := r.comparison(&t.src.columns[j], field.Type, c); ok {
			parts = append(parts, mysqlrow.QuoteName(t.src.columns[j].Name)+" "+sql)
		}
	}
	return strings.Join(parts, " AND ")
}

func (r *Rows) comparison(col *mysqlrow.Column, declared columnar.DataType, c RowCondition) (string, bool) {
	quote, ok := comparable(col, declared)
	if !ok {
		return "", false
	}
	days := declared.Kind == columnar.Date || declared.Kind == columnar.Timestamp
	switch {
	case days && !r.comparesDays(col, declared, c):
		return "", false
	case c.Op == "IS NULL" || c.Op == "IS NOT NULL":
		return c.Op, true
	case declared.IsText() && c.Op != "=" && c.Op != "IN":
		return "", false // the order is that of the collation
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		if !utf8.ValidString(v) || strings.ContainsRune(v, utf8.RuneError) {
			return "", false // bytes that are no text read as this, too
		}
		values[i] = fmt.Sprintf(quote, v)
	}
	if c.Op == "IN" {
		return "IN (" + strings.Join(values, ", ") + ")", true
	}
	return c.Op + " " + values[0], true
}

// comparable reports whether values of a column compare at the server as they do
// after they were read as declared, and how a constant is written.
func comparable(col *mysqlrow.Column, declared columnar.DataType) (quote string, ok bool) {
	switch col.DataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return "%s", declared.IsInteger() || declared.Kind == columnar.Decimal
	case "decimal":
		return "%s", declared.Kind == columnar.Decimal && declared.Scale >= col.Scale
	case "date":
		return "DATE '%s'", declared.Kind == columnar.Date
	case "datetime":
		return "TIMESTAMP '%s'", declared.Kind == columnar.Timestamp && declared.Precision >= col.FractionDigits
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return "_utf8mb4 X'%X'", declared.IsText()
	default:
		return "", false
	}
}

// comparesDays says so of dates, some of which do not exist: those are read as
// NULL, which meets no comparison, or as the first second of 1970.
func (r *Rows) comparesDays(col *mysqlrow.Column, declared columnar.DataType, c RowCondition) bool {
	for _, v := range c.Values {
		// Years of four digits, and no more of a fraction than the server knows.
		if len(v) > len("2026-01-01 00:00:00.000000") || len(v) < 10 || v[4] != '-' {
			return false
		}
	}
	if r.reader.cfg.ZeroDate == mysqlrow.ZeroDateNull && col.Nullable && declared.Nullable {
		return c.Op != "IS NULL"
	}
	switch c.Op {
	case "=", "IN", ">", ">=":
		return !slices.ContainsFunc(c.Values, func(v string) bool { return v < "1970-01-02" })
	default:
		return false
	}
}
