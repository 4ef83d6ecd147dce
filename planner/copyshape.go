package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/lakehouse/spec"
)

// copyRules say what the copy of a table holds.
type copyRules struct {
	// items are the columns in order; nil is all of the source.
	items []copyItem
	// metadata are columns of that name that say where a row is from.
	metadata []string
	// filter keeps rows for which it is TRUE; nil keeps all.
	filter *copyColumn
	// aliases are further names of metadata in expressions, to their keys.
	aliases map[string]string
	// primaryKeys and partitionKeys are asked for. strict refuses a table that lacks
	// one of them, or what a computed column reads; else the table goes without.
	primaryKeys, partitionKeys []string
	strict                     bool
	// strictKeys refuses what lacks a column of the keys alone.
	strictKeys bool
	// primaryAt and partitionAt are where a file asks for them.
	primaryAt, partitionAt diag.Pos
	// noSourceKey leaves the primary key of the source out.
	noSourceKey bool
	options     configs.Values
	softDelete  bool
	// replaces lets an item take the place of the column of the source of its name.
	replaces bool
}

// copyItem is all columns of the source, or one column.
type copyItem struct {
	star   bool
	column *copyColumn
}

// all reports whether every column of the source is part of the copy.
func (r *copyRules) all() bool {
	return r.items == nil || slices.ContainsFunc(r.items, func(i copyItem) bool { return i.star })
}

// metadataTypes are the columns that a copy may have beside those of its source.
var metadataTypes = map[string]columnar.DataType{
	"database_name": columnar.StringType().NotNull(),
	"table_name":    columnar.StringType().NotNull(),
	"op_ts":         columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}.NotNull(),
	"row_kind":      columnar.StringType().NotNull(),
}

// shapedColumn is a column of a copy: one of the source by its name there, a
// metadata key, or computed.
type shapedColumn struct {
	field        columnar.Field
	origin, meta string
	computed     *copyColumn
}

// copyShape is the copy of one table, or of several that go into one.
type copyShape struct {
	rules *copyRules
	cols  []shapedColumn
	// inputs are columns of the source and metadata that only expressions read.
	inputs []shapedColumn
	// read names the columns of the copy that expressions read.
	read     []string
	primary  []string
	parted   []string
	comment  string
	fallback bool
}

// shape applies the rules to a table.
func (s *Session) shape(d *connect.Discovered, rules *copyRules) (*copyShape, error) {
	c := &copyShape{rules: rules, comment: d.Comment}
	src := d.Table.Schema.Fields
	rel, keys := rules.relation(src)
	items := rules.items
	if items == nil {
		items = []copyItem{{star: true}}
	}
	named := map[string]bool{}
	for _, it := range items {
		if !it.star && rules.replaces {
			named[strings.ToLower(it.column.name)] = true
		}
	}
	used, refs := map[int]bool{}, []int{}
	for _, it := range items {
		if it.star {
			for i, f := range src {
				if !named[strings.ToLower(f.Name)] && !used[i] {
					used[i] = true
					c.cols = append(c.cols, shapedColumn{field: f, origin: f.Name})
				}
			}
			continue
		}
		x, err := it.column.bind(s, &scope{rel: rel})
		if err != nil {
			if !rules.strict && codeOf(err) == diag.CodeUnknownColumn {
				s.notice(configs.Notice{Key: d.Table.Name + " " + it.column.name, Msg: fmt.Sprintf("table %s has no column '%s': %s", d.Table.Name, it.column.name, diag.Messages(err))})
				continue
			}
			return nil, inTable(err, d.Table.Name)
		}
		col := shapedColumn{field: columnar.Field{Name: it.column.name, Type: storable(x.Type().AsNullable())}}
		switch i, plain := expr.IsColumn(x); {
		case plain && i < len(src) && !used[i]:
			used[i] = true
			col.field.Type, col.field.Comment, col.origin = src[i].Type, src[i].Comment, src[i].Name
		case plain && i >= len(src):
			col.field.Type, col.meta = x.Type(), keys[i-len(src)]
		default:
			col.computed = it.column
			refs = append(refs, expr.References(x)...)
			rel.columns = append(rel.columns, relColumn{name: it.column.name, expr: x})
		}
		c.cols = append(c.cols, col)
	}
	for _, m := range rules.metadata {
		c.cols = append(c.cols, shapedColumn{field: columnar.Field{Name: m, Type: metadataTypes[m]}, meta: m})
	}
	if rules.filter != nil {
		x, err := rules.filter.bind(s, &scope{rel: rel})
		if err != nil {
			return nil, inTable(err, d.Table.Name)
		}
		refs = append(refs, expr.References(x)...)
	}
	if err := c.checkNames(d.Table.Name); err != nil {
		return nil, err
	}
	c.takeInputs(src, keys, refs)
	return c, c.chooseKeys(s, d)
}

