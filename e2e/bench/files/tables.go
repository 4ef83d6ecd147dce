package files

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// table is what is written and read.
type table struct {
	name   string
	fields []columnar.Field
	// distinct are the columns of which a merge-tree writer knows that values hardly repeat.
	distinct []string
	// append adds the row numbered id to the builders, in the order of fields.
	append func(b []array.Builder, id int64, rnd *rand.Rand)
}

// chunkRows is how many rows are made at once.
const chunkRows = 8192

// tables gives the tables by name.
func tables() []table { return []table{orders(), wide()} }

func tableOf(name string) (table, error) {
	for _, t := range tables() {
		if t.name == name {
			return t, nil
		}
	}
	return table{}, fmt.Errorf("there is no table %q", name)
}

// orders is a file of a merge tree: system columns and seven of the table, in the order of the key.
func orders() table {
	bigint := columnar.Of(columnar.BigInt)
	states := []string{"created", "paid", "shipped", "delivered", "cancelled"}
	base := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return table{
		name: "orders", distinct: []string{"_KEY_order_id", "_SEQUENCE_NUMBER", "order_id"},
		fields: []columnar.Field{
			{ID: 1073741823, Name: "_KEY_order_id", Type: bigint.NotNull()},
			{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: bigint.NotNull()},
			{ID: 2147483645, Name: "_VALUE_KIND", Type: columnar.Of(columnar.TinyInt).NotNull()},
			{ID: 0, Name: "order_id", Type: bigint.NotNull()},
			{ID: 1, Name: "user_id", Type: bigint},
			{ID: 2, Name: "order_amount", Type: columnar.DecimalOf(18, 2)},
			{ID: 3, Name: "status", Type: columnar.StringType()},
			{ID: 4, Name: "address", Type: columnar.StringType()},
			{ID: 5, Name: "create_time", Type: columnar.TimestampOf(3)},
			{ID: 6, Name: "update_time", Type: columnar.TimestampOf(3)},
		},
		append: func(b []array.Builder, id int64, rnd *rand.Rand) {
			created := base + id*86 + rnd.Int64N(50)
			b[0].(*array.Int64Builder).Append(id)
			b[1].(*array.Int64Builder).Append(id)
			b[2].(*array.Int8Builder).Append(0)
			b[3].(*array.Int64Builder).Append(id)
			b[4].(*array.Int64Builder).Append(rnd.Int64N(1_000_000))
			b[5].(*array.Decimal128Builder).Append(decimal128.FromI64(rnd.Int64N(5_000_000)))
			b[6].(*array.StringBuilder).Append(states[rnd.IntN(len(states))])
			b[7].(*array.StringBuilder).Append(fmt.Sprintf("%d Main Street, City %d", rnd.IntN(10_000), rnd.IntN(500)))
			b[8].(*array.TimestampBuilder).Append(arrow.Timestamp(created))
			b[9].(*array.TimestampBuilder).Append(arrow.Timestamp(created + rnd.Int64N(60_000)))
		},
	}
}

// wideKinds are the types of the wide table, repeated.
var wideKinds = []columnar.DataType{
	columnar.Of(columnar.BigInt), columnar.Of(columnar.Int), columnar.Of(columnar.TinyInt), columnar.Of(columnar.Boolean),
	columnar.Of(columnar.Double), columnar.DecimalOf(18, 2), columnar.StringType(), columnar.StringType(),
	columnar.Of(columnar.Date), columnar.TimestampOf(6),
}

// wide is 120 nullable columns of ten types; a tenth of the values is null.
func wide() table {
	t := table{name: "wide", append: appendWide}
	for i := range 120 {
		t.fields = append(t.fields, columnar.Field{ID: i, Name: fmt.Sprintf("c%03d", i), Type: wideKinds[i%len(wideKinds)]})
	}
	return t
}

func appendWide(builders []array.Builder, id int64, rnd *rand.Rand) {
	base := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for i, b := range builders {
		if rnd.IntN(10) == 0 {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.Int64Builder:
			b.Append(id*10 + rnd.Int64N(1000))
		case *array.Int32Builder:
			b.Append(rnd.Int32N(100_000))
		case *array.Int8Builder:
			b.Append(int8(rnd.IntN(6)))
		case *array.BooleanBuilder:
			b.Append(rnd.IntN(3) == 0)
		case *array.Float64Builder:
			b.Append(float64(rnd.IntN(1_000_000)) / 100)
		case *array.Decimal128Builder:
			b.Append(decimal128.FromI64(rnd.Int64N(10_000_000)))
		case *array.StringBuilder:
			if i%len(wideKinds) == 6 {
				b.Append(fmt.Sprintf("value %d", rnd.IntN(300)))
			} else {
				b.Append(fmt.Sprintf("%x-%s", rnd.Uint32(), strings.Repeat("n", rnd.IntN(9))))
			}
		case *array.Date32Builder:
			b.Append(arrow.Date32(20_000 + rnd.IntN(800)))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(base.UnixMicro() + id*1_000_000 + rnd.Int64N(1_000_000)))
		}
	}
}

// batches makes the first rows rows and gives them to each in chunks.
func (t *table) batches(rows int64, each func(cols []arrow.Array, n int) error) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: t.fields})
	for at := int64(0); at < rows; at += chunkRows {
		n := min(chunkRows, rows-at)
		for id := at; id < at+n; id++ {
			t.append(b, id, rnd)
		}
		cols := make([]arrow.Array, len(b))
		for i := range b {
			cols[i] = b[i].NewArray()
		}
		if err := each(cols, int(n)); err != nil {
			return err
		}
	}
	return nil
}
