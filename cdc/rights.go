package cdc

import "strings"

// readRights are the databases all of which the account may read for sure, by its
// grants: of their tables nobody has to be asked.
type readRights struct {
	everything bool
	databases  map[string]bool
}

// all reports whether the account may read every table of a database, whole.
func (r *readRights) all(database string) bool {
	return r != nil && (r.everything || r.databases[database])
}

// readRights reads the grants of the account. What comes by a role, or by a
// pattern, is not counted; nor is anything where parts were revoked.
func (n *conn) readRights() (*readRights, error) {
	t, err := n.query("SHOW GRANTS")
	if err != nil {
		return nil, err
	}
	grants := make([]string, len(t.rows))
	for i, r := range t.rows {
		grants[i] = r[0]
	}
	return rightsOf(grants), nil
}

// rightsOf reads what SHOW GRANTS prints.
func rightsOf(grants []string) *readRights {
	out := &readRights{databases: map[string]bool{}}
	for _, g := range grants {
		grant, ok := strings.CutPrefix(g, "GRANT ")
		if !ok {
			return &readRights{} // REVOKE
		}
		privileges, on, ok := strings.Cut(grant, " ON ")
		if !ok || !grantsSelect(privileges) {
			continue
		}
		on, _, _ = strings.Cut(on, " TO ")
		database, ok := strings.CutSuffix(on, ".*")
		switch {
		case !ok:
		case database == "*":
			out.everything = true
		case !strings.Contains(database, "%"):
			name := strings.ReplaceAll(strings.Trim(database, "`"), "``", "`")
			out.databases[strings.NewReplacer(`\_`, "_", `\\`, `\`).Replace(name)] = true
		}
	}
	return out
}

// grantsSelect reports whether a list of privileges has SELECT on whole tables.
func grantsSelect(list string) bool {
	for p := range strings.SplitSeq(strings.ToUpper(list), ",") {
		if p = strings.TrimSpace(p); p == "SELECT" || p == "ALL PRIVILEGES" {
			return true
		}
	}
	return false
}
