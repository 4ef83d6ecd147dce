package mysqlcdc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/cdc"
	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/connect"
)

func TestDefinitionsOfTables(t *testing.T) {
	t.Parallel()
	id := mysqlrow.Column{Name: "id", DataType: "bigint", ColumnType: "bigint unsigned"}
	name := mysqlrow.Column{Name: "name", DataType: "varchar", ColumnType: "varchar(40)", Length: 40, Charset: "utf8mb4", Nullable: true}
	odd := mysqlrow.Column{Name: "odd", DataType: "xmltype", ColumnType: "xmltype", Nullable: true}
	other := mysqlrow.Column{Name: "other", DataType: "hll", ColumnType: "hll", Nullable: true}
	for _, tt := range []struct {
		what string
		info cdc.TableInfo
		want string
		errs []string
	}{
		{what: "columns and key", info: cdc.TableInfo{Columns: []mysqlrow.Column{name, id}, PrimaryKey: []string{"id"}}, want: "name VARCHAR(40), id DECIMAL(20, 0) NOT NULL key [id]"},
		{what: "no key", info: cdc.TableInfo{Columns: []mysqlrow.Column{id}}, errs: []string{"error LEAT-2111: table shop.t: it has no primary key, so updates and deletes would find no row in the lake"}},
		{what: "a view", info: cdc.TableInfo{Columns: []mysqlrow.Column{id}, View: true}, errs: []string{"error LEAT-3005: table shop.t: it is a view, whose changes the binlog does not hold"}},
		{what: "a sequence", info: cdc.TableInfo{Columns: []mysqlrow.Column{id}, Sequence: true}, errs: []string{"error LEAT-3005: table shop.t: it is a sequence, which has no rows"}},
		{what: "history by transactions", info: cdc.TableInfo{Columns: []mysqlrow.Column{id, {Name: "re", DataType: "bigint", RowEnd: true}}}, errs: []string{
			"error LEAT-3005: table shop.t: it is system-versioned by transactions, so that the binlog holds statements instead of its rows",
		}},
		{what: "types that are not read", info: cdc.TableInfo{Columns: []mysqlrow.Column{id, odd, other}, PrimaryKey: []string{"id"}}, errs: []string{
			"error LEAT-3006: table shop.t: column 'odd' is XMLTYPE at the source, a type that leat does not read yet",
			"error LEAT-3006: table shop.t: column 'other' is HLL at the source, a type that leat does not read yet",
		}},
	} {
		d := &discovery{spec: connect.DiscoverSpec{Options: values(), Include: []connect.TablePattern{{Database: "shop", Table: "t"}}}, connector: New(), seen: map[string]bool{}}
		tt.info.Database, tt.info.Name = "shop", "t"
		d.take(&tt.info)
		var errs []string
		for _, e := range d.errs {
			errs = append(errs, e.Error())
			if e.Hint == "" {
				t.Errorf("%s: no hint: %v", tt.what, e)
			}
		}
		if diff := cmp.Diff(tt.errs, errs); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
		if len(tt.errs) > 0 {
			continue
		}
		def := d.out.Tables[0].Table
		got := ""
		for i, f := range def.Schema.Fields {
			if i > 0 {
				got += ", "
			}
			got += f.Name + " " + f.Type.String()
		}
		if got += " key [" + def.PrimaryKey[0] + "]"; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
		if database.Get(def.Options) != "shop" || table.Get(def.Options) != "t" || hostname.Get(def.Options) != "db.example" {
			t.Errorf("%s: options %v", tt.what, def.Options)
		}
	}
}

func TestExclusions(t *testing.T) {
	t.Parallel()
	d := &discovery{
		connector: New(), seen: map[string]bool{},
		spec: connect.DiscoverSpec{Options: configs.Values{}, Include: []connect.TablePattern{{Database: "shop", Table: "*"}}, Exclude: []connect.TablePattern{
			{Database: "shop", Table: "t"}, {Database: "shop", Table: "u"}, {Database: "other", Table: "*"},
		}},
	}
	d.take(&cdc.TableInfo{Database: "shop", Name: "t"})
	d.checkExcludes()
	var notices []string
	for _, n := range d.out.Notices {
		notices = append(notices, n.Msg)
	}
	if diff := cmp.Diff([]string{"shop.u leaves no table out", "other.* leaves no table out"}, notices); diff != "" {
		t.Error(diff)
	}
	if len(d.errs) != 1 || d.errs[0].Msg != "all tables of shop.* are excluded" {
		t.Errorf("errors %v", d.errs)
	}
}
