package reads

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

const sourceColumns = "id BIGINT NOT NULL, n INT, amount DECIMAL(12,3), word STRING, label STRING, at TIMESTAMP(3), made TIMESTAMP(0), day DATE, instant TIMESTAMP(3), ratio DOUBLE, doc STRING, flag BOOLEAN, PRIMARY KEY (id) NOT ENFORCED"

// words differ for Flink, and are alike for collations of the server.
var words = []string{"a", "A", "ä", "b", "B ", "b", "", " ", "ß", "ss", "日本", "it''s"}

// fill makes rows whose values read otherwise than they compare at the server:
// dates that do not exist, texts that collations hold for equal, fractions.
func fill(t *testing.T, s *mysqld.Server, db string, rng *rand.Rand) {
	t.Helper()
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db,
		"CREATE TABLE "+db+".orders (id BIGINT PRIMARY KEY, n INT, amount DECIMAL(12,3), word VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, label ENUM('a','A2','b'), at DATETIME(3), made DATETIME(3) NOT NULL, "+
			"day DATE, instant TIMESTAMP(3) NULL, ratio DOUBLE, doc JSON, flag TINYINT(1))")
	null := func(v string) string {
		if rng.IntN(6) == 0 {
			return "NULL"
		}
		return v
	}
	moments := []string{"0000-00-00 00:00:00", "1970-01-01 00:00:00", "2026-01-00 10:00:00", "2026-07-06 10:00:00", "2026-07-06 10:00:00.500", "2026-07-06 12:00:00", "1999-12-31 23:59:59.999", "9999-12-31 23:59:59.999"}
	moment := func() string { return "'" + moments[rng.IntN(len(moments))] + "'" }
	var rows []string
	for id := range 400 {
		rows = append(rows, "("+strings.Join([]string{
			fmt.Sprint(id - 200), null(fmt.Sprint(rng.IntN(20) - 10)), null(fmt.Sprintf("%d.%03d", rng.IntN(30)-15, rng.IntN(1000))),
			null("'" + words[rng.IntN(len(words))] + "'"), null(fmt.Sprint(1 + rng.IntN(3))), null(moment()), moment(), null("LEFT(" + moment() + ", 10)"),
			null("'2026-07-06 10:00:00.250'"), null(fmt.Sprint(rng.IntN(5))), null(`'{"k": 1}'`), null(fmt.Sprint(rng.IntN(2))),
		}, ", ")+")")
	}
	judge.Exec(t, s, "SET SESSION sql_mode = ''", "INSERT INTO "+db+".orders VALUES "+strings.Join(rows, ", "))
}

// conditions draws one comparison, or two.
func conditions(rng *rand.Rand) string {
	ops := []string{"=", "<>", "<", "<=", ">", ">="}
	moments := []string{"1970-01-01 00:00:00", "2026-07-06 10:00:00", "2026-07-06 10:00:00.5", "1998-01-01 00:00:00", "2026-07-06 11:00:00", "9999-12-31 23:59:59.999"}
	one := func() string {
		op := ops[rng.IntN(len(ops))]
		word := "'" + words[rng.IntN(len(words))] + "'"
		moment := "TIMESTAMP '" + moments[rng.IntN(len(moments))] + "'"
		switch rng.IntN(16) {
		case 0:
			return fmt.Sprintf("id %s %d", op, rng.IntN(400)-200)
		case 1:
			return fmt.Sprintf("n %s %d.5", op, rng.IntN(20)-10)
		case 2:
			return fmt.Sprintf("n IN (%d, %d, 99999999999)", rng.IntN(10), -rng.IntN(10))
		case 3:
			return fmt.Sprintf("amount %s %d.%d", op, rng.IntN(15), rng.IntN(100))
		case 4, 5:
			return fmt.Sprintf("word %s %s", op, word)
		case 6:
			return fmt.Sprintf("word IN ('a', %s)", word)
		case 7:
			return fmt.Sprintf("label %s 'A2'", op)
		case 8, 9:
			return fmt.Sprintf("at %s %s", op, moment)
		case 10, 11:
			return fmt.Sprintf("made %s %s", op, moment)
		case 12:
			return fmt.Sprintf("day %s DATE '%s'", op, moments[rng.IntN(len(moments))][:10])
		case 13:
			return fmt.Sprintf("instant %s TIMESTAMP '2026-07-06 10:00:00.250'", op)
		case 14:
			return []string{"n", "amount", "word", "at", "day", "doc", "flag"}[rng.IntN(7)] + []string{" IS NULL", " IS NOT NULL"}[rng.IntN(2)]
		default:
			return fmt.Sprintf("ratio %s 2.0 AND flag = TRUE", op)
		}
	}
	if rng.IntN(3) == 0 {
		return one() + []string{" AND ", " OR "}[rng.IntN(2)] + one()
	}
	return one()
}

