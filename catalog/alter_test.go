package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/lakehouse/spec"
)

func alterable() *spec.TableSchema {
	row := columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "x", Type: columnar.Of(columnar.Int)}, {Name: "y", Type: columnar.StringType()}}}
	return catalog.Define(&spec.TableSchema{
		Fields: []columnar.Field{
			{Name: "k", Type: columnar.Of(columnar.Int)},
			{Name: "dt", Type: columnar.StringType()},
			{Name: "v", Type: columnar.Of(columnar.Int)},
			{Name: "s", Type: row},
			{Name: "ts", Type: columnar.TimestampOf(3)},
		},
		PrimaryKeys: []string{"dt", "k"}, PartitionKeys: []string{"dt"}, Options: map[string]string{"bucket": "2", "bucket-key": "k"},
	}, 1)
}

// columnsOf gives "id name type" of every column.
func columnsOf(s *spec.TableSchema) []string {
	var out []string
	for _, f := range s.Fields {
		out = append(out, fmt.Sprintf("%d %s %s", f.ID, f.Name, f.Type))
	}
	return out
}

func col(names ...string) []string { return names }

func TestAlterColumns(t *testing.T) {
	t.Parallel()
	big := columnar.Of(columnar.BigInt)
	tests := map[string]struct {
		change catalog.SchemaChange
		want   string
	}{
		"add":          {catalog.AddColumn{Path: col("n"), Type: big}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)|7 n BIGINT"},
		"add first":    {catalog.AddColumn{Path: col("n"), Type: big, Position: catalog.Position{First: true}}, "7 n BIGINT|0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"add after":    {catalog.AddColumn{Path: col("n"), Type: big, Position: catalog.Position{After: "k"}}, "0 k INT NOT NULL|7 n BIGINT|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"add nested":   {catalog.AddColumn{Path: col("s", "z"), Type: big}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` INT, `y` STRING, `z` BIGINT>|6 ts TIMESTAMP(3)"},
		"drop":         {catalog.DropColumn{Path: col("v")}, "0 k INT NOT NULL|1 dt STRING NOT NULL|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"drop nested":  {catalog.DropColumn{Path: col("s", "x")}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`y` STRING>|6 ts TIMESTAMP(3)"},
		"rename":       {catalog.RenameColumn{Path: col("v"), To: "w"}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 w INT|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"move":         {catalog.MoveColumn{Path: col("ts"), Position: catalog.Position{First: true}}, "6 ts TIMESTAMP(3)|0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` INT, `y` STRING>"},
		"move on":      {catalog.MoveColumn{Path: col("k"), Position: catalog.Position{After: "v"}}, "1 dt STRING NOT NULL|2 v INT|0 k INT NOT NULL|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"widen":        {catalog.ModifyType{Path: col("v"), Type: big}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 v BIGINT|3 s ROW<`x` INT, `y` STRING>|6 ts TIMESTAMP(3)"},
		"widen nested": {catalog.ModifyType{Path: col("s", "x"), Type: big}, "0 k INT NOT NULL|1 dt STRING NOT NULL|2 v INT|3 s ROW<`x` BIGINT, `y` STRING>|6 ts TIMESTAMP(3)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := catalog.Alter(alterable(), []catalog.SchemaChange{tt.change}, catalog.AlterOptions{HasSnapshots: true})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(tt.want, "|"), columnsOf(got)); d != "" {
				t.Errorf("columns (-want +got):\n%s", d)
			}
			if got.ID != 1 {
				t.Errorf("schema id %d, want 1", got.ID)
			}
		})
	}
}

