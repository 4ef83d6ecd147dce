package shell_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/spec"
	"leat/sqlfront"
)

// TestSchemaChangesBesideJavas runs testdata/schemas.txt: each ALTER TABLE is
// carried out by leat, and the changes that it means by Java's SchemaManager on a
// copy of the table. What both make has to be the same schema; where one refuses,
// the file shows who and why. Commands:
//
//	table        make the table d.t anew
//	filled       the same, with a row in it, which freezes some options
//	alter        change it
func TestSchemaChangesBesideJavas(t *testing.T) {
	t.Parallel()
	b := &besides{java: judge.Java(t)}
	datadriven.RunTest(t, "testdata/schemas.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		if d.Cmd == "alter" {
			return b.alter(t, d.Input)
		}
		b.start(t, d.Input, d.Cmd == "filled")
		return ""
	})
}

type besides struct {
	java         *judge.Oracle
	ours, theirs string
}

func (b *besides) start(t *testing.T, create string, filled bool) {
	t.Helper()
	b.ours, b.theirs = t.TempDir(), t.TempDir()
	run(t, b.ours, "CREATE DATABASE d; "+create)
	if filled {
		b.java.Write(t, b.ours, "d.t", "writer", 1, `{"k":1}`)
	}
	b.copyTable(t, b.ours, b.theirs)
}

func (b *besides) alter(t *testing.T, statement string) string {
	t.Helper()
	_, ourErr := try(t, b.ours, statement)
	_, theirErr := b.java.Call(changesOf(t, statement), "alter", "--warehouse", b.theirs, "--table", "d.t")
	if ourErr != nil || theirErr != nil {
		if ourErr == nil || theirErr == nil { // go on with the table that was not changed
			from, to := b.ours, b.theirs
			if ourErr == nil {
				from, to = to, from
			}
			b.copyTable(t, from, to)
		}
		return "leat: " + brief(ourErr) + "\njava: " + javaBrief(theirErr)
	}
	mine, theirs := b.java.Schema(t, b.ours, "d.t"), b.java.Schema(t, b.theirs, "d.t")
	again := ""
	if mine.Int("id") != theirs.Int("id") {
		again = ", which is no new schema for leat"
		b.copyTable(t, b.theirs, b.ours)
	}
	for _, s := range []judge.Row{mine, theirs} {
		delete(s, "timeMillis")
		delete(s, "id")
		if options, ok := s["options"].(map[string]any); ok {
			delete(options, "path") // where the table lies, which the library adds
		}
	}
	if diff := cmp.Diff(theirs, mine); diff != "" {
		return "different (-java +leat):\n" + diff
	}
	return "same" + again
}

func (b *besides) copyTable(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(to, "d.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "d.db"), os.DirFS(filepath.Join(from, "d.db"))); err != nil {
		t.Fatal(err)
	}
}

