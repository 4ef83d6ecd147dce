package mysqlcdc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"leat/cdc"
	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
)

var _ connect.Discoverer = Connector{}

// Discover describes tables as the server does. A column's type is that of
// mysqlrow.NaturalType. Tables without a primary key are refused.
func (c Connector) Discover(ctx context.Context, spec connect.DiscoverSpec) (*connect.Discovery, error) {
	d := &discovery{spec: spec, connector: c, seen: map[string]bool{}}
	if err := d.checkOptions(); err != nil {
		return nil, err
	}
	cfg, err := connection(spec.Options)
	if err != nil {
		return nil, err
	}
	lister, err := cdc.NewLister(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer lister.Close()
	if err := d.readStored(); err != nil {
		return nil, err
	}
	matched := map[connect.TablePattern]bool{}
	for _, p := range spec.Include {
		var list []cdc.TableInfo
		if p.Regexp() {
			list, err = lister.Matching(p.Matches)
		} else if p.Open() {
			list, err = lister.All(p.Database)
		} else {
			list = make([]cdc.TableInfo, 1)
			list[0], err = lister.One(p.Database, p.Table)
		}
		if err != nil {
			var e *diag.Error
			if d.gone(p) {
				continue
			}
			if diag.DomainOf(err) != diag.User && !(errors.As(err, &e) && e.Code == diag.CodeSourceGrant) {
				return nil, err
			}
			d.errs.Add(err)
			continue
		}
		d.leaveOnlineChanges(list)
		for i := range list {
			d.take(&list[i])
		}
		matched[p] = d.gone(p) || len(list) > 0
	}
	d.checkMatched(matched)
	d.checkExcludes()
	if err := d.errs.Err(); err != nil {
		return nil, err
	}
	return &d.out, nil
}

// discovery is one look at a server.
type discovery struct {
	spec      connect.DiscoverSpec
	connector Connector
	seen      map[string]bool
	// stored are the tables that the job has read before.
	stored []cdc.TableInfo
	// excluded are the patterns of spec.Exclude that left a table out.
	excluded map[connect.TablePattern]bool
	out      connect.Discovery
	errs     diag.List
}

// checkOptions checks the options of all tables at once.
func (d *discovery) checkOptions() error {
	v := maps.Clone(d.spec.Options)
	v[database.Key], v[table.Key] = configs.Value{Text: "database"}, configs.Value{Text: "table"}
	notices, errs := Options.Check(v, configs.CheckOptions{})
	d.out.Notices = notices
	if len(d.spec.TypeModes) > 0 {
		if _, err := mysqlrow.MappingOf(d.spec.TypeModes); err != nil {
			errs = append(errs, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: err.Error(), Hint: "write one of " + strings.Join(mysqlrow.MappingModes(), ", ")})
		}
	}
	if slices.Contains(d.spec.TypeModes, "tinyint1-not-bool") && v[jdbcTinyInt.Key].Text == "true" {
		errs = append(errs, notForCopies(jdbcTinyInt.Key, "it contradicts the type mapping tinyint1-not-bool"))
	}
	if appendOnly.Get(v) {
		errs = append(errs, notForCopies(appendOnly.Key, "a copy follows updates and deletes"))
	}
	if !jdbcTinyInt.Get(v) {
		errs = append(errs, notForCopies(jdbcTinyInt.Key, "a copy of TINYINT(1) is BOOLEAN until the column gets another type"))
	}
	if !newTables.IsSet(d.spec.Options) {
		// Tables come and go in a database.
		d.spec.Options = v
		delete(v, database.Key)
		delete(v, table.Key)
		v[newTables.Key] = configs.Value{Text: "true"}
	}
	return errs.Err()
}

// notForCopies refuses an option that a table of a script may have.
func notForCopies(key, reason string) *diag.Error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeBadOption, Option: key, Msg: "leat refuses it for copies of whole tables: " + reason,
		Hint: "leave the option out, or carry the table by a script",
	}
}

