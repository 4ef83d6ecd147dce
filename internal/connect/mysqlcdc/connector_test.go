package mysqlcdc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
)

func values(pairs ...string) configs.Values {
	v := configs.Values{}
	base := []string{"hostname", "db.example", "username", "reader", "password", "secret-word", "database-name", "shop", "table-name", "orders"}
	for _, list := range [][]string{base, pairs} {
		for i := 0; i < len(list); i += 2 {
			v[list[i]] = configs.Value{Text: list[i+1]}
		}
	}
	return v
}

func define(v configs.Values) *connect.Table {
	return &connect.Table{
		Name: "c.d.src", PrimaryKey: []string{"id"}, Options: v, Metadata: map[string]string{},
		Schema: &columnar.Schema{Fields: []columnar.Field{
			{Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()}, {Name: "tab", Type: columnar.StringType().NotNull()},
		}},
	}
}

func TestOptionsAreCheckedByClass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key, value  string
		errs, notes string
	}{
		{"port", "3307", "", ""},
		{"port", "0", "must be from 1 to 65535", ""},
		{"table-name", "orders_.*", "", ""},
		{"table-name", "orders_(", "is not a regular expression", ""},
		{"server-id", "5400-5408", "", ""},
		{"server-id", "5408-5400", "not a number or a range", ""},
		{"server-id", "0", "not a number or a range", ""},
		{"server-time-zone", "Mars/Olympus", "is not a time zone", ""},
		{"server-time-zone", "+08:00", "", ""},
		{"server-time-zone", "GMT+08:00", "", ""},
		{"use.legacy.json.format", "true", "", ""},
		{"use.legacy.json.format", "false", "", ""},
		{"scan.startup.mode", "earlyest-offset", "is not one of", ""},
		{"scan.startup.mode", "LATEST-OFFSET", "", ""},
		{"scan.incremental.snapshot.chunk.size", "1", "must be greater than 1", ""},
		{"scan.newly-added-table.enabled", "true", "", ""},
		{"scan.newly-added-table.enabled", "false", "", ""},
		{"scan.read-changelog-as-append-only.enabled", "true", "", ""},
		{"scan.snapshot.fetch.size", "2048", "", "rows are streamed"},
		{"debezium.snapshot.locking.mode", "none", "", "never locks"},
		{"debezium.skipped.operations", "d", "", ""},
		{"debezium.skipped.operations", "c,x", "not an operation", ""},
		{"debezium.skipped.operations", "none", "", ""},
		{"debezium.snapshot.mode", "never", "", ""},
		{"debezium.snapshot.mode", "custom", "is not run", ""},
		{"debezium.snapshot.mode", "nevermore", "is not one of", ""},
		{"debezium.decimal.handling.mode", "string", "", "declared type"},
		{"debezium.bigint.unsigned.handling.mode", "precise", "", "declared type"},
		{"debezium.binary.handling.mode", "bytes", "", ""},
		{"debezium.binary.handling.mode", "base32", "is not one of", ""},
		{"debezium.event.deserialization.failure.handling.mode", "fail", "", ""},
		{"debezium.event.deserialization.failure.handling.mode", "skip", "", ""},
		{"debezium.database.history.kafka.topic", "x", "", "in the checkpoints"},
		{"debezium.column.exclude.list", "a(", "is not a regular expression", ""},
		{"jdbc.properties.serverTimezone", "Asia/Shanghai", "", ""},
		{"jdbc.properties.serverTimezone", "Mars/Olympus", "is not a time zone", ""},
		{"jdbc.properties.zeroDateTimeBehavior", "convertToNull", "", ""},
		{"jdbc.properties.zeroDateTimeBehavior", "ROUND", "is not run", ""},
		{"jdbc.properties.requireSSL", "true", "", ""},
		{"jdbc.properties.tinyInt1isBit", "false", "", "declared type"},
		{"jdbc.properties.characterEncoding", "UTF-8", "", "character set of its column"},
		{"scan.startup.specific-offset.skip-events", "3", "refuses to cut", ""},
		{"connect.timeout", "100 ms", "longer than 250 ms", ""},
		{"scan.startup.mod", "initial", "no such option", ""},
	} {
		notices, errs := Options.Check(values(tt.key, tt.value), configs.CheckOptions{Table: "src"})
		if got := errs.Error(); (got == "") != (tt.errs == "") || !strings.Contains(got, tt.errs) {
			t.Errorf("%s = %s: error %q, want %q", tt.key, tt.value, got, tt.errs)
		}
		var text string
		for _, n := range notices {
			text += n.Msg
		}
		if (text == "") != (tt.notes == "") || !strings.Contains(text, tt.notes) {
			t.Errorf("%s = %s: notices %q, want %q", tt.key, tt.value, text, tt.notes)
		}
	}
}

