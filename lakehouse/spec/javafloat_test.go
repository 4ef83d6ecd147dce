package spec

import (
	"math"
	"testing"
)

func TestJavaFloat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v      float64
		single bool
		want   string
	}{
		{0, false, "0.0"},
		{math.Copysign(0, -1), true, "-0.0"},
		{0.001, false, "0.001"},
		{0.0009, false, "9.0E-4"},
		{9999999, false, "9999999.0"},
		{1e7, false, "1.0E7"},
		{2e23, false, "2.0E23"},
		{-1.25e-10, false, "-1.25E-10"},
		{math.SmallestNonzeroFloat64, false, "4.9E-324"},
		{math.SmallestNonzeroFloat32, true, "1.4E-45"},
		{math.MaxFloat32, true, "3.4028235E38"},
		{float64(float32(0.1)), true, "0.1"},
		{math.MaxFloat64, false, "1.7976931348623157E308"},
		{math.NaN(), false, "NaN"},
		{math.Inf(-1), true, "-Infinity"},
	} {
		if got := JavaFloat(c.v, c.single); got != c.want {
			t.Errorf("JavaFloat(%g) = %s, want %s", c.v, got, c.want)
		}
	}
}