// leaveOnlineChanges leaves out the tables by which tools change another one of the
// list, unless they are asked for by name or the job has read them before.
func (d *discovery) leaveOnlineChanges(list []cdc.TableInfo) {
	names := map[string]bool{}
	for i := range list {
		names[list[i].ID()] = true
	}
	for i := range list {
		t := &list[i]
		of := cdc.OnlineChangeOf(t.Name, func(name string) bool { return names[t.Database+"."+name] })
		if was, _ := d.keeps(t); of == "" || was != nil || d.named(t) || d.seen[t.ID()] || !d.spec.Wants(t.Database, t.Name) {
			continue
		}
		d.seen[t.ID()] = true
		d.out.Left = append(d.out.Left, connect.LeftOut{Name: t.ID(), Reason: &diag.Error{
			Domain: diag.User, Code: diag.CodeSourceTable, Table: t.ID(),
			Msg: "it belongs to an online schema change of " + t.Database + "." + of, Hint: "name it in --include to copy it",
		}})
	}
}

func (d *discovery) take(t *cdc.TableInfo) {
	if d.seen[t.ID()] {
		return
	}
	d.seen[t.ID()] = true
	for _, p := range d.spec.Exclude {
		if p.Matches(t.Database, t.Name) {
			if d.excluded == nil {
				d.excluded = map[connect.TablePattern]bool{}
			}
			d.excluded[p] = true
			return
		}
	}
	was, why := d.keeps(t)
	if was != nil && why != "" {
		d.out.Tables = append(d.out.Tables, connect.Discovered{Database: t.Database, Name: t.Name, Table: was, Was: was, Aside: why})
		return
	}
	def, err := d.readable(t)
	if err != nil && was != nil {
		d.out.Tables = append(d.out.Tables, connect.Discovered{Database: t.Database, Name: t.Name, Table: was, Was: was, Aside: diag.Messages(err)})
		return
	}
	if err != nil {
		if !d.named(t) {
			d.out.Left = append(d.out.Left, connect.LeftOut{Name: t.ID(), Reason: err})
		} else {
			d.errs.Add(err)
		}
		return
	}
	d.out.Tables = append(d.out.Tables, connect.Discovered{
		Database: t.Database, Name: t.Name, Comment: t.Comment, Bytes: t.Bytes, Table: def, Matched: !d.named(t) && was == nil, Was: was,
	})
}

// readable gives the definition of a table that the user may read.
func (d *discovery) readable(t *cdc.TableInfo) (*connect.Table, error) {
	if t.Denied {
		return nil, t.Grant()
	}
	def, errs := d.define(t)
	return def, errs.Err()
}

// readStored looks which tables the job has read before.
func (d *discovery) readStored() (err error) {
	if d.spec.Stored == nil {
		return nil
	}
	if d.stored, err = cdc.StoredTables(d.spec.Stored); err == nil {
		d.out.DeadLetters, err = cdc.StoredDeadLetters(d.spec.Stored)
	}
	return err
}

// DeadLetterSchema is that of the table of rows that cannot be read.
func (Connector) DeadLetterSchema() *columnar.Schema { return cdc.DeadLetterSchema() }

// named reports whether a table was asked for by its name.
func (d *discovery) named(t *cdc.TableInfo) bool {
	return slices.ContainsFunc(d.spec.Include, func(p connect.TablePattern) bool { return !p.Open() && p.Matches(t.Database, t.Name) })
}

// keeps gives the definition by which the job has read a table before, nil for a
// new one, and why it is set aside.
func (d *discovery) keeps(t *cdc.TableInfo) (was *connect.Table, aside string) {
	i := slices.IndexFunc(d.stored, func(x cdc.TableInfo) bool { return x.ID() == t.ID() })
	if i < 0 {
		return nil, ""
	}
	def, errs := d.define(&d.stored[i])
	if len(errs) > 0 {
		return nil, ""
	}
	if why, set := d.spec.Aside[t.ID()]; set {
		return def, why
	}
	if slices.Contains(d.spec.Resume, t.ID()) {
		return def, ""
	}
	return def, d.stored[i].Aside
}

// gone takes the tables of a pattern that the job has read and the server has no
// more, and reports whether there are any: what the log holds of them is still read.
func (d *discovery) gone(p connect.TablePattern) bool {
	any := false
	for i := range d.stored {
		t := &d.stored[i]
		if !p.Matches(t.Database, t.Name) || d.seen[t.ID()] || !d.spec.Wants(t.Database, t.Name) {
			continue
		}
		def, errs := d.define(t)
		if len(errs) > 0 {
			continue
		}
		d.seen[t.ID()], any = true, true
		_, why := d.keeps(t)
		d.out.Tables = append(d.out.Tables, connect.Discovered{Database: t.Database, Name: t.Name, Gone: true, Table: def, Was: def, Aside: why})
	}
	return any
}