func codeOf(err error) diag.Code {
	var l diag.List
	l.Add(err)
	return l[0].Code
}

// relation is what expressions may name: the columns of the source, then the
// metadata, whose keys it gives.
func (r *copyRules) relation(src []columnar.Field) (*relation, []string) {
	rel := &relation{}
	for i, f := range src {
		rel.columns = append(rel.columns, relColumn{name: f.Name, expr: expr.NamedColumn(i, f.Name, f.Type)})
	}
	names := map[string]string{}
	for _, key := range r.metadata {
		names[key] = key
	}
	maps.Copy(names, r.aliases)
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		key := names[name]
		rel.columns = append(rel.columns, relColumn{name: name, expr: expr.NamedColumn(len(src)+len(keys), name, metadataTypes[key])})
		keys = append(keys, key)
	}
	return rel, keys
}

func (c *copyShape) checkNames(table string) error {
	seen := map[string]bool{}
	for _, col := range c.cols {
		k := strings.ToLower(col.field.Name)
		if seen[k] {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeTableShape, Table: table, Msg: fmt.Sprintf("its copy would have two columns '%s'", col.field.Name), Hint: "give the computed or metadata column another name",
			}
		}
		seen[k] = true
	}
	return nil
}

// takeInputs finds what expressions read: columns of the copy stay as they are,
// others come along without being written.
func (c *copyShape) takeInputs(src []columnar.Field, keys []string, refs []int) {
	slices.Sort(refs)
	for _, i := range slices.Compact(refs) {
		in := shapedColumn{}
		if i < len(src) {
			in.origin, in.field = src[i].Name, columnar.Field{Name: dataflow.HiddenPrefix + src[i].Name, Type: src[i].Type.AsNullable()}
		} else {
			in.meta = keys[i-len(src)]
			in.field = columnar.Field{Name: dataflow.HiddenPrefix + in.meta, Type: metadataTypes[in.meta]}
		}
		at := slices.IndexFunc(c.cols, func(x shapedColumn) bool { return x.computed == nil && x.origin == in.origin && x.meta == in.meta })
		if at >= 0 {
			c.read = append(c.read, c.cols[at].field.Name)
			continue
		}
		c.inputs = append(c.inputs, in)
	}
}

// find gives the column of the copy called name without case, -1 if there is none.
func (c *copyShape) find(name string) int {
	return slices.IndexFunc(c.cols, func(x shapedColumn) bool { return strings.EqualFold(x.field.Name, name) })
}

// named gives the columns that a list of names means, nil if one is missing.
func (c *copyShape) named(list []string) (names []string, missing string) {
	for _, n := range list {
		i := c.find(n)
		if i < 0 {
			return nil, n
		}
		names = append(names, c.cols[i].field.Name)
	}
	return names, ""
}

func (c *copyShape) chooseKeys(s *Session, d *connect.Discovered) error {
	lacks := func(option, name string, at diag.Pos) error {
		have := make([]string, len(c.cols))
		for i, x := range c.cols {
			have[i] = x.field.Name
		}
		e := &diag.Error{
			Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: at, Table: d.Table.Name, Msg: fmt.Sprintf("%s names '%s', which is no column of the copy", option, name),
			Notes: []string{"columns: " + strings.Join(have, ", ")}, Hint: "name columns of the source, computed ones or metadata columns",
		}
		return e
	}
	names, missing := c.named(c.rules.primaryKeys)
	if missing != "" && (c.rules.strict || c.rules.strictKeys) {
		return lacks("primary_keys", missing, c.rules.primaryAt)
	}
	c.primary = names
	if missing != "" {
		c.fallback = true
		s.notice(configs.Notice{Key: "primary_keys " + d.Table.Name, Msg: fmt.Sprintf("table %s has no column '%s': its copy keeps the primary key of the source", d.Table.Name, missing)})
	}
	if len(c.primary) == 0 && !c.rules.noSourceKey {
		for _, k := range d.Table.PrimaryKey {
			i := slices.IndexFunc(c.cols, func(x shapedColumn) bool { return strings.EqualFold(x.origin, k) })
			if i < 0 {
				return lacks("the primary key of the source", k, diag.Pos{})
			}
			c.primary = append(c.primary, c.cols[i].field.Name)
		}
	}
	if names, missing = c.named(c.rules.partitionKeys); missing != "" && (c.rules.strict || c.rules.strictKeys) {
		return lacks("partition_keys", missing, c.rules.partitionAt)
	}
	c.parted = names
	if missing != "" {
		s.notice(configs.Notice{Key: "partition_keys " + d.Table.Name, Msg: fmt.Sprintf("table %s has no column '%s': its copy is not partitioned", d.Table.Name, missing)})
	}
	return nil
}