func TestAlterKeepsOptionsInStep(t *testing.T) {
	t.Parallel()
	s := alterable()
	got, err := catalog.Alter(s, []catalog.SchemaChange{catalog.RenameColumn{Path: col("k"), To: "key"}}, catalog.AlterOptions{HasSnapshots: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Options["bucket-key"] != "key" || !cmp.Equal(got.PrimaryKeys, []string{"dt", "key"}) {
		t.Errorf("bucket-key %s, key %v", got.Options["bucket-key"], got.PrimaryKeys)
	}
	if s.Options["bucket-key"] != "k" || s.PrimaryKeys[1] != "k" || s.Fields[0].Name != "k" {
		t.Error("the old schema was changed")
	}
}

func TestAlterRefuses(t *testing.T) {
	t.Parallel()
	big, small := columnar.Of(columnar.BigInt), columnar.Of(columnar.SmallInt)
	tests := map[string]struct {
		change catalog.SchemaChange
		code   diag.Code
		text   string
	}{
		"add not null":   {catalog.AddColumn{Path: col("n"), Type: big.NotNull()}, diag.CodeNullability, "NOT NULL"},
		"add again":      {catalog.AddColumn{Path: col("v"), Type: big}, diag.CodeExists, "already"},
		"after nothing":  {catalog.AddColumn{Path: col("n"), Type: big, Position: catalog.Position{After: "vv"}}, diag.CodeUnknownColumn, "vv"},
		"drop key":       {catalog.DropColumn{Path: col("k")}, diag.CodeTableShape, "primary key"},
		"drop partition": {catalog.DropColumn{Path: col("dt")}, diag.CodeTableShape, "partition column"},
		"drop missing":   {catalog.DropColumn{Path: col("vvv")}, diag.CodeUnknownColumn, "vvv"},
		"rename onto":    {catalog.RenameColumn{Path: col("v"), To: "k"}, diag.CodeExists, "already"},
		"rename part":    {catalog.RenameColumn{Path: col("dt"), To: "d"}, diag.CodeTableShape, "partition column"},
		"retype key":     {catalog.ModifyType{Path: col("k"), Type: big}, diag.CodeTableShape, "primary key"},
		"narrow":         {catalog.ModifyType{Path: col("v"), Type: small}, diag.CodeType, "cannot hold every value"},
		"no cast":        {catalog.ModifyType{Path: col("v"), Type: columnar.Of(columnar.Date)}, diag.CodeType, "cannot be read"},
		"not null":       {catalog.ModifyType{Path: col("v"), Type: columnar.Of(columnar.Int).NotNull()}, diag.CodeNullability, "NOT NULL"},
		"frozen":         {catalog.SetOption{Key: "merge-engine", Value: "first-row"}, diag.CodeBadOption, "cannot change"},
		"primary key":    {catalog.SetOption{Key: "primary-key", Value: "v"}, diag.CodeBadOption, "cannot change"},
		"bucket kind":    {catalog.SetOption{Key: "bucket", Value: "-1"}, diag.CodeBadOption, "another kind"},
		"reset bucket":   {catalog.ResetOption{Key: "bucket"}, diag.CodeBadOption, "cannot be reset"},
		"bad value":      {catalog.SetOption{Key: "snapshot.time-retained", Value: "soon"}, diag.CodeBadOption, "soon"},
		"unknown option": {catalog.SetOption{Key: "snapshot.time-retaned", Value: "1 h"}, diag.CodeUnknownOption, "no such option"},
		"retention":      {catalog.SetOption{Key: "snapshot.num-retained.max", Value: "5"}, diag.CodeBadOption, "snapshot.num-retained.min"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Alter(alterable(), []catalog.SchemaChange{tt.change}, catalog.AlterOptions{HasSnapshots: true})
			var l diag.List
			if !errors.As(err, &l) || len(l) != 1 {
				t.Fatalf("error %v, want one of people", err)
			}
			if l[0].Code != tt.code || !strings.Contains(l[0].Error(), tt.text) || l[0].Hint == "" {
				t.Errorf("error %v (do: %s), want %s with %q", l[0], l[0].Hint, tt.code, tt.text)
			}
		})
	}
}

// TestExplicitCastsCanBeOff leaves the casts that Paimon makes by itself.
func TestExplicitCastsCanBeOff(t *testing.T) {
	t.Parallel()
	for to, ok := range map[columnar.Kind]bool{columnar.BigInt: true, columnar.Double: true, columnar.SmallInt: false, columnar.Boolean: false} {
		s := alterable()
		s.Options["disable-explicit-type-casting"] = "true"
		_, err := catalog.Alter(s, []catalog.SchemaChange{catalog.ModifyType{Path: col("v"), Type: columnar.Of(to)}}, catalog.AlterOptions{AllowLossy: true})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "disable-explicit-type-casting") {
			t.Errorf("INT to %s: error %v", columnar.Of(to), err)
		}
	}
}

// TestConcurrentAlter lets writers race for the next schema: each change is in.
func TestConcurrentAlter(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), catalog.New(local.New(), t.TempDir())
	id := catalog.Identifier{Database: "d", Table: "t"}
	if err := c.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTable(ctx, id, alterable(), false); err != nil {
		t.Fatal(err)
	}
	const writers = 8
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			add := catalog.AddColumn{Path: col(fmt.Sprintf("c%d", i)), Type: columnar.Of(columnar.Int)}
			if _, err := c.AlterTable(ctx, id, []catalog.SchemaChange{add}, catalog.AlterOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, _, err := c.Table(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, f := range s.Fields {
		ids[f.ID] = true
	}
	if s.ID != writers || len(ids) != 5+writers || s.HighestFieldID != 6+writers {
		t.Errorf("schema %d with fields %v, highest %d", s.ID, columnsOf(s), s.HighestFieldID)
	}
}
