package cdctypes

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/google/go-cmp/cmp"

	"leat/cdc/mysqlrow"
	"leat/e2e/judge"
	"leat/internal/columnar"
)

// randomColumns are types with the SQL of a random value of theirs.
var randomColumns = []struct {
	sql   string
	value func(r *rand.Rand) string
}{
	{"json", func(r *rand.Rand) string { return literal(document(r, 4)) }},
	{"json", func(r *rand.Rand) string {
		return fmt.Sprintf("JSON_ARRAY(CAST(%s AS DECIMAL(%d,%d)), CAST('%s' AS TIME(6)), CAST('%s' AS DATETIME(6)), %s)",
			digits(r, 35, 30), 65, r.IntN(31), span(r), moment(r), double(r))
	}},
	{"time(6)", func(r *rand.Rand) string { return "'" + span(r) + "'" }},
	{"time(1)", func(r *rand.Rand) string { return "'" + span(r) + "'" }},
	{"datetime(6)", func(r *rand.Rand) string { return "'" + moment(r) + "'" }},
	{"decimal(65,30)", func(r *rand.Rand) string { return digits(r, 35, 30) }},
	{"double", double},
	{"float", func(r *rand.Rand) string {
		return fmt.Sprintf("%g", float64(math.Float32frombits(r.Uint32()&0xBF7FFFFF)))
	}},
	{"bit(37)", func(r *rand.Rand) string { return fmt.Sprint(r.Uint64() >> 27) }},
	{"set('a','b','c','d','e','f','g','h','i')", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(512)) }},
	{"geometry", func(r *rand.Rand) string {
		return fmt.Sprintf("ST_GeomFromText('GEOMETRYCOLLECTION(POINT(%g %g),LINESTRING(%g 0,1 %g))')", r.NormFloat64(), r.NormFloat64()*1e20, r.Float64()*1e-9, r.NormFloat64())
	}},
}

// document makes a random JSON value.
func document(r *rand.Rand, depth int) any {
	switch kind := r.IntN(8); {
	case kind == 0 && depth > 0:
		list := make([]any, r.IntN(5))
		for i := range list {
			list[i] = document(r, depth-1)
		}
		return list
	case kind <= 2 && depth > 0:
		object := make(map[string]any)
		for range r.IntN(6) {
			object[text(r)] = document(r, depth-1)
		}
		return object
	case kind == 3:
		return json.Number(double(r))
	case kind == 4:
		return r.Int64() >> r.IntN(64)
	case kind == 5:
		return r.Uint64() >> r.IntN(64)
	case kind == 6:
		return []any{true, false, nil}[r.IntN(3)]
	default:
		return text(r)
	}
}

func text(r *rand.Rand) string {
	letters := []rune("abc :,\"\\/\b\t\n\x00\x1F\x7Fé😀\u2028'{}[]")
	out := make([]rune, r.IntN(20))
	for i := range out {
		out[i] = letters[r.IntN(len(letters))]
	}
	return string(out)
}

func double(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return fmt.Sprintf("%de%d", r.IntN(100_000), r.IntN(40)-20)
	}
	for {
		if x := math.Float64frombits(r.Uint64()); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return fmt.Sprintf("%.17e", x)
		}
	}
}

func digits(r *rand.Rand, whole, fraction int) string {
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteByte('-')
	}
	for range 1 + r.IntN(whole) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	b.WriteByte('.')
	for range 1 + r.IntN(fraction) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	return b.String()
}

func span(r *rand.Rand) string {
	return fmt.Sprintf("%s%d:%02d:%02d.%06d", []string{"", "-"}[r.IntN(2)], r.IntN(838), r.IntN(60), r.IntN(60), r.IntN(1_000_000))
}

func moment(r *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%06d", 1+r.IntN(9999), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000))
}

// literal writes a document as an SQL literal.
func literal(doc any) string {
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("CONVERT(X'%X' USING utf8mb4)", b)
}

// TestRandomValues writes random values of the types whose two forms are most
// apart, and reads them on both paths.
func TestRandomValues(t *testing.T) {
	s, c := start(t, judge.OwnMySQL)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	columnsSQL := make([]string, len(randomColumns))
	for i, rc := range randomColumns {
		columnsSQL[i] = fmt.Sprintf("c%d %s", i, rc.sql)
	}
	execute(t, c, "CREATE TABLE random (id INT AUTO_INCREMENT PRIMARY KEY, "+strings.Join(columnsSQL, ", ")+")")
	plan, schema := everyColumn(t, c, "random")
	from := position(t, s)
	for range 20 {
		var rows []string
		for range 100 {
			cells := []string{"NULL"}
			for _, rc := range randomColumns {
				cells = append(cells, rc.value(r))
			}
			rows = append(rows, "("+strings.Join(cells, ", ")+")")
		}
		execute(t, c, "INSERT INTO random VALUES "+strings.Join(rows, ", "))
	}
	binlog, snapshot := mysqlrow.NewBuilder(plan, 2000), mysqlrow.NewBuilder(plan, 2000)
	readBinlog(t, s, from, position(t, s), func(_ string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		layout, err := plan.Bind(m)
		if err != nil {
			return err
		}
		return binlog.AppendRows(layout, r)
	})
	reader := connect(t, s, append(mysqlrow.SessionStatements(), "USE "+database)...)
	selectPackets(t, reader, "SELECT "+strings.Join(plan.SelectList(), ", ")+" FROM random ORDER BY id", func(p []byte) error {
		return snapshot.AppendText(columnar.Insert, p)
	})
	want, got := rows(t, snapshot, schema), rows(t, binlog, schema)
	if len(want) != 2000 {
		t.Fatalf("%d rows", len(want))
	}
	bad := 0
	for i := range want {
		if want[i] != got[i] {
			if bad++; bad <= 3 {
				t.Errorf("row %d (-SELECT +binlog):\n%s", i, cmp.Diff(want[i], got[i]))
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d rows differ", bad)
	}
}

// everyColumn plans all columns of a table with their natural types.
func everyColumn(t *testing.T, c *client.Conn, name string) (*mysqlrow.Plan, *columnar.Schema) {
	t.Helper()
	cols := columns(t, c, database, name)
	schema := &columnar.Schema{}
	var targets []mysqlrow.Target
	for i, col := range cols {
		typ, err := mysqlrow.NaturalType(col)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, mysqlrow.Target{Column: i, Type: typ})
		schema.Fields = append(schema.Fields, columnar.Field{Name: col.Name, Type: typ})
	}
	plan, err := mysqlrow.NewPlan(cols, targets, mysqlrow.Options{Table: database + "." + name})
	if err != nil {
		t.Fatal(err)
	}
	return plan, schema
}