// define makes the definition of a table, or says all that is in the way.
func (d *discovery) define(t *cdc.TableInfo) (*connect.Table, diag.List) {
	if e := t.Unread(); e != nil {
		return nil, diag.List{e}
	}
	types, err := mysqlrow.MappingOf(d.spec.TypeModes)
	if err != nil {
		return nil, diag.List{{Domain: diag.User, Code: diag.CodeBadOption, Msg: err.Error(), Hint: "write one of " + strings.Join(mysqlrow.MappingModes(), ", ")}}
	}
	var errs diag.List
	def := &connect.Table{Name: t.ID(), Schema: &columnar.Schema{}, PrimaryKey: t.PrimaryKey, Metadata: map[string]string{}, Options: maps.Clone(d.spec.Options)}
	// The server's names mean themselves, whatever signs they hold.
	def.Options[database.Key], def.Options[table.Key] = configs.Value{Text: regexp.QuoteMeta(t.Database)}, configs.Value{Text: regexp.QuoteMeta(t.Name)}
	for _, c := range t.Columns {
		typ, err := types.Type(c)
		if err != nil {
			from := len(errs)
			errs.Add(err)
			for _, e := range errs[from:] {
				e.Table, e.Hint = t.ID(), "leave the table out, or carry it by a script whose CREATE TABLE statement leaves the column out"
			}
			continue
		}
		def.Schema.Fields = append(def.Schema.Fields, columnar.Field{ID: len(def.Schema.Fields), Name: c.Name, Type: typ, Comment: c.Comment})
	}
	if len(t.PrimaryKey) == 0 && !d.spec.Keyless {
		errs = append(errs, &diag.Error{
			Domain: diag.User, Code: diag.CodeNoPrimaryKey, Table: t.ID(),
			Msg: "it has no primary key, so updates and deletes would find no row in the lake", Hint: "add a primary key over whole columns, name columns of a key with --primary-keys, take it with --keyless insert-only or append, or leave the table out",
		})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	errs.Add(d.connector.CheckTable(def))
	if d.spec.Keyless {
		errs = slices.DeleteFunc(errs, func(e *diag.Error) bool { return e.Code == diag.CodeNoPrimaryKey })
	}
	return def, errs
}

// checkMatched refuses regular expressions that match no table.
func (d *discovery) checkMatched(matched map[connect.TablePattern]bool) {
	for _, p := range d.spec.Include {
		if p.Regexp() && !matched[p] && len(d.errs) == 0 && len(d.out.Tables)+len(d.out.Left) == 0 {
			d.errs = append(d.errs, &diag.Error{
				Domain: diag.User, Code: diag.CodeSourceTable, Msg: fmt.Sprintf("no table matches %s, or the user may not see it", p),
				Hint: "correct the patterns, which have to match whole names, and check that the user has SELECT on the tables",
			})
		}
	}
}

// checkExcludes tells of exclusions that leave nothing out.
func (d *discovery) checkExcludes() {
	for _, p := range d.spec.Exclude {
		if !d.excluded[p] {
			d.out.Notices = append(d.out.Notices, configs.Notice{Key: "exclude " + p.String(), Msg: fmt.Sprintf("%s leaves no table out", p)})
		}
	}
	if len(d.errs) == 0 && len(d.out.Tables) == 0 && len(d.out.Left) > 0 {
		for _, l := range d.out.Left {
			d.errs.Add(l.Reason)
		}
		return
	}
	if len(d.errs) == 0 && len(d.out.Tables) == 0 {
		names := make([]string, len(d.spec.Include))
		for i, p := range d.spec.Include {
			names[i] = p.String()
		}
		d.errs = append(d.errs, &diag.Error{
			Domain: diag.User, Code: diag.CodeSourceTable, Msg: fmt.Sprintf("all tables of %s are excluded", strings.Join(names, ", ")), Hint: "exclude fewer",
		})
	}
}