// TestTheSourceReadsAsItsCopy reads a table of MySQL by SELECT: all values are those
// that a job carries into the lake, and every condition keeps the same rows, whatever
// of it the server looks at.
func TestTheSourceReadsAsItsCopy(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*mysqld.Server{"mysql": judge.MySQL(t), "mariadb": judge.MariaDB(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			db := "e2e_source_" + name
			fill(t, s, db, rng)
			source := harness.MySQLTable("src", sourceColumns, "orders")
			j := harness.NewJob(t, harness.Settings("copy-"+name, "300ms")+source+harness.LakeDatabase+
				harness.LakeTable("orders", sourceColumns, "", "bucket", "1")+"INSERT INTO orders SELECT * FROM default_catalog.default_database.src;\n", harness.SourceEnv(s, db)...)
			j.CatchUp()
			wheres := []string{"TRUE"}
			for range 500 {
				wheres = append(wheres, conditions(rng))
			}
			read := func(table string) []string {
				t.Helper()
				text := source
				for _, w := range wheres {
					text += "SELECT '@' AS a, * FROM " + table + " WHERE " + w + ";\n"
				}
				if err := os.WriteFile(filepath.Join(j.Dir, "reads.sql"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r := j.Leat("shell", "--warehouse", j.Warehouse(), "--output", "csv", "-f", "reads.sql")
				if r.Code != 0 {
					t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
				}
				return strings.Split(r.Stdout, "a,id,n,amount,word,label,at,made,day,instant,ratio,doc,flag\n")[1:]
			}
			ours, want := read("src"), read("d.orders")
			if len(ours) != len(wheres) || len(want) != len(wheres) {
				t.Fatalf("%d and %d results for %d statements", len(ours), len(want), len(wheres))
			}
			kept := 0
			for i, w := range wheres {
				a, b := lines(ours[i]), lines(want[i])
				if !slices.Equal(a, b) {
					t.Errorf("WHERE %s: %d rows of the source, %d of its copy\n%s\n%s", w, len(a), len(b), first(a, b), first(b, a))
				}
				kept += len(b)
			}
			if kept < 50*len(wheres) {
				t.Errorf("%d rows over %d statements", kept, len(wheres))
			}
		})
	}
}

// TestReconcile counts and sums the source and its copy by one script, and joins the two.
func TestReconcile(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	const db = "e2e_reconcile"
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db,
		"CREATE TABLE "+db+".orders (order_id BIGINT PRIMARY KEY, order_amount DECIMAL(18,2), update_time DATETIME(3))",
		"INSERT INTO "+db+".orders WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i * 1.25, TIMESTAMP '2026-07-06 09:00:00' + INTERVAL i * 15 SECOND FROM n")
	columns := "order_id BIGINT NOT NULL, order_amount DECIMAL(18,2), update_time TIMESTAMP(3), dt AS DATE_FORMAT(update_time, 'yyyy-MM-dd'), PRIMARY KEY (order_id) NOT ENFORCED"
	source := harness.MySQLTable("source_orders", columns, "orders")
	j := harness.NewJob(t, harness.Settings("reconcile", "300ms")+source+harness.LakeDatabase+
		harness.LakeTable("dwd_order_detail", strings.Replace(strings.Replace(columns, " AS DATE_FORMAT(update_time, 'yyyy-MM-dd')", " STRING", 1), "(order_id) NOT", "(dt, order_id) NOT", 1), "PARTITIONED BY (dt)", "bucket", "1")+
		"INSERT INTO dwd_order_detail SELECT * FROM default_catalog.default_database.source_orders;\n", harness.SourceEnv(s, db)...)
	j.CatchUp()
	judge.Exec(t, s, "INSERT INTO "+db+".orders VALUES (1000, 5, '2026-07-06 11:00:00')", "UPDATE "+db+".orders SET order_amount = 0 WHERE order_id = 250")
	text := source + `
-- The lines of the guide.
SELECT COUNT(DISTINCT order_id), SUM(order_amount)
FROM source_orders
WHERE update_time BETWEEN '2026-07-06 10:00:00' AND '2026-07-06 12:00:00';
SELECT COUNT(DISTINCT order_id), SUM(order_amount)
FROM d.dwd_order_detail
WHERE dt = '2026-07-06'
  AND update_time BETWEEN '2026-07-06 10:00:00' AND '2026-07-06 12:00:00';
SELECT s.order_id, s.dt, s.order_amount AS there, c.order_amount AS here
FROM source_orders AS s LEFT JOIN d.dwd_order_detail AS c ON s.order_id = c.order_id AND c.dt = s.dt
WHERE c.order_amount IS DISTINCT FROM s.order_amount ORDER BY s.order_id;
`
	if err := os.WriteFile(filepath.Join(j.Dir, "reconcile.sql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := j.Leat("shell", "--warehouse", j.Warehouse(), "--output", "csv", "-f", "reconcile.sql")
	want := "EXPR$0,EXPR$1\n482,288292.50\nEXPR$0,EXPR$1\n481,288600.00\norder_id,dt,there,here\n250,2026-07-06,0.00,312.50\n1000,2026-07-06,5.00,\n"
	if r.Code != 0 || !strings.HasSuffix(r.Stdout, want) {
		t.Errorf("exit code %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
}

func lines(text string) []string {
	out := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(out)
	return out
}

// first gives the first line of a that b lacks.
func first(a, b []string) string {
	for _, l := range a {
		if !slices.Contains(b, l) {
			return l
		}
	}
	return ""
}
