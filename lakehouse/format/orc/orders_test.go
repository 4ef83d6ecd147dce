package orc

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// OrderFields are the columns of a merge-tree file of a seven-column orders table.
func OrderFields() []columnar.Field {
	return []columnar.Field{
		{ID: 1073741823, Name: "_KEY_order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 2147483645, Name: "_VALUE_KIND", Type: columnar.Of(columnar.TinyInt).NotNull()},
		{ID: 0, Name: "order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 1, Name: "user_id", Type: columnar.Of(columnar.BigInt)},
		{ID: 2, Name: "order_amount", Type: columnar.DecimalOf(18, 2)},
		{ID: 3, Name: "status", Type: columnar.StringType()},
		{ID: 4, Name: "address", Type: columnar.StringType()},
		{ID: 5, Name: "create_time", Type: columnar.TimestampOf(3)},
		{ID: 6, Name: "update_time", Type: columnar.TimestampOf(3)},
	}
}

// OrderColumns makes orders, numbered from from.
func OrderColumns(rows int, from int64) []arrow.Array {
	s := &columnar.Schema{Fields: OrderFields()}
	b := columnar.NewBuilders(memory.DefaultAllocator, s)
	rnd := rand.New(rand.NewPCG(1, uint64(from)))
	states := []string{"created", "paid", "shipped", "delivered", "cancelled"}
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range int64(rows) {
		id := from + i
		b[0].(*array.Int64Builder).Append(id)
		b[1].(*array.Int64Builder).Append(id)
		b[2].(*array.Int8Builder).Append(0)
		b[3].(*array.Int64Builder).Append(id)
		b[4].(*array.Int64Builder).Append(rnd.Int64N(100_000))
		b[5].(*array.Decimal128Builder).Append(decimal128.FromI64(rnd.Int64N(1_000_000)))
		b[6].(*array.StringBuilder).Append(states[rnd.IntN(len(states))])
		b[7].(*array.StringBuilder).Append(fmt.Sprintf("%d Main Street, City %d", rnd.IntN(10_000), rnd.IntN(500)))
		ts := base + id*86 + rnd.Int64N(50)
		b[8].(*array.TimestampBuilder).Append(arrow.Timestamp(ts))
		b[9].(*array.TimestampBuilder).Append(arrow.Timestamp(ts + rnd.Int64N(1000)))
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return cols
}