// TestOptionsOfFlinksConnector walks through all options of Flink's connector: each has its
// default, and each value its verdict.
func TestOptionsOfFlinksConnector(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	defs := map[string]*configs.Def{}
	for _, d := range Options.Defs() {
		for _, key := range append([]string{d.Key}, d.Aliases...) {
			defs[key] = d
		}
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		n++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		key, want, value, verdict := f[0], f[1], f[2], f[3]
		if d := defs[key]; d != nil {
			is := d.Default
			switch {
			case d.Required:
				is = "required"
			case is == "" || d.NoDefault && is == "":
				is = "-"
			}
			if is != want {
				t.Errorf("%s has the default %s, want %s", key, is, want)
			}
		} else if verdict == "run" {
			t.Errorf("%s is not declared", key)
		}
		notices, errs := Options.Check(values(key, value), configs.CheckOptions{Table: "src"})
		got := "run"
		switch {
		case len(errs) > 0:
			got = "refuse"
		case len(notices) > 0:
			got = "note"
		}
		if got != verdict {
			t.Errorf("%s = %s: %s, want %s: %v %v", key, value, got, verdict, errs, notices)
		}
	}
	if n < 80 {
		t.Errorf("%d lines", n)
	}
}

func TestCheckTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*connect.Table)
		want   diag.Code
	}{
		{"plain", func(*connect.Table) {}, 0},
		{"no key", func(x *connect.Table) { x.PrimaryKey = nil }, diag.CodeNoPrimaryKey},
		{"no key but a chunk key", func(x *connect.Table) {
			x.PrimaryKey, x.Options = nil, values("scan.incremental.snapshot.chunk.key-column", "id")
		}, 0},
		{"no key is needed without a snapshot", func(x *connect.Table) { x.PrimaryKey, x.Options = nil, values("scan.startup.mode", "latest-offset") }, 0},
		{"offset without a place", func(x *connect.Table) { x.Options = values("scan.startup.mode", "specific-offset") }, diag.CodeMissingOption},
		{"time without a time", func(x *connect.Table) { x.Options = values("scan.startup.mode", "timestamp") }, diag.CodeMissingOption},
		{"metadata", func(x *connect.Table) { x.Metadata["tab"] = "table_name" }, 0},
		{"metadata of another type", func(x *connect.Table) { x.Metadata["id"] = "table_name" }, diag.CodeTableShape},
		{"excluded column", func(x *connect.Table) { x.Options = values("debezium.column.exclude.list", `a.b, SHOP\.orders\.tab`) }, diag.CodeBadOption},
		{"column not included", func(x *connect.Table) { x.Options = values("debezium.column.include.list", `.*\.id`) }, diag.CodeBadOption},
		{"included columns", func(x *connect.Table) { x.Options = values("debezium.column.include.list", `.*\.id,shop.orders.t.*`) }, 0},
		{"other columns excluded", func(x *connect.Table) { x.Options = values("debezium.column.exclude.list", `shop.orders.other`) }, 0},
		{"unknown metadata", func(x *connect.Table) { x.Metadata["tab"] = "op_time" }, diag.CodeTableShape},
	} {
		x := define(values())
		tt.change(x)
		err := New().CheckTable(x)
		var got diag.Code
		if l, ok := err.(diag.List); ok { //nolint:errorlint // CheckTable gives the list itself
			got = l[0].Code
			if l[0].Hint == "" {
				t.Errorf("%s: no hint", tt.name)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %v, want code %d", tt.name, err, tt.want)
		}
	}
}

func TestTablesOfOneServerShareAReader(t *testing.T) {
	t.Parallel()
	c := New()
	a, b := define(values()), define(values("table-name", "items"))
	if c.Group(a) != c.Group(b) {
		t.Errorf("%q and %q differ", c.Group(a), c.Group(b))
	}
	for _, other := range [][]string{{"port", "3307"}, {"username", "other"}, {"hostname", "elsewhere"}, {"scan.startup.mode", "latest-offset"}} {
		if x := define(values(other...)); c.Group(x) == c.Group(a) {
			t.Errorf("%v: same group %q", other, c.Group(x))
		}
	}
	if strings.Contains(c.Group(a), "secret-word") {
		t.Error("the group holds the password")
	}
}

func TestSourceTableFollowsNeededColumns(t *testing.T) {
	t.Parallel()
	x := define(values())
	x.Metadata["tab"] = "table_name"
	got := sourceTable(connect.SourceTable{Table: x, Needed: []int{1, 0}})
	if diff := cmp.Diff([]string{"tab", "id"}, got.Schema.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"table_name", ""}, got.Metadata); diff != "" {
		t.Error(diff)
	}
	if got.Database != "shop" || got.Name != "orders" {
		t.Errorf("reads %s.%s", got.Database, got.Name)
	}
}