// schema is the definition of a new copy.
func (c *copyShape) schema(options configs.Values) *spec.TableSchema {
	ts := &spec.TableSchema{Version: 3, PrimaryKeys: c.primary, PartitionKeys: c.parted, Options: map[string]string{}, Comment: c.comment, HighestFieldID: len(c.cols) - 1}
	for i, x := range c.cols {
		f := x.field
		f.ID = i
		if slices.Contains(c.primary, f.Name) {
			f.Type = f.Type.NotNull()
		}
		ts.Fields = append(ts.Fields, f)
	}
	for _, v := range []configs.Values{options, c.rules.options} {
		for k, o := range v {
			ts.Options[k] = o.Text
		}
	}
	return ts
}

// port gives what the source reads for a copy whose columns are those of the lake.
func (c *copyShape) port(d *connect.Discovered, lake *columnar.Schema) *connect.Table {
	from := *d.Table
	from.Schema = &columnar.Schema{Fields: slices.Clone(lake.Fields)}
	from.PrimaryKey = c.primary
	from.Metadata, from.Origin = map[string]string{}, map[string]string{}
	for _, f := range lake.Fields {
		switch i := c.find(f.Name); {
		case i < 0 && !c.rules.all(), i >= 0 && c.cols[i].computed != nil:
			from.Metadata[f.Name] = connect.ComputedColumn
		case i < 0:
		case c.cols[i].meta != "":
			from.Metadata[f.Name] = c.cols[i].meta
		case c.cols[i].origin != f.Name:
			from.Origin[f.Name] = c.cols[i].origin
		}
	}
	for _, in := range c.inputs {
		from.Schema.Fields = append(from.Schema.Fields, in.field)
		if in.meta != "" {
			from.Metadata[in.field.Name] = in.meta
		}
	}
	return &from
}

// reshape computes rows of the port; nil where they are those of the lake.
func (c *copyShape) reshape(s *Session, from *connect.Table) *Reshape {
	computed := slices.ContainsFunc(c.cols, func(x shapedColumn) bool { return x.computed != nil })
	if !computed && len(c.inputs) == 0 && c.rules.filter == nil && !c.rules.softDelete {
		return nil
	}
	r := &Reshape{SoftDelete: c.rules.softDelete}
	for _, x := range c.cols {
		if x.computed != nil {
			r.Text = append(r.Text, x.field.Name+" = "+x.computed.text)
		}
	}
	if c.rules.filter != nil {
		r.Text = append(r.Text, "where "+c.rules.filter.text)
	}
	if c.rules.softDelete {
		r.Text = append(r.Text, "deleted rows stay")
	}
	metadata, origins := from.Metadata, from.Origin
	r.Build = func(in *columnar.Schema) (*columnar.Schema, []expr.Expr, expr.Expr, error) {
		return c.build(s, in, metadata, origins)
	}
	return r
}

// build binds the expressions over one form of the port.
func (c *copyShape) build(s *Session, in *columnar.Schema, metadata, origins map[string]string) (*columnar.Schema, []expr.Expr, expr.Expr, error) {
	rel := &relation{}
	for i, f := range in.Fields {
		x := expr.NamedColumn(i, strings.TrimPrefix(f.Name, dataflow.HiddenPrefix), f.Type)
		key := metadata[f.Name]
		switch {
		case key == connect.ComputedColumn:
			continue
		case key != "":
			rel.columns = append(rel.columns, relColumn{name: key, expr: x})
			for alias, k := range c.rules.aliases {
				if k == key {
					rel.columns = append(rel.columns, relColumn{name: alias, expr: x})
				}
			}
		case origins[f.Name] != "":
			rel.columns = append(rel.columns, relColumn{name: origins[f.Name], expr: x})
		default:
			rel.columns = append(rel.columns, relColumn{name: strings.TrimPrefix(f.Name, dataflow.HiddenPrefix), expr: x})
		}
	}
	values := map[string]expr.Expr{}
	for _, col := range c.cols {
		if col.computed == nil {
			continue
		}
		x, err := col.computed.bind(s, &scope{rel: rel})
		if err != nil {
			return nil, nil, nil, err
		}
		values[col.field.Name] = x
		rel.columns = append(rel.columns, relColumn{name: col.computed.name, expr: x})
	}
	out := &columnar.Schema{}
	var exprs []expr.Expr
	for i, f := range in.Fields {
		if dataflow.Hidden(f.Name) {
			continue
		}
		x := values[f.Name]
		if x == nil {
			x = expr.NamedColumn(i, f.Name, f.Type)
		} else if !x.Type().EqualIgnoreNull(f.Type) {
			var err error
			if x, err = expr.Cast(x, f.Type, false); err != nil {
				return nil, nil, nil, err
			}
		}
		out.Fields, exprs = append(out.Fields, f), append(exprs, x)
	}
	if c.rules.filter == nil {
		return out, exprs, nil, nil
	}
	filter, err := c.rules.filter.bind(s, &scope{rel: rel})
	return out, exprs, filter, err
}
