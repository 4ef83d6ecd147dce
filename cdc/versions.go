package cdc

import (
	"math/bits"
	"slices"

	"leat/cdc/mysqlrow"
)

// Where several changes of the columns follow each other before they are read, the
// server shows the last version and the state holds the first. A log that names
// its columns tells the ones between; one with binlog_row_metadata=MINIMAL tells
// how many there are, and their types.

// maxVersions bounds how many versions are tried.
const maxVersions = 64

// between gives the versions of n columns that may lie between two: the newer one
// without some of the columns that were added, or the older one without some of
// those that were dropped.
func between(old, now *sourceTable, n int) (list []*sourceTable) {
	for _, x := range [][2]*sourceTable{{now, old}, {old, now}} {
		whole, other := x[0], x[1]
		var own []int // columns that the other one does not have
		for i, c := range whole.columns {
			if other.index(c.Name) < 0 {
				own = append(own, i)
			}
		}
		out := len(whole.columns) - n
		if out <= 0 || out > len(own) || len(own) > 6 { // 6 of them have 64 choices
			continue
		}
		for choice := uint(0); choice < 1<<len(own) && len(list) < maxVersions; choice++ {
			if bits.OnesCount(choice) != out {
				continue
			}
			v := *whole
			v.columns = nil
			for i, c := range whole.columns {
				if k := slices.Index(own, i); k < 0 || choice&(1<<k) == 0 {
					v.columns = append(v.columns, c)
				}
			}
			list = append(list, &v)
		}
	}
	return list
}

// onlyVersion gives a version between those of before and now that fits the log, if all
// that fit have the columns that are read in the same places; else nil.
func (r *Reader) onlyVersion(t *table, now *sourceTable, m mysqlrow.TableMap) *sourceTable {
	if t.was == nil || now == nil {
		return nil
	}
	var found *sourceTable
	for _, src := range between(t.was, now, len(m.Types)) {
		next := &table{def: t.def, port: t.port}
		if next.adopt(src, r.cells()) != nil || !sameOutput(t, next) {
			continue
		}
		if _, err := next.plan.Bind(m); err != nil {
			continue
		}
		if found != nil && !t.samePlaces(found, src) {
			return nil
		}
		found = src
	}
	return found
}

// samePlaces reports whether two versions have all columns that are read in the same places.
func (t *table) samePlaces(a, b *sourceTable) bool {
	names := append(slices.Clone(t.def.Schema.Names()), a.primary...)
	return !slices.ContainsFunc(append(names, t.cut...), func(name string) bool { return a.index(name) != b.index(name) })
}
