package mergetree

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// keyTypes are all types a key column may have.
var keyTypes = []columnar.DataType{
	columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt),
	columnar.Of(columnar.Float), columnar.Of(columnar.Double), columnar.DecimalOf(9, 2), columnar.DecimalOf(38, 10), columnar.StringType(), columnar.BytesType(),
	columnar.Of(columnar.Date),
	{Kind: columnar.Time, Precision: 3},
	columnar.TimestampOf(3), columnar.TimestampOf(6), columnar.TimestampOf(9),
}

// keyColumn makes n values of t with edge cases and many near each other.
func keyColumn(t columnar.DataType, n int, rnd *rand.Rand) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(t))
	defer b.Release()
	for range n {
		v := rnd.Int64N(5) - 2
		if rnd.IntN(3) == 0 {
			v = int64(rnd.Uint64())
		}
		switch b := b.(type) {
		case *array.BooleanBuilder:
			b.Append(v&1 == 0)
		case *array.Int8Builder:
			b.Append(int8(v))
		case *array.Int16Builder:
			b.Append(int16(v))
		case *array.Int32Builder:
			b.Append(int32(v))
		case *array.Int64Builder:
			b.Append(v)
		case *array.Date32Builder:
			b.Append(arrow.Date32(v))
		case *array.Time32Builder:
			b.Append(arrow.Time32(v & 0xffffff))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(v))
		case *array.Float32Builder:
			b.Append([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(v)}[rnd.IntN(6)])
		case *array.Float64Builder:
			b.Append([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), float64(v)}[rnd.IntN(6)])
		case *array.Decimal128Builder:
			d := decimal128.FromI64(v)
			if t.Precision > 18 {
				d = d.Mul(decimal128.FromI64(1 << 40))
			}
			b.Append(d)
		case *array.StringBuilder:
			b.Append([]string{"", "a", "a\x00", "a\x00b", "ab", "b", "\x00", "\xff", "é", "long enough to have more than eight bytes", "long enough to have more than eight bytes."}[rnd.IntN(11)])
		case *array.BinaryBuilder:
			b.Append([][]byte{{}, {0}, {0, 0}, {0, 255}, {255}, {1, 0, 1}}[rnd.IntN(6)])
		default:
			panic(fmt.Sprintf("no values for %s", t))
		}
	}
	return b.NewArray()
}

// TestKeyOrder compares normalised keys with Paimon's order of binary rows.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		const n = 40
		types := make([]columnar.DataType, rapid.IntRange(1, 3).Draw(rt, "columns"))
		cols := make([]arrow.Array, len(types))
		schema := &columnar.Schema{}
		idx := make([]int, len(types))
		for i := range types {
			types[i] = rapid.SampledFrom(keyTypes).Draw(rt, "type").NotNull()
			cols[i] = keyColumn(types[i], n+3, rnd)
			cols[i] = array.NewSlice(cols[i], 3, n+3)
			schema.Fields = append(schema.Fields, columnar.Field{Name: fmt.Sprint("c", i), Type: types[i]})
			idx[i] = i
		}
		codec, err := NewKeyCodec(types)
		if err != nil {
			rt.Fatal(err)
		}
		codec.Bind(cols)
		short := make([]uint64, n)
		if codec.Short {
			codec.Shorts(short)
		}
		enc, err := spec.NewRowEncoder(schema, idx)
		if err != nil {
			rt.Fatal(err)
		}
		batch := columnar.NewBatch(schema, nil, cols, n)
		keys := make([]Key, n)
		rows := make([]spec.BinaryRow, n)
		for i := range n {
			rows[i] = enc.Encode(batch, i).Clone()
			if codec.Short {
				keys[i] = Key{Prefix: short[i]}
				continue
			}
			b := codec.Append(nil, i)
			keys[i] = Key{Prefix: prefixOf(b), Rest: b}
		}
		for i := range n {
			for k := range n {
				want, err := spec.CompareRows(rows[i], rows[k], types)
				if err != nil {
					rt.Fatal(err)
				}
				if got := keys[i].Compare(keys[k]); cmp.Compare(got, 0) != cmp.Compare(want, 0) {
					rt.Fatalf("types %v: rows %d and %d compare as %d, want %d", types, i, k, got, want)
				}
			}
		}
	})
}

// TestBufferSortsLikeTheNaiveWay compares radix sort and deduplication with a stable sort and a map.
func TestBufferSortsLikeTheNaiveWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		n := rapid.SampledFrom([]int{0, 1, 2, 200, 255, 256, 3000}).Draw(rt, "rows")
		span := rapid.SampledFrom([]uint64{1, 10, 300, 1 << 20, math.MaxUint64}).Draw(rt, "span")
		short := rapid.Bool().Draw(rt, "short")
		b := &Buffer{short: short}
		type row struct {
			key string
			seq int
			log bool
		}
		var rows []row
		for i := range n {
			key := rnd.Uint64N(span)
			text := fmt.Sprintf("%020d", key)
			if !short && key%3 == 0 {
				text = text[18:] // keys of other lengths
			}
			log := rnd.IntN(10) == 0
			b.Add(key, []byte(text), uint32(i/100), uint32(i%100), columnar.UpdateAfter, log)
			rows = append(rows, row{text, i, log})
		}
		slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(x.key, y.key) })
		room := new(flushRoom)
		a := b.arrivals(room)
		ps := b.sorted(a, room)
		for i, r := range rows {
			if int(ps[i].at) != r.seq {
				rt.Fatalf("row %d is change %d, want %d", i, ps[i].at, r.seq)
			}
		}
		var want []int
		for i, r := range rows {
			later := slices.IndexFunc(rows[i+1:], func(o row) bool { return !o.log || o.key != r.key })
			if !r.log && (later < 0 || rows[i+1+later].key != r.key) {
				want = append(want, r.seq)
			}
		}
		var got []int
		for _, p := range a.latest(ps) {
			got = append(got, int(p.at))
			if e := a.ref(p.at); int(b.batches[e.batch])*100+int(e.row) != int(p.at) {
				rt.Fatalf("change %d stands in batch %d row %d", p.at, b.batches[e.batch], e.row)
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("survivors %v, want %v", got, want)
		}
	})
}

func TestAllocsOfBuffer(t *testing.T) {
	const n = 65536
	room := new(flushRoom)
	allocs := testing.AllocsPerRun(20, func() {
		b := NewBuffer(nil)
		for i := range uint32(n) {
			b.Add(uint64(i*7919%n), nil, 0, i, columnar.Insert, false)
		}
		a := b.arrivals(room)
		a.latest(b.sorted(a, room))
	})
	if allocs > 100 {
		t.Errorf("%v allocations for %d rows, want at most 100 (a few for each block)", allocs, n)
	}
}
