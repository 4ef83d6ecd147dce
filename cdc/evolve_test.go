package cdc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
)

// described makes a table of columns as "id INT NOT NULL, v VARCHAR(5)"; id is the key.
func described(text string) *sourceTable {
	t := &sourceTable{primary: []string{"id"}, engine: "InnoDB"}
	for col := range strings.SplitSeq(text, ", ") {
		name, typ, _ := strings.Cut(col, " ")
		c := mysqlrow.Column{Name: name, Nullable: !strings.Contains(typ, "NOT NULL"), Charset: "utf8mb4"}
		if value, ok := strings.CutPrefix(typ[max(0, strings.Index(typ, "DEFAULT")):], "DEFAULT "); ok {
			c.Default = &value
		}
		c.ColumnType = strings.ToLower(strings.Fields(typ)[0])
		c.DataType, _, _ = strings.Cut(c.ColumnType, "(")
		if c.DataType == "varchar" {
			_, err := fmt.Sscanf(c.ColumnType, "varchar(%d)", &c.Length)
			if err != nil {
				panic(err)
			}
		}
		t.columns = append(t.columns, c)
	}
	return t
}

// TestEvolve lets a port follow its source under rules.
func TestEvolve(t *testing.T) {
	t.Parallel()
	const was = "id INT NOT NULL, a VARCHAR(5), b INT, c INT"
	for _, tt := range []struct {
		name, next, statement string
		rules                 Evolution
		// lake replaces the columns that the target has, source and metadata those of the port.
		lake, origin, metadata string
		shared, counts, strict bool
		want                   string
	}{
		{name: "a rename is a drop and an add", next: "id INT NOT NULL, x VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t RENAME COLUMN a TO x", want: "id a b c x; read again"},
		{name: "a rename that is followed", rules: Evolution{Rename: true}, next: "id INT NOT NULL, x VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t RENAME COLUMN a TO x", want: "id x b c; a>x"},
		{name: "CHANGE with a wider type", rules: Evolution{Rename: true}, next: "id INT NOT NULL, a VARCHAR(5), x BIGINT, c INT", statement: "alter table t change column b `x` bigint", want: "id a x:BIGINT c; b>x"},
		{name: "a rename done before a crash", rules: Evolution{Rename: true}, lake: "id x b c", next: "id INT NOT NULL, x VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t RENAME COLUMN a TO x", want: "id x b c"},
		{name: "a rename of what the table is built on", rules: Evolution{Rename: true, Keep: []string{"a"}}, next: "id INT NOT NULL, x VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t RENAME COLUMN a TO x", want: "id a b c x; read again"},
		{name: "names that change places", rules: Evolution{Rename: true}, next: "id INT NOT NULL, a VARCHAR(5), c INT, b INT", statement: "ALTER TABLE t RENAME COLUMN b TO c, RENAME COLUMN c TO b", want: "id a b c; read again"},
		{name: "a name that another column leaves", rules: Evolution{Rename: true, Drop: true}, next: "id INT NOT NULL, a VARCHAR(5), c INT", statement: "ALTER TABLE t DROP COLUMN c, RENAME COLUMN b TO c", want: "id a c; b>c; without c"},
		{name: "a name that another column leaves, kept", rules: Evolution{Rename: true}, next: "id INT NOT NULL, a VARCHAR(5), c INT", statement: "ALTER TABLE t DROP COLUMN c, RENAME COLUMN b TO c", want: "id a c c_dropped_1; b>c c>c_dropped_1"},
		{name: "a drop", next: "id INT NOT NULL, a VARCHAR(5), b INT", statement: "ALTER TABLE t DROP COLUMN c", want: "id a b c"},
		{name: "a drop that is followed", rules: Evolution{Drop: true}, next: "id INT NOT NULL, a VARCHAR(5), b INT", statement: "ALTER TABLE t DROP COLUMN c", want: "id a b; without c"},
		{name: "a drop looked up too late", rules: Evolution{Drop: true}, lake: "id a b c d", next: was, statement: "ALTER TABLE t DROP COLUMN IF EXISTS `d`, DROP PRIMARY KEY", want: "id a b c; without d"},
		{name: "a drop looked up too late, kept", lake: "id a b c d", next: was, statement: "ALTER TABLE t DROP d", want: "id a b c d"},
		{name: "a rename looked up too late", rules: Evolution{Rename: true, Drop: true}, lake: "id a b d", next: was, statement: "ALTER TABLE t RENAME COLUMN d TO c", want: "id a b c; d>c"},
		{name: "a rename looked up too late, with both", rules: Evolution{Rename: true, Drop: true}, lake: "id a b c d", next: was, statement: "ALTER TABLE t RENAME COLUMN d TO c", want: "id a b c; without d; read again"},
		{name: "a drop of what the table is built on", rules: Evolution{Drop: true, Keep: []string{"c"}}, next: "id INT NOT NULL, a VARCHAR(5), b INT", statement: "ALTER TABLE t DROP COLUMN c", want: "id a b c"},
		{name: "shards share their columns", rules: Evolution{Rename: true, Drop: true}, shared: true, next: "id INT NOT NULL, x VARCHAR(5), b INT", statement: "ALTER TABLE t DROP COLUMN c, RENAME COLUMN a TO x", want: "id a b c x; read again"},
		{name: "a column that only the log tells of", next: was + ", d unknown", want: "id a b c"},
		{name: "no new columns", rules: Evolution{NoAdd: true}, next: was + ", d INT NOT NULL DEFAULT 1", want: "id a b c"},
		{name: "no second read", rules: Evolution{NoReread: true}, next: was + ", d INT NOT NULL DEFAULT 1", want: "id a b c d"},
		{name: "a new column with a default", next: was + ", d INT NOT NULL DEFAULT 1", want: "id a b c d; read again"},
		{name: "types as they are", rules: Evolution{NoWiden: true}, next: "id INT NOT NULL, a VARCHAR(5), b BIGINT, c INT", want: "column 'b' is BIGINT at the source, which does not go into INT, and the job leaves types as they are"},
		{name: "a number that becomes text", next: "id INT NOT NULL, a VARCHAR(5), b VARCHAR(9), c INT", want: "id a b_dropped_1 c b:VARCHAR(9); b>b_dropped_1; read again"},
		{name: "a number that becomes text, mapped", rules: Evolution{Types: mysqlrow.Mapping{WidenToText: true}}, next: "id INT NOT NULL, a VARCHAR(5), b VARCHAR(30), c INT", want: "id a b:STRING c"},
		{name: "a column dropped and made anew by one statement", next: was, statement: "ALTER TABLE t DROP COLUMN c, ADD COLUMN c INT DEFAULT 5", want: "id a b c; read again"},
		{name: "a key that counts from now on", next: was, counts: true, statement: "ALTER TABLE t MODIFY id INT NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = 7", want: "id a b c; other keys"},
		{name: "a key that counts as before", next: was, counts: true, statement: "ALTER TABLE t AUTO_INCREMENT = 7", want: "id a b c"},
		{name: "a narrower type", next: "id INT NOT NULL, a VARCHAR(5), b SMALLINT, c INT", statement: "ALTER TABLE t MODIFY b SMALLINT", want: "id a b c; read again"},
		{name: "a narrower key", next: "id SMALLINT NOT NULL, a VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t MODIFY id SMALLINT", want: "id a b c; other keys"},
		{name: "a narrower type, under a strict mode", strict: true, next: "id INT NOT NULL, a VARCHAR(5), b SMALLINT, c INT", statement: "ALTER TABLE t MODIFY b SMALLINT", want: "id a b c"},
		{name: "no change at all", rules: Evolution{Stop: true}, next: was + ", d INT", want: "the job stops at every change of tables"},
		{name: "a column under another name", rules: Evolution{Rename: true}, lake: "id z b c", origin: " a", next: "id INT NOT NULL, x VARCHAR(5), b INT, c INT", statement: "ALTER TABLE t RENAME COLUMN a TO x", want: "id z b c; z is x"},
		{name: "a computed column of a new name", metadata: "   none", lake: "id a b d", next: "id INT NOT NULL, a VARCHAR(5), b INT, d INT", want: "table db.t: the source has a new column 'd', and the table of the lake has another one of that name"},
		{name: "what only expressions read follows freely", lake: "id a b \x00c", next: "id INT NOT NULL, a VARCHAR(5), b INT, c DATE", want: "id a b hidden c:DATE; read again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := described(was)
			def := Table{Label: "db.t", Database: "db", Name: "t", Follow: true, Evolution: tt.rules, Schema: &columnar.Schema{}}
			if tt.lake == "" {
				tt.lake = "id a b c"
			}
			for name := range strings.SplitSeq(tt.lake, " ") {
				typ := columnar.Of(columnar.Int)
				if strings.ContainsAny(name, "axz") {
					typ = columnar.DataType{Kind: columnar.VarChar, Length: 5, Nullable: true}
				}
				typ.Nullable = name != "id"
				def.Schema.Fields = append(def.Schema.Fields, columnar.Field{Name: name, Type: typ})
			}
			def.Origin, def.Metadata = strings.Split(tt.origin, " "), strings.Split(tt.metadata, " ")
			x := &table{def: def, src: src, strict: tt.strict}
			next := described(tt.next)
			next.columns[0].Counts = tt.counts
			ev, err := x.evolve(src, next, tt.statement, tt.shared)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "error LEAT-3009: table db.t: ")
				got = strings.TrimPrefix(got, "error LEAT-3009: ")
				tt.want = strings.TrimPrefix(tt.want, "table db.t: ")
			} else {
				got = tell(ev, &def)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// tell writes what evolve gave: columns with types that are new, and what else happens.
func tell(e *evolution, was *Table) string {
	var names []string
	for _, f := range e.schema.Fields {
		name := strings.Replace(f.Name, dataflow.HiddenPrefix, "hidden ", 1)
		origin := slices.IndexFunc(was.Schema.Fields, func(x columnar.Field) bool { return x.Name == f.Name || e.renamed[x.Name] == f.Name })
		if origin >= 0 && !was.Schema.Fields[origin].Type.EqualIgnoreNull(f.Type) {
			name += ":" + f.Type.AsNullable().String()
		}
		names = append(names, name)
	}
	parts := []string{strings.Join(names, " ")}
	var renames []string
	for from, to := range e.renamed {
		renames = append(renames, from+">"+to)
	}
	slices.Sort(renames)
	if len(renames) > 0 {
		parts = append(parts, strings.Join(renames, " "))
	}
	for i := range e.schema.Fields {
		if e.origin[i] != "" && was.origin(min(i, len(was.Schema.Fields)-1)) != e.origin[i] {
			parts = append(parts, e.schema.Fields[i].Name+" is "+e.origin[i])
		}
	}
	if len(e.removed) > 0 {
		parts = append(parts, "without "+strings.Join(e.removed, " "))
	}
	if e.reread {
		parts = append(parts, "read again")
	}
	if e.newKeys {
		parts = append(parts, "other keys")
	}
	return strings.Join(parts, "; ")
}
