package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/lakehouse/spec"
)

// carry plans the table of a group and the way of its rows.
func (y *syncer) carry(ctx context.Context, g *copyGroup) {
	s := y.s
	db, full := g.to.Database, fullName(y.target, g.to.Database, g.to.Table)
	d, err := g.merged()
	if err != nil {
		s.fail(err)
		return
	}
	before := len(s.errs)
	if g.gone() {
		if have, err := y.target.lake.Table(ctx, db, g.to.Table); err == nil && have == nil {
			s.result.Forgotten = append(s.result.Forgotten, "sink:"+full)
			return
		}
	}
	shape, err := s.shape(d, g.rules)
	if err == nil && len(shape.primary) == 0 && y.spec.Keyless == KeylessOut {
		err = &diag.Error{
			Domain: diag.User, Code: diag.CodeNoPrimaryKey, Table: d.Table.Name,
			Msg: "it has no primary key, so updates and deletes would find no row in the lake",
			Hint: "add a primary key over whole columns, " + y.flag(
				"name columns of a key with --primary-keys, take it without updates and deletes with --keyless insert-only, or every change as a further row with --keyless append",
				"name columns of a key by primary-keys in a rule of transform, or take it without updates and deletes by scan.incremental.snapshot.chunk.key-column",
			) + ", or leave the table out",
		}
	}
	if err != nil {
		s.fail(err)
		return
	}
	to := y.place(ctx, g.to, d, shape)
	if to == nil || len(s.errs) > before {
		return
	}
	y.pipe(g, d, shape, to)
}

// place takes an existing table of the same shape, or plans a new one.
func (y *syncer) place(ctx context.Context, at CopyName, d *connect.Discovered, shape *copyShape) *table {
	s, db, full := y.s, at.Database, fullName(y.target, at.Database, at.Table)
	want := shape.schema(y.spec.TableOptions)
	have, err := y.target.lake.Table(ctx, db, at.Table)
	if err != nil {
		s.fail(err)
		return nil
	}
	if have != nil {
		y.keepFixed(full, have, want)
		if sameKey(have.PrimaryKeys, want.PrimaryKeys) {
			want.PrimaryKeys = have.PrimaryKeys // the order of its columns is of no meaning
		}
		if diff := keysDiff(have, want); len(diff) > 0 {
			err := &diag.Error{
				Domain: diag.User, Code: diag.CodeLakeShape, Msg: fmt.Sprintf("table %s exists already with another shape than %s at the source", full, d.Table.Name), Notes: diff,
				Hint: "rename or drop the table of the lake, alter it to fit, or leave the table out",
			}
			if y.spec.IgnoreIncompatible {
				s.result.Left = append(s.result.Left, connect.LeftOut{Name: d.Database + "." + d.Name, Reason: err})
				return nil
			}
			s.fail(err)
			return nil
		}
		return y.existing(ctx, at, have, want, shape)
	}
	_, given := want.Options[configs.Bucket.Key]
	crosses := len(want.PrimaryKeys) > 0 && slices.ContainsFunc(want.PartitionKeys, func(k string) bool { return !slices.Contains(want.PrimaryKeys, k) })
	switch {
	case given || len(want.PrimaryKeys) == 0:
	case crosses:
		want.Options[configs.Bucket.Key] = "-1" // rows of a key move between partitions
	default:
		n := bucketsFor(d.Bytes)
		want.Options[configs.Bucket.Key] = strconv.Itoa(n)
		y.buckets[n] = append(y.buckets[n], db+"."+at.Table)
	}
	err = (catalog.Identifier{Database: db, Table: at.Table}).Check()
	if err == nil {
		err = catalog.Validate(want)
	}
	if err != nil {
		s.fail(inTable(err, d.Table.Name))
		return nil
	}
	s.result.Steps = append(s.result.Steps, Step{Catalog: y.target.name, Warehouse: y.target.warehouse, Database: db, Table: at.Table, Schema: want})
	return s.lakeTable(y.target, db, at.Table, want, diag.Pos{}, nil)
}

