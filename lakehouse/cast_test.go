package lakehouse

import (
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// TestLocalClocks has times around the changes of a zone's clock, as Java's
// LocalDateTime.atZone and Instant.atZone have them.
func TestLocalClocks(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ clock, instant, shown string }{
		{"2024-01-15T12:00:00", "2024-01-15T11:00:00", "2024-01-15T12:00:00"},
		{"2024-07-15T12:00:00", "2024-07-15T10:00:00", "2024-07-15T12:00:00"},
		{"2024-03-31T01:59:59", "2024-03-31T00:59:59", "2024-03-31T01:59:59"},
		{"2024-03-31T02:30:00", "2024-03-31T01:30:00", "2024-03-31T03:30:00"}, // left out
		{"2024-03-31T03:00:00", "2024-03-31T01:00:00", "2024-03-31T03:00:00"},
		{"2024-10-27T02:30:00", "2024-10-27T00:30:00", "2024-10-27T02:30:00"}, // there twice
		{"2024-10-27T03:00:00", "2024-10-27T02:00:00", "2024-10-27T03:00:00"},
	} {
		millis := func(s string) int64 {
			at, err := time.Parse("2006-01-02T15:04:05", s)
			if err != nil {
				t.Fatal(err)
			}
			return at.UnixMilli()
		}
		m := moment{millis: millis(c.clock), nanos: 7}
		at := m.instant(berlin)
		if want := (moment{millis(c.instant), 7}); at != want {
			t.Errorf("%s: instant %v, want %v", c.clock, at, want)
		}
		if shown, want := at.local(berlin), (moment{millis(c.shown), 7}); shown != want {
			t.Errorf("%s: shown as %v, want %v", c.clock, shown, want)
		}
	}
}

// TestConditionsOnColumnsThatWereCast skips no file by statistics of another type.
func TestConditionsOnColumnsThatWereCast(t *testing.T) {
	t.Parallel()
	none := int64(0)
	stats := &spec.SimpleStats{NullCounts: []*int64{&none}}
	wide, narrow := columnar.DecimalOf(9, 2), columnar.DecimalOf(4, 2)
	for _, op := range []Op{IsNull, IsNotNull, Equal, Less} {
		c := condition{field: columnar.Field{Type: narrow}, op: op}
		if !c.mayMatch(stats, 0, wide, 5) {
			t.Errorf("condition %v leaves a file out", op)
		}
	}
	if c := (condition{field: columnar.Field{Type: wide}, op: IsNull}); c.mayMatch(stats, 0, wide, 5) {
		t.Error("a file without NULL is read for IS NULL")
	}
}

// BenchmarkCast casts a batch of 4096 values; none of these casts allocates by the value.
func BenchmarkCast(b *testing.B) {
	const n = 4096
	ints := array.NewInt32Builder(memory.DefaultAllocator)
	words := array.NewStringBuilder(memory.DefaultAllocator)
	times := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond})
	for i := range n {
		ints.Append(int32(i * 31337))
		words.Append(strconv.Itoa(i * 31337))
		times.Append(arrow.Timestamp(i * 1_700_000_123))
	}
	numbers := ints.NewArray()
	for _, c := range []struct {
		a        arrow.Array
		from, to columnar.DataType
	}{
		{numbers, columnar.Of(columnar.Int), columnar.Of(columnar.BigInt)},
		{numbers, columnar.Of(columnar.Int), columnar.StringType()},
		{words.NewArray(), columnar.StringType(), columnar.Of(columnar.BigInt)},
		{times.NewArray(), columnar.TimestampOf(6), columnar.StringType()},
	} {
		b.Run(c.from.String()+" to "+c.to.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := castArray(c.a, c.from, c.to)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
		})
	}
}
