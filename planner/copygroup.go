package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
)

// copyGroup is a table of the lake and the tables of the source that go into it.
type copyGroup struct {
	to      CopyName
	members []*connect.Discovered
	rules   *copyRules
	// source and port are where the rows come from, once planned.
	source, port int
	planned      bool
}

// copiesOf gives the names of the copies of a table. The lake marks system tables
// with a $, for which an underscore stands there.
func (y *syncer) copiesOf(d *connect.Discovered) []CopyName {
	var list []CopyName
	if y.spec.Copies != nil {
		list = y.spec.Copies(d.Database, d.Name)
	} else {
		db := y.spec.Database
		if db == "" {
			db = d.Database
		}
		list = []CopyName{{db, d.Name}}
	}
	for i, n := range list {
		list[i].Table = strings.ReplaceAll(n.Table, "$", "_")
		if list[i].Table != n.Table {
			y.s.notice(configs.Notice{
				Key: d.Table.Name, Msg: fmt.Sprintf("table %s goes into %s, because the lake marks system tables with a $", d.Table.Name, fullName(y.target, n.Database, list[i].Table)),
			})
		}
	}
	return list
}

// collect puts the tables of each copy together, in the order in which they come.
func (y *syncer) collect(found []connect.Discovered) []*copyGroup {
	var out []*copyGroup
	for i := range found {
		d := &found[i]
		rules, err := y.rulesOf(d)
		if err != nil {
			y.s.fail(err)
			continue
		}
		for _, to := range y.copiesOf(d) {
			g := y.groups[to]
			if g == nil {
				g = &copyGroup{to: to, rules: rules}
				y.groups[to] = g
				out = append(out, g)
			}
			if err := y.join(g, d, rules); err != nil {
				y.s.fail(err) // whoever asked for both has to choose
			}
		}
	}
	return out
}

func (y *syncer) rulesOf(d *connect.Discovered) (*copyRules, error) {
	if y.spec.rules == nil {
		return &copyRules{}, nil
	}
	return y.spec.rules(y.s, d.Database, d.Name)
}

// reject leaves tables out that only a pattern names, and refuses others.
func (y *syncer) reject(list []*connect.Discovered, err error) {
	if slices.ContainsFunc(list, func(d *connect.Discovered) bool { return !d.Matched }) {
		y.s.fail(err)
		return
	}
	for _, d := range list {
		y.s.result.Left = append(y.s.result.Left, connect.LeftOut{Name: d.Database + "." + d.Name, Reason: err})
	}
}

// join adds a table to a group, if the tables in it can be told apart.
func (y *syncer) join(g *copyGroup, d *connect.Discovered, rules *copyRules) error {
	if len(g.members) == 0 {
		g.members = append(g.members, d)
		return nil
	}
	first, full := g.members[0], fullName(y.target, g.to.Database, g.to.Table)
	e := &diag.Error{Domain: diag.User, Code: diag.CodeExists, Table: d.Table.Name, Msg: fmt.Sprintf("another table goes into %s already", full)}
	merge := y.spec.MergeShards
	switch {
	case merge != nil && !*merge:
		e.Hint = "leave one of them out, or let each go into the database of its own name"
		return e
	case rules != g.rules && y.spec.rules != nil && !sameRules(rules, g.rules):
		e.Msg, e.Hint = fmt.Sprintf("it goes into %s together with %s, but other columns of it", full, first.Table.Name), "let one transform rule match both tables"
		return e
	case !slices.EqualFunc(first.Table.PrimaryKey, d.Table.PrimaryKey, strings.EqualFold) && len(rules.primaryKeys) == 0:
		e.Msg = fmt.Sprintf("it goes into %s together with %s, but its primary key is (%s) and not (%s)", full, first.Table.Name,
			strings.Join(d.Table.PrimaryKey, ", "), strings.Join(first.Table.PrimaryKey, ", "))
		e.Hint = "name the key of the copy with --primary-keys, or leave one of the tables out"
		return e
	}
	apart := slices.ContainsFunc(rules.primaryKeys, func(k string) bool { return rules.tellsApart(k, first, d) })
	switch {
	case apart || len(first.Table.PrimaryKey) == 0 && len(rules.primaryKeys) == 0:
	case merge == nil:
		e.Msg = fmt.Sprintf("it goes into %s together with %s, and nothing in the key tells them apart: rows of equal keys would overwrite each other", full, first.Table.Name)
		e.Hint = "add --metadata-column database_name and --primary-keys database_name,…; or say --merge-shards true if no key is in two of them; or let each go into the database of its own name"
		return e
	default:
		y.s.notice(configs.Notice{
			Key: "shards " + full, Msg: fmt.Sprintf("several tables go into %s, and nothing in the key tells them apart: rows of equal keys overwrite each other; %s keeps them", full, y.apartBy()),
		})
	}
	g.members = append(g.members, d)
	return nil
}

// apartBy says how a key tells shards apart.
func (y *syncer) apartBy() string {
	return y.flag("--metadata-column database_name with --primary-keys database_name,…", "a projection with __schema_name__ AS db and primary-keys: db, …")
}

