package orc

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"
)

// TestUpScaleIsAtScale compares the short way for small numbers with the long one.
func TestUpScaleIsAtScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := decimal128.FromI64(rapid.Int64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift"))
		if rapid.IntRange(0, 9).Draw(t, "wide") == 0 {
			v = decimal128.New(rapid.Int64().Draw(t, "high"), v.LowBits())
		}
		from, to := rapid.Int64Range(0, 9).Draw(t, "from"), rapid.Int64Range(0, 9).Draw(t, "to")
		got, ok := upScale(v, to-from)
		small := v == decimal128.FromI64(int64(v.LowBits())) && int64(v.LowBits()) < 1<<40 && int64(v.LowBits()) >= -1<<40
		if want := small && to >= from && to-from < 7; ok != want {
			t.Fatalf("upScale of %v from %d to %d: %v, want %v", v, from, to, ok, want)
		}
		if want, _ := atScale(v, from, to); ok && got != want {
			t.Fatalf("%v from scale %d to %d is %v, want %v", v, from, to, got, want)
		}
	})
}