// sameKey reports whether two keys have the same columns.
func sameKey(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// keepFixed leaves the options of a table that cannot change any more.
func (y *syncer) keepFixed(full string, have, want *spec.TableSchema) {
	for _, k := range fixedOptions {
		asked, given := want.Options[k]
		v, ok := have.Options[k]
		if given && optionOf(have.Options, k) != asked {
			y.s.notice(configs.Notice{Key: full + " " + k, Msg: fmt.Sprintf("table %s keeps '%s' = '%s': it cannot be '%s' any more", full, k, optionOf(have.Options, k), asked)})
		}
		delete(want.Options, k)
		if ok {
			want.Options[k] = v
		}
	}
}

// existing takes a table as it is, but for options that were given and columns
// that the source does not bring by itself.
func (y *syncer) existing(ctx context.Context, at CopyName, have, want *spec.TableSchema, shape *copyShape) *table {
	s, full := y.s, fullName(y.target, at.Database, at.Table)
	st := Step{Kind: StepAlter, Catalog: y.target.name, Warehouse: y.target.warehouse, Database: at.Database, Table: at.Table, Settings: s.settings}
	for _, k := range slices.Sorted(maps.Keys(want.Options)) {
		if v, ok := have.Options[k]; (!ok || v != want.Options[k]) && !slices.Contains(fixedOptions, k) {
			st.Changes = append(st.Changes, catalog.SetOption{Key: k, Value: want.Options[k]})
			s.notice(configs.Notice{Key: full + " " + k, Msg: fmt.Sprintf("table %s gets the option '%s' = '%s'", full, k, want.Options[k])})
		}
	}
	for _, col := range shape.cols {
		there := slices.ContainsFunc(have.Fields, func(f columnar.Field) bool { return strings.EqualFold(f.Name, col.field.Name) })
		read := slices.Contains(shape.read, col.field.Name)
		if there || shape.rules.all() && col.origin == col.field.Name && !read {
			continue
		}
		st.Changes = append(st.Changes, catalog.AddColumn{Path: []string{col.field.Name}, Type: col.field.Type.AsNullable(), Comment: col.field.Comment})
		s.notice(configs.Notice{Key: full + " " + col.field.Name, Msg: fmt.Sprintf("table %s gets the column %s, with NULL in rows from before", full, col.field.Name)})
	}
	if len(st.Changes) == 0 {
		return s.lakeTable(y.target, at.Database, at.Table, have, diag.Pos{}, nil)
	}
	var err error
	if st.Alter.HasSnapshots, err = y.target.lake.HasSnapshots(ctx, at.Database, at.Table); err != nil {
		s.fail(err)
		return nil
	}
	next, err := catalog.Alter(have, st.Changes, st.Alter)
	if err != nil {
		s.fail(inTable(err, full))
		return nil
	}
	if next == nil {
		next = have
	}
	s.result.Steps = append(s.result.Steps, st)
	return s.lakeTable(y.target, at.Database, at.Table, next, diag.Pos{}, nil)
}

// pipe adds the way of the rows of a group.
func (y *syncer) pipe(g *copyGroup, d *connect.Discovered, shape *copyShape, to *table) {
	b := y.s.builder
	from := shape.port(d, to.def.Schema)
	keyless := len(shape.primary) == 0
	if keyless {
		from.Options = maps.Clone(from.Options)
		from.Options["scan.read-changelog-as-append-only.enabled"] = configs.Value{Text: "true"}
	}
	in := y.source.SourceMode(from)
	sink := newSink(to, y.s.env.Lake)
	if in != connect.InsertOnly && y.s.env.Lake.SinkMode(to.def) == connect.InsertOnly {
		y.s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Table: to.full, Msg: from.Name + " brings updates and deletes, and this table takes inserts only",
			Hint: "leave the option 'merge-engine' out",
		})
		return
	}
	sink.Mode = in
	source, port := b.port(&scan{table: &table{full: from.Name, def: from}, def: from, source: -1}, y.source)
	st := &b.plan.Sources[source].Tables[port]
	st.Follow, st.Aside, st.BadRowsAside, st.Evolution = true, g.aside(y.spec.Resume), y.spec.BadRowsAside, y.spec.Evolution
	st.DeadLetters = y.spec.BadRowsKept
	if keyless {
		st.InsertsOnly = y.spec.Keyless == KeylessInserts
		if !slices.Contains(g.rules.metadata, "row_kind") || st.InsertsOnly {
			y.keyless = append(y.keyless, d.Table.Name)
		}
	}
	st.Compares = y.s.env.Lake.SinkMode(to.def) == connect.All
	st.Evolution.NoAdd = st.Evolution.NoAdd || !shape.rules.all()
	st.Evolution.NoReread = keyless
	if n, err := strconv.Atoi(to.def.Options[configs.Bucket.Key].Text); err == nil {
		st.Evolution.Rekeys = n > 0 && !keyless
	}
	st.Evolution.Keep = slices.Concat(shape.primary, shape.parted, shape.read, listOf(to.def.Options, "bucket-key"), listOf(to.def.Options, "sequence.field"))
	for _, m := range g.members[1:] {
		st.Shards = append(st.Shards, connect.TableName{Database: m.Database, Name: m.Name})
	}
	if y.spec.stateByCopy {
		st.StateKey = "→" + g.to.Database + "." + g.to.Table
	}
	exprs := make([]expr.Expr, len(to.def.Schema.Fields))
	for i, f := range to.def.Schema.Fields {
		exprs[i] = expr.NamedColumn(i, f.Name, f.Type)
	}
	for i := range from.Schema.Fields {
		st.Needed = append(st.Needed, i)
	}
	g.source, g.port, g.planned = source, port, true
	b.plan.Pipes = append(b.plan.Pipes, Pipe{
		UID: fmt.Sprintf("calc-%d", len(b.plan.Pipes)+1), Source: source, Port: port, Sink: len(b.plan.Sinks), Exprs: exprs, Identity: true, In: in,
		Reshape: shape.reshape(y.s, from),
	})
	b.plan.Sinks = append(b.plan.Sinks, sink)
}

// flag words a remedy for who uses flags, or a pipeline file.
func (y *syncer) flag(flags, pipeline string) string {
	if y.spec.stateByCopy {
		return pipeline
	}
	return flags
}

// listOf gives the names that an option lists.
func listOf(v configs.Values, key string) []string {
	var out []string
	for name := range strings.SplitSeq(v[key].Text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
