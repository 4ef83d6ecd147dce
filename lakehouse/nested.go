package lakehouse

import "leat/internal/columnar"

// readsAs reports whether a nested column of an older type can be read as the
// type it has now: fields of rows may have been added, dropped, renamed and
// moved, but no part may have another type. Parquet files find fields by id;
// byName says that a file does so by name, which must then be that of the id.
func readsAs(from, to columnar.DataType, byName bool) bool {
	if from.Kind != to.Kind {
		return false
	}
	switch to.Kind {
	case columnar.Array, columnar.Multiset:
		return readsAs(*from.Elem, *to.Elem, byName)
	case columnar.Map:
		return readsAs(*from.Key, *to.Key, byName) && readsAs(*from.Elem, *to.Elem, byName)
	case columnar.Row:
		for _, f := range to.Fields {
			for _, old := range from.Fields {
				sameID, sameName := old.ID == f.ID, old.Name == f.Name
				if byName && sameID != sameName || sameID && !readsAs(old.Type, f.Type, byName) {
					return false
				}
			}
		}
		return true
	default:
		return from.EqualIgnoreNull(to)
	}
}
