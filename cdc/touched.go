package cdc

import (
	"slices"
	"strings"

	"leat/cdc/mysqlrow"
)

// sameNames reports whether two lists hold the same names, in whatever order.
func sameNames(a, b []string) bool {
	in := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, name) })
	}
	return len(a) == len(b) && !slices.ContainsFunc(a, func(n string) bool { return !in(b, n) })
}

// replaced asks for rows to be read again where a statement drops a column and makes
// another one of its name.
func (e *evolution) replaced(was, next *sourceTable, statement string, arrived map[string]bool) {
	for _, name := range droppedColumns(statement) {
		if was.index(name) >= 0 && next.index(name) >= 0 && !arrived[strings.ToLower(name)] {
			e.reread = true
		}
	}
}

// touched asks for rows to be read again where a statement changes values without
// events: it rounds or cuts them, computes them anew, or numbers rows.
func (e *evolution) touched(was, next *sourceTable, statement string, strict bool) {
	for _, c := range next.columns {
		i := was.index(c.Name)
		if i < 0 || c.Hidden || was.columns[i].DataType == logOnly {
			continue
		}
		inKey := slices.ContainsFunc(next.primary, func(k string) bool { return strings.EqualFold(k, c.Name) })
		counts := c.Counts && !was.columns[i].Counts && redefinesCounter(statement)
		switch {
		case inKey && (counts || !mysqlrow.KeepsValues(was.columns[i], c, strict)):
			e.newKeys = true
		case counts || !mysqlrow.KeepsValues(was.columns[i], c, strict):
			e.reread = true
		}
	}
}

// redefinesCounter reports AUTO_INCREMENT as a property of a column: without a value behind it.
func redefinesCounter(statement string) bool {
	w := words(statement)
	for i := range w {
		if w[i].is("AUTO_INCREMENT") && (i+1 == len(w) || w[i+1].text != "=" && !w[i+1].literal) {
			return true
		}
	}
	return false
}