// tellsApart reports whether a column of the key has another value in each of two tables.
func (r *copyRules) tellsApart(key string, a, b *connect.Discovered) bool {
	meta := ""
	for _, m := range r.metadata {
		if strings.EqualFold(m, key) {
			meta = m
		}
	}
	for _, it := range r.items {
		if it.column != nil && strings.EqualFold(it.column.name, key) {
			meta = r.aliases[it.column.text]
		}
	}
	return meta == "database_name" && a.Database != b.Database || meta == "table_name" && a.Name != b.Name
}

func sameRules(a, b *copyRules) bool {
	texts := func(r *copyRules) string {
		var b strings.Builder
		for _, it := range r.items {
			fmt.Fprint(&b, it.star)
			if it.column != nil {
				fmt.Fprintf(&b, "%s=%s", it.column.name, it.column.text)
			}
			b.WriteByte(0)
		}
		if r.filter != nil {
			b.WriteString(r.filter.text)
		}
		fmt.Fprint(&b, r.metadata, r.primaryKeys, r.partitionKeys, r.noSourceKey, r.softDelete, len(r.options))
		return b.String()
	}
	return texts(a) == texts(b)
}

// aside says why a copy is not written for now: one of its tables cannot go on.
func (g *copyGroup) aside(resume []string) string {
	why := ""
	for _, d := range g.members {
		if slices.Contains(resume, d.Database+"."+d.Name) && d.Aside == "" {
			return ""
		}
		if why == "" {
			why = d.Aside
		}
	}
	return why
}

func (g *copyGroup) gone() bool {
	return !slices.ContainsFunc(g.members, func(d *connect.Discovered) bool { return !d.Gone })
}

// merged gives one definition that holds the rows of all tables of the group:
// columns are put together by name, each with the widest type.
func (g *copyGroup) merged() (*connect.Discovered, error) {
	out := *g.members[0]
	if len(g.members) == 1 {
		return &out, nil
	}
	def := *out.Table
	def.Schema = &columnar.Schema{Fields: slices.Clone(def.Schema.Fields)}
	for _, d := range g.members[1:] {
		out.Bytes += d.Bytes
		for i := range def.Schema.Fields {
			f := &def.Schema.Fields[i]
			if !slices.ContainsFunc(d.Table.Schema.Fields, func(x columnar.Field) bool { return strings.EqualFold(x.Name, f.Name) }) {
				f.Type = f.Type.AsNullable()
			}
		}
		for _, f := range d.Table.Schema.Fields {
			i := slices.IndexFunc(def.Schema.Fields, func(x columnar.Field) bool { return strings.EqualFold(x.Name, f.Name) })
			if i < 0 {
				f.ID, f.Type = len(def.Schema.Fields), f.Type.AsNullable()
				def.Schema.Fields = append(def.Schema.Fields, f)
				continue
			}
			wide, err := union(def.Schema.Fields[i].Type, f.Type)
			if err != nil {
				return nil, &diag.Error{
					Domain: diag.User, Code: diag.CodeTableShape, Table: d.Table.Name,
					Msg:  fmt.Sprintf("column '%s' is %s there and %s in %s, and no type holds both", f.Name, f.Type.AsNullable(), def.Schema.Fields[i].Type.AsNullable(), g.members[0].Table.Name),
					Hint: "leave one of the tables out, give them copies of their own, or map types with --type-mapping to-string",
				}
			}
			def.Schema.Fields[i].Type = wide
		}
	}
	out.Table = &def
	return &out, nil
}

// union gives the type that holds the values of both.
func union(a, b columnar.DataType) (columnar.DataType, error) {
	nullable := a.Nullable || b.Nullable
	if a.EqualIgnoreNull(b) {
		a.Nullable = nullable
		return a, nil
	}
	wide, err := columnar.Widest(a, b)
	if err != nil {
		wide, err = columnar.Widest(b, a)
	}
	wide.Nullable = nullable
	return wide, err
}

// group plans a copy. Tables that only patterns name stay out where it cannot be.
func (y *syncer) group(ctx context.Context, g *copyGroup) {
	if len(g.members) == 0 {
		return
	}
	before := len(y.s.errs)
	y.carry(ctx, g)
	errs := slices.Clone(y.s.errs[before:])
	if len(errs) > 0 && g.aside(y.spec.Resume) == "" {
		again, set := *g, false
		again.members = nil
		for _, d := range g.members {
			if d.Was != nil && (len(y.groups) > 1 || slices.Contains(y.spec.Resume, d.Database+"."+d.Name)) {
				// It cannot go on, or not yet; the others do.
				copied := *d
				copied.Table, copied.Aside = d.Was, diag.Messages(errs)
				d, set = &copied, true
			}
			again.members = append(again.members, d)
		}
		if set {
			y.s.errs = y.s.errs[:before]
			y.carry(ctx, &again)
			g.source, g.port, g.planned = again.source, again.port, again.planned
			errs = slices.Clone(y.s.errs[before:])
		}
	}
	if len(errs) > 0 {
		y.s.errs = y.s.errs[:before]
		y.reject(g.members, errs)
	}
}
