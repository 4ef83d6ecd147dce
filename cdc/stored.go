package cdc

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"leat/cdc/mysqlrow"
)

// StoredTables describes the tables that the state of a reader knows, in order of
// their names, as they were at the place of that state.
func StoredTables(data json.RawMessage) ([]TableInfo, error) {
	s, err := readState(data)
	if err != nil {
		return nil, err
	}
	out := make([]TableInfo, 0, len(s.Tables))
	for _, key := range slices.Sorted(maps.Keys(s.Tables)) {
		ts := s.Tables[key]
		if ts.Database == "" {
			ts.Database, ts.Name, _ = strings.Cut(key, ".")
		}
		// Of a column that only the log told of nobody knows the type.
		columns := slices.DeleteFunc(slices.Clone(ts.Columns), func(c mysqlrow.Column) bool { return c.DataType == logOnly })
		t := sourceTable{columns: columns, primaryKey: ts.Primary}
		info := t.info(ts.Database, ts.Name)
		if ts.Aside != nil {
			info.Aside = ts.Aside.Reason
		}
		out = append(out, info)
	}
	return out, nil
}