// changesOf gives the changes that an ALTER TABLE means as the oracle reads them.
func changesOf(t *testing.T, text string) string {
	t.Helper()
	script, err := sqlfront.Parse("-e", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := script.Statements[0].(*sqlfront.AlterTable)
	if !ok {
		t.Fatalf("%s is no ALTER TABLE", text)
	}
	var all []map[string]any
	for _, o := range v.Options {
		if o.Key == "comment" {
			all = append(all, map[string]any{"op": "table-comment", "comment": o.Value})
			continue
		}
		all = append(all, map[string]any{"op": "set", "key": o.Key, "value": o.Value})
	}
	for _, k := range v.Keys {
		all = append(all, map[string]any{"op": "reset", "key": k.Key})
	}
	for _, p := range v.Dropped {
		all = append(all, map[string]any{"op": "drop", "path": texts(p)})
	}
	if len(v.Renamed) > 0 {
		all = append(all, map[string]any{"op": "rename", "path": texts(v.Renamed), "to": v.NewColumn.Text})
	}
	for i := range v.Columns {
		all = append(all, columnJSON(t, v.Action, &v.Columns[i])...)
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func columnJSON(t *testing.T, action string, c *sqlfront.AlterColumn) []map[string]any {
	t.Helper()
	placed := func(m map[string]any) map[string]any {
		if c.First {
			m["first"] = true
		}
		if c.After.Text != "" {
			m["after"] = c.After.Text
		}
		return m
	}
	if action == "ADD" {
		return []map[string]any{placed(map[string]any{"op": "add", "path": texts(c.Path), "type": typeJSON(t, c.Type), "comment": c.Comment})}
	}
	out := []map[string]any{{"op": "retype", "path": texts(c.Path), "type": typeJSON(t, c.Type)}}
	if c.Comment != nil {
		out = append(out, map[string]any{"op": "comment", "path": texts(c.Path), "comment": *c.Comment})
	}
	if c.First || c.After.Text != "" {
		out = append(out, placed(map[string]any{"op": "move", "path": texts(c.Path)}))
	}
	return out
}

func texts(names []sqlfront.Name) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n.Text
	}
	return out
}

func typeJSON(t *testing.T, typ columnar.DataType) json.RawMessage {
	t.Helper()
	cells, err := spec.SchemaCells(&spec.TableSchema{Fields: []columnar.Field{{Name: "x", Type: typ}}})
	if err != nil {
		t.Fatal(err)
	}
	var fields []struct{ Type json.RawMessage }
	if err := json.Unmarshal([]byte(cells.Fields), &fields); err != nil {
		t.Fatal(err)
	}
	return fields[0].Type
}

// brief gives the first error without its place.
func brief(err error) string {
	if err == nil {
		return "ok"
	}
	var l diag.List
	l.Add(err)
	var e *diag.Error
	if !errors.As(l[0], &e) {
		return err.Error()
	}
	s := e.Msg
	if e.Option != "" {
		s = "'" + e.Option + "': " + s
	}
	return fmt.Sprintf("LEAT-%d %s", e.Code, s)
}

// javaBrief gives the message of an exception.
func javaBrief(err error) string {
	if err == nil {
		return "ok"
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	line, _, _ := strings.Cut(text, "\n")
	if _, message, ok := strings.Cut(line, "Exception: "); ok {
		return message
	}
	return line
}

// TestSchemaChangesAtOnce lets two leat processes and Java add columns to one
// table at once: each change is made on the newest schema, none is lost.
func TestSchemaChangesAtOnce(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	run(t, wh, "CREATE DATABASE d; CREATE TABLE d.t (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
	const each = 8
	var wg sync.WaitGroup
	for _, who := range []string{"a", "b", "java"} {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%s%d", who, i)
				if who != "java" {
					if _, err := try(t, wh, "ALTER TABLE d.t ADD "+name+" INT"); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				change := fmt.Sprintf(`[{"op":"add","path":[%q],"type":"INT"}]`, name)
				if _, err := java.Call(change, "alter", "--warehouse", wh, "--table", "d.t"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	ids, names := map[string]bool{}, map[string]bool{}
	for _, f := range columnsOfSchema(t, java.Schema(t, wh, "d.t")) {
		ids[fmt.Sprint(f["id"])], names[fmt.Sprint(f["name"])] = true, true
	}
	if len(ids) != 3*each+1 || len(names) != 3*each+1 {
		t.Errorf("%d ids, %d columns, want %d: %v", len(ids), len(names), 3*each+1, names)
	}
	if n := len(run(t, wh, "SELECT schema_id FROM d.`t$schemas`")); n != 3*each+1 {
		t.Errorf("%d schemas, want %d", n, 3*each+1)
	}
}

func columnsOfSchema(t *testing.T, s judge.Row) []map[string]any {
	t.Helper()
	list, ok := s["fields"].([]any)
	if !ok {
		t.Fatalf("fields %v", s["fields"])
	}
	out := make([]map[string]any, len(list))
	for i := range list {
		if out[i], ok = list[i].(map[string]any); !ok {
			t.Fatalf("field %v", list[i])
		}
	}
	return out
}
