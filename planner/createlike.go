package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/sqlfront"
)

// createLike plans CREATE TABLE … LIKE: the definition with what it takes over
// from the other table in front.
func (s *Session) createLike(ctx context.Context, v *sqlfront.CreateTable) {
	source := s.findTable(ctx, v.Like.Source)
	if source == nil {
		return
	}
	l := &likeMerge{s: s, v: v, from: definitionOf(source), actions: likeActions(v.Like)}
	full := *v
	full.Like = nil
	before := len(s.errs)
	l.columns(&full)
	l.keys(&full)
	l.options(&full)
	if len(s.errs) == before {
		s.createTable(ctx, &full)
	}
}

// likeMerge merges a definition with that of the table it is like.
type likeMerge struct {
	s       *Session
	v, from *sqlfront.CreateTable
	actions map[string]string
}

// likeActions gives the action for each part of a definition (Flink's
// MergeTableLikeUtil): what is not said is included, options overwritten.
func likeActions(l *sqlfront.Like) map[string]string {
	out := map[string]string{}
	all := "INCLUDING"
	for _, o := range l.Options {
		if o.What == "ALL" {
			all = o.Action
		}
	}
	for _, what := range []string{"CONSTRAINTS", "PARTITIONS", "DISTRIBUTION", "GENERATED", "OPTIONS", "WATERMARKS", "METADATA"} {
		out[what] = all
	}
	if all == "INCLUDING" {
		out["OPTIONS"] = "OVERWRITING"
	}
	for _, o := range l.Options {
		if o.What != "ALL" {
			out[o.What] = o.Action
		}
	}
	return out
}

func (l *likeMerge) twice(at diag.Pos, what, option string) {
	hint := "leave it out here"
	if option != "" {
		hint += ", or write LIKE … (EXCLUDING " + option + ")"
	}
	l.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Pos: at, Table: l.v.Name.String(), Msg: what + " comes from the table it is like already", Hint: hint})
}

func (l *likeMerge) columns(full *sqlfront.CreateTable) {
	what := map[sqlfront.ColumnKind]string{sqlfront.Computed: "GENERATED", sqlfront.Metadata: "METADATA"}
	var columns []sqlfront.Column
	for _, c := range l.from.Columns {
		if w := what[c.Kind]; w != "" && l.actions[w] == "EXCLUDING" {
			continue
		}
		columns = append(columns, c)
	}
	for _, c := range l.v.Columns {
		i := slices.IndexFunc(columns, func(o sqlfront.Column) bool { return o.Name.Text == c.Name.Text })
		switch w := what[c.Kind]; {
		case i < 0:
			columns = append(columns, c)
		case w != "" && columns[i].Kind == c.Kind && l.actions[w] == "OVERWRITING":
			columns[i] = c
		default:
			l.twice(c.Name.At, "column "+c.Name.Text, what[c.Kind])
		}
	}
	full.Columns = columns
}

func (l *likeMerge) keys(full *sqlfront.CreateTable) {
	if l.from.PrimaryKey != nil && l.actions["CONSTRAINTS"] != "EXCLUDING" {
		if l.v.PrimaryKey != nil {
			l.twice(l.v.PrimaryKey.At, "a primary key", "CONSTRAINTS")
		}
		full.PrimaryKey = l.from.PrimaryKey
	}
	if l.from.PartitionedBy != nil && l.actions["PARTITIONS"] != "EXCLUDING" {
		if l.v.PartitionedBy != nil {
			l.twice(l.v.PartitionedBy[0].At, "PARTITIONED BY", "PARTITIONS")
		}
		full.PartitionedBy = l.from.PartitionedBy
	}
}

