package cdc

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"leat/configs"
	"leat/internal/diag"
)

// Databases of the server itself, which no pattern means.
const systemSchemas = "('mysql', 'sys', 'performance_schema', 'information_schema')"

// realTables is true of tables whose changes the log holds: no views, no sequences.
const realTables = "TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"

// wholeName compiles a pattern that has to match all of a name.
func wholeName(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("reading the pattern '%s': %w", pattern, errors.Unwrap(err))
	}
	return re, nil
}

// resolve makes the tables of the definitions: one of each name, as many as
// there are of each pattern.
func (r *Reader) resolve(n *conn) error {
	r.tables = r.tables[:0]
	var all resultTable
	var errs diag.List
	defs, ports := r.cfg.defs()
	for i, def := range defs {
		if def.TakesDeadLetters {
			r.letters = &letters{port: ports[i], name: def.Label}
			continue
		}
		if def.Aside != "" {
			continue
		}
		if !def.Pattern {
			r.tables = append(r.tables, &table{def: def, port: ports[i]})
			continue
		}
		if all.rows == nil {
			var err error
			if all, err = n.query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE " + realTables + " AND TABLE_SCHEMA NOT IN " +
				systemSchemas + " ORDER BY TABLE_SCHEMA, TABLE_NAME"); err != nil {
				return err
			}
		}
		found, err := def.matching(all)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			errs = append(errs, def.noMatch(n, all))
		}
		for _, d := range found {
			r.tables = append(r.tables, &table{def: d, port: ports[i], shard: true})
		}
	}
	return errs.Err()
}

// matching gives the definition once for each table that its patterns match.
func (t *Table) matching(all resultTable) ([]Table, error) {
	database, err := wholeName(t.Database)
	if err != nil {
		return nil, err
	}
	name, err := wholeName(t.Name)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, row := range all.rows {
		if database.MatchString(row[0]) && name.MatchString(row[1]) {
			d := *t
			d.Database, d.Name, d.Pattern = row[0], row[1], false
			out = append(out, d)
		}
	}
	return out, nil
}

// noMatch says that no table matches, and which one may be meant.
func (t *Table) noMatch(n *conn, all resultTable) *diag.Error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceTable, Table: t.Label, Pos: t.Pos,
		Msg:  fmt.Sprintf("no table at MySQL %s matches database-name '%s' and table-name '%s', or the user may not see it", n.addr, t.Database, t.Name),
		Hint: "correct the patterns, which have to match whole names, and check that the user has SELECT on the tables",
	}
	var names []string
	for _, row := range all.rows {
		names = append(names, row[0]+"."+row[1])
	}
	if near := configs.Nearest(t.Database+"."+t.Name, names); near != "" {
		e.Notes = append(e.Notes, "a table with a similar name: "+near)
	}
	return e
}

// stillThere refuses a state that knows a table of a pattern that the server has no more.
func (r *Reader) stillThere(s *state) error {
	known := map[string]bool{}
	for _, key := range r.stateKeys() {
		known[key] = true
	}
	for key := range s.Tables {
		if known[key] {
			continue
		}
		for i := range r.cfg.Tables {
			def := &r.cfg.Tables[i]
			if !def.Pattern {
				continue
			}
			db, name, _ := strings.Cut(key, ".")
			found, err := def.matching(resultTable{rows: [][]string{{db, name}}})
			if err != nil {
				return err
			}
			if len(found) > 0 {
				t := &table{def: found[0]}
				return t.gone(dropped, "DROP TABLE "+key+" (while the job was down)")
			}
		}
	}
	return nil
}
