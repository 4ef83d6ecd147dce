package cdc

import (
	"regexp"
	"slices"
	"strings"
)

// dated is what gh-ost --timestamp-old-table adds to a name.
var dated = regexp.MustCompile(`_\d{14}$`)

// OnlineChangeOf gives the table that name belongs to as a table of an online
// schema change: one to which gh-ost (_t_gho, _t_ghc, _t_del, _t_20260102030405_del) or
// pt-online-schema-change (_t_new, _t_old, with more underscores where those are
// taken) copies t, notes what it does or leaves t behind. "" if isTable knows none.
func OnlineChangeOf(name string, isTable func(name string) bool) string {
	for _, suffix := range []string{"_gho", "_ghc", "_del", "_new", "_old"} {
		base, ok := strings.CutSuffix(name, suffix)
		for ok && strings.HasPrefix(base, "_") {
			base = base[1:]
			for _, t := range []string{base, dated.ReplaceAllString(base, "")} {
				if t != "" && isTable(t) {
					return t
				}
			}
		}
	}
	return ""
}

// onlineChange reports a table of an online schema change of one that is followed.
func (r *Reader) onlineChange(database, name string) bool {
	return OnlineChangeOf(name, func(t string) bool { return len(r.byName[r.server.tableKey(database, t)]) > 0 }) != ""
}

// replaces reports whether a RENAME puts the table by which gh-ost (_t_gho) or
// pt-online-schema-change (_t_new) has changed t in its place.
func replaces(names []name, t *table) bool {
	isTable := func(name string) bool { return strings.EqualFold(name, t.def.Name) }
	return slices.ContainsFunc(names, func(n name) bool {
		shadow := strings.ToLower(n.table)
		return strings.EqualFold(n.schema, t.def.Database) && (strings.HasSuffix(shadow, "_gho") || strings.HasSuffix(shadow, "_new")) &&
			OnlineChangeOf(shadow, isTable) != ""
	})
}