func (l *likeMerge) options(full *sqlfront.CreateTable) {
	if l.actions["OPTIONS"] == "EXCLUDING" {
		return
	}
	var options sqlfront.Options
	for _, o := range l.from.Options {
		own, ok := l.v.Options.Get(o.Key)
		if ok && l.actions["OPTIONS"] == "INCLUDING" {
			l.twice(own.KeyPos, "option '"+o.Key+"'", "OPTIONS")
		}
		if !ok {
			o.KeyPos, o.ValuePos = l.v.Like.At, l.v.Like.At
			options = append(options, o)
		}
	}
	full.Options = slices.Concat(options, l.v.Options)
	if full.WithPos.IsZero() {
		full.WithPos = l.v.Like.At
	}
}

// definitionOf gives the CREATE TABLE that makes a table, with the values of all
// options.
func definitionOf(t *table) *sqlfront.CreateTable {
	st := &sqlfront.CreateTable{}
	for _, c := range t.columns {
		col := sqlfront.Column{Name: sqlfront.Name{Text: c.name}}
		if c.expr != nil {
			col.Kind, col.Expr = sqlfront.Computed, c.expr
			st.Columns = append(st.Columns, col)
			continue
		}
		f := t.def.Schema.Fields[c.index]
		col.Type = f.Type
		if f.Comment != "" {
			col.Comment = &f.Comment
		}
		if key, ok := t.def.Metadata[c.name]; ok {
			col.Kind, col.MetadataKey, col.Virtual = sqlfront.Metadata, key, true
		}
		st.Columns = append(st.Columns, col)
	}
	if len(t.def.PrimaryKey) > 0 {
		st.PrimaryKey = &sqlfront.PrimaryKey{Columns: namesOf(t.def.PrimaryKey)}
	}
	st.PartitionedBy = namesOf(t.def.PartitionKeys)
	if !t.lake {
		st.Options = append(st.Options, sqlfront.Option{Key: "connector", Value: t.connector.Name()})
	}
	for _, k := range slices.Sorted(maps.Keys(t.def.Options)) {
		st.Options = append(st.Options, sqlfront.Option{Key: k, Value: t.def.Options[k].Text})
	}
	return st
}

func namesOf(names []string) []sqlfront.Name {
	if len(names) == 0 {
		return nil
	}
	out := make([]sqlfront.Name, len(names))
	for i, n := range names {
		out[i].Text = n
	}
	return out
}

// distribute makes options of DISTRIBUTED BY.
func (s *Session) distribute(v *sqlfront.CreateTable) *sqlfront.CreateTable {
	d := v.Distributed
	fail := func(msg, hint string) *sqlfront.CreateTable {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: d.At, Msg: msg, Hint: hint})
		return nil
	}
	switch {
	case d.Kind == "RANGE":
		return fail("Paimon has no buckets by ranges", "write DISTRIBUTED BY HASH (column, …) INTO n BUCKETS")
	case d.Buckets == 0:
		return fail("the number of buckets is missing", "write DISTRIBUTED BY (column, …) INTO n BUCKETS")
	}
	full := *v
	full.Distributed, full.Options = nil, slices.Clone(v.Options)
	add := func(key, value string) {
		if o, ok := v.Options.Get(key); ok {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: o.KeyPos, Option: key, Msg: "DISTRIBUTED BY says it already", Hint: "keep one of the two"})
			return
		}
		full.Options = append(full.Options, sqlfront.Option{Key: key, KeyPos: d.At, Value: value, ValuePos: d.At})
	}
	add("bucket", strconv.Itoa(d.Buckets))
	if len(d.Columns) > 0 {
		keys := make([]string, len(d.Columns))
		for i, n := range d.Columns {
			keys[i] = n.Text
		}
		add("bucket-key", strings.Join(keys, ","))
	}
	s.notice(configs.Notice{Pos: d.At, Key: "DISTRIBUTED BY", Msg: fmt.Sprintf("DISTRIBUTED BY sets 'bucket' = '%d' and the bucket key; Flink with Paimon 1.3 drops the clause", d.Buckets)})
	return &full
}