func TestServerIDStaysInItsRange(t *testing.T) {
	t.Parallel()
	for range 100 {
		if id := chooseServerID(values()); id < 5400 || id > 6400 {
			t.Fatalf("default id %d", id)
		}
		if id := chooseServerID(values("server-id", "7-9")); id < 7 || id > 9 {
			t.Fatalf("id %d of 7-9", id)
		}
	}
}

// TestOptionsOfEnginesHaveTheirMeaning compares what options of Debezium and of the
// JDBC driver do with what leat's own do.
func TestOptionsOfEnginesHaveTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what string
		is   func(configs.Values) any
		pair []string
		want any
	}{
		{"mode", func(v configs.Values) any { return modeOf(v) }, nil, "initial"},
		{"mode", func(v configs.Values) any { return modeOf(v) }, []string{"debezium.snapshot.mode", "NEVER"}, "latest-offset"},
		{"mode", func(v configs.Values) any { return modeOf(v) }, []string{"debezium.snapshot.mode", "initial_only"}, "snapshot"},
		{"mode", func(v configs.Values) any { return modeOf(v) }, []string{"debezium.snapshot.mode", "when_needed"}, "initial"},
		{"mode", func(v configs.Values) any { return modeOf(v) }, []string{"debezium.snapshot.mode", "never", "scan.startup.mode", "earliest-offset"}, "earliest-offset"},
		{"zero dates", zeroOf, nil, mysqlrow.ZeroDateNull},
		{"zero dates", zeroOf, []string{"jdbc.properties.zeroDateTimeBehavior", "exception"}, mysqlrow.ZeroDateError},
		{"zero dates", zeroOf, []string{"jdbc.properties.zeroDateTimeBehavior", "exception", "leat.zero-date", "epoch"}, mysqlrow.ZeroDateEpoch},
		{"TLS", func(v configs.Values) any { return tlsConfig(v) != nil && !asNeeded(v) }, []string{"jdbc.properties.requireSSL", "true"}, true},
		{"timeout", func(v configs.Values) any { return timeoutOf(v) }, []string{"jdbc.properties.connectTimeout", "1500"}, 1500 * time.Millisecond},
		{"timeout", func(v configs.Values) any { return timeoutOf(v) }, []string{"jdbc.properties.connectTimeout", "1500", "connect.timeout", "4 s"}, 4 * time.Second},
		{"bytes", func(v configs.Values) any { return bytesOf(v) }, nil, mysqlrow.BytesAsThey},
		{"bytes", func(v configs.Values) any { return bytesOf(v) }, []string{"debezium.binary.handling.mode", "HEX"}, mysqlrow.BytesHex},
		{"origin", func(v configs.Values) any { return originOf(v) == nil }, nil, true},
		{"origin", func(v configs.Values) any { return originOf(v)("3e11fa47-71ca") }, []string{"debezium.gtid.source.includes", "x, 3E11.*"}, true},
		{"origin", func(v configs.Values) any { return originOf(v)("4e11fa47-71ca") }, []string{"debezium.gtid.source.includes", "3e11.*"}, false},
		{"origin", func(v configs.Values) any { return originOf(v)("3e11fa47-71ca") }, []string{"debezium.gtid.source.excludes", "3e11.*"}, false},
		{"skipped", func(v configs.Values) any {
			x := sourceTable(connect.SourceTable{Table: define(v)})
			return fmt.Sprint(x.Skip, x.SkipTruncate, x.PassBadRows, x.OnlineChanges)
		}, nil, "[] false false false"},
		{"skipped", func(v configs.Values) any {
			x := sourceTable(connect.SourceTable{Table: define(v)})
			return fmt.Sprint(x.Skip, x.SkipTruncate, x.PassBadRows, x.OnlineChanges)
		}, []string{"debezium.skipped.operations", "u, D,t", "debezium.event.processing.failure.handling.mode", "warn", "scan.parse.online.schema.changes.enabled", "true"}, "[1 2] true true true"},
		{"inserts", func(v configs.Values) any { return New().SourceMode(define(v)) == connect.InsertOnly }, []string{"scan.read-changelog-as-append-only.enabled", "true"}, true},
		{"inserts", func(v configs.Values) any { return New().SourceMode(define(v)) == connect.InsertOnly }, nil, false},
		{"bounded", func(v configs.Values) any { return New().Bounded(define(v)) }, []string{"debezium.snapshot.mode", "initial_only"}, true},
	} {
		if got := tt.is(values(tt.pair...)); got != tt.want {
			t.Errorf("%s under %v: %v, want %v", tt.what, tt.pair, got, tt.want)
		}
	}
	if err := New().CheckTable(define(values("debezium.snapshot.mode", "never", "scan.startup.mode", "initial"))); err == nil || !strings.Contains(err.Error(), "it means 'latest-offset'") {
		t.Errorf("got %v, want both options named", err)
	}
}

func zeroOf(v configs.Values) any {
	cfg, err := connection(v)
	if err != nil {
		return err
	}
	return cfg.ZeroDate
}
