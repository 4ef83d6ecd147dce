package query

import (
	"slices"

	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/lakehouse"
)

// where gives the conditions of the filter by which a scan may leave out files:
// comparisons of a column with constants. The filter itself still sees every row
// that is read, so what cannot be said as a condition is left to it. release
// gives back the values.
func (s *Source) where(filter expr.Expr, env expr.Env) (conds []lakehouse.Condition, release func()) {
	release = func() {
		for _, c := range conds {
			if c.Values != nil {
				c.Values.Release()
			}
		}
	}
	if filter == nil || s.table == nil {
		return nil, release
	}
	for _, c := range expr.Conditions(filter) {
		if cond, ok := s.condition(c, env); ok {
			conds = append(conds, cond)
		}
	}
	return conds, release
}

// condition translates one comparison. It declines columns that today's schema
// knows otherwise than the snapshot read, which statistics are compared by, and
// floating numbers, whose statistics writers order in ways of their own.
func (s *Source) condition(c expr.Condition, env expr.Env) (lakehouse.Condition, bool) {
	field := s.Schema.Fields[c.Column]
	today := s.table.Schema.Fields
	at := slices.IndexFunc(today, func(f columnar.Field) bool { return f.ID == field.ID && f.Name == field.Name })
	if at < 0 || !today[at].Type.EqualIgnoreNull(field.Type) {
		return lakehouse.Condition{}, false
	}
	switch c.Op {
	case "IS NULL":
		return lakehouse.Condition{Column: field.Name, Op: lakehouse.IsNull}, true
	case "IS NOT NULL":
		return lakehouse.Condition{Column: field.Name, Op: lakehouse.IsNotNull}, true
	}
	if field.Type.Kind == columnar.Float || field.Type.Kind == columnar.Double || field.Type.IsNested() {
		return lakehouse.Condition{}, false
	}
	values, ok := c.Constants(field.Type, env)
	if !ok {
		return lakehouse.Condition{}, false
	}
	return lakehouse.Condition{Column: field.Name, Op: comparisons[c.Op], Values: values}, true
}

var comparisons = map[string]lakehouse.Op{
	"=": lakehouse.Equal, "IN": lakehouse.Equal, "<": lakehouse.Less, "<=": lakehouse.LessOrEqual,
	">": lakehouse.Greater, ">=": lakehouse.GreaterOrEqual,
}
