package sketch

import "sort"

// Coupons are the first hashes of an HLL sketch, before it has registers: 26
// bits of address, above them 6 of value. They are listed, then hashed.
const (
	couponBits    = 26
	couponMask    = 1<<couponBits - 1
	lgListSize    = 3
	lgFirstTable  = 5
	leastTableLgK = 8 // smaller sketches go from the list to registers
)

func coupon(slot, value int) uint32 { return uint32(value)<<couponBits | uint32(slot)&couponMask }

// findCoupon gives where c is in a table of 1<<lg entries, or where it belongs.
func findCoupon(table []uint32, lg int, c uint32) (at int, found bool) {
	mask := len(table) - 1
	at = int(c) & mask
	for table[at] != 0 {
		if table[at] == c {
			return at, true
		}
		at = (at + (int(c&couponMask)>>lg | 1)) & mask
	}
	return at, false
}

// findSlot is findCoupon in a table of the registers too large for four bits.
func findSlot(table []uint32, lg, lgK, slot int) int {
	mask := len(table) - 1
	at := slot & mask
	for table[at] != 0 && int(table[at])&(1<<lgK-1) != slot {
		at = (at + (slot>>lg | 1)) & mask
	}
	return at
}

// Counts that the numbers of coupons mean (CouponMapping.java).
var (
	couponX = []float64{
		0, 1, 20, 400, 8000, 160000, 300000, 600000, 900000, 1200000, 1500000, 1800000, 2100000, 2400000, 2700000, 3000000,
		3300000, 3600000, 3900000, 4200000, 4500000, 4800000, 5100000, 5400000, 5700000, 6000000, 6300000, 6600000, 6900000,
		7200000, 7500000, 7800000, 8100000, 8400000, 8700000, 9000000, 9300000, 9600000, 9900000, 10200000,
	}
	couponY = []float64{
		0.0000000000000000, 1.0000000000000000, 20.0000009437402611, 400.0003963713384110, 8000.1589294602090376, 160063.6067763759638183,
		300223.7071597663452849, 600895.5933856170158833, 902016.8065120954997838, 1203588.4983199508860707, 1505611.8245524743106216,
		1808087.9449319066479802, 2111018.0231759352609515, 2414403.2270142501220107, 2718244.7282051891088486, 3022543.7025524540804327,
		3327301.3299219091422856, 3632518.7942584538832307, 3938197.2836029687896371, 4244337.9901093561202288, 4550942.1100616492331028,
		4858010.8438911894336343, 5165545.3961938973516226, 5473546.9757476449012756, 5782016.7955296505242586, 6090956.0727340159937739,
		6400366.0287892958149314, 6710247.8893762007355690, 7020602.8844453142955899, 7331432.2482349723577499, 7642737.2192891482263803,
		7954519.0404754765331745, 8266778.9590033423155546, 8579518.2264420464634895, 8892738.0987390466034412, 9206439.8362383283674717,
		9520624.7036988288164139, 9835293.9703129194676876, 10150448.9097250290215015, 10466090.8000503256917000,
	}
)

// couponEstimate is the count that n coupons mean: a cubic curve through four points of the table.
func couponEstimate(n int) float64 {
	x := float64(n)
	last := len(couponX) - 1
	if x >= couponX[last] {
		return max(couponY[last], x)
	}
	at := sort.SearchFloat64s(couponX, x)
	if couponX[at] > x {
		at--
	}
	switch at {
	case 0:
	case last - 1:
		at -= 2
	default:
		at--
	}
	return max(cubic([4]float64(couponX[at:at+4]), [4]float64(couponY[at:at+4]), x), x)
}

// cubic is Lagrange's curve, computed in Java's order: the conversions keep the
// compiler from joining operations, which would round otherwise.
func cubic(x, y [4]float64, v float64) float64 {
	var terms [4]float64
	for i := range terms {
		numerator, denominator, first := 1.0, 1.0, true
		for k := range x {
			if k == i {
				continue
			}
			if first {
				numerator, denominator, first = v-x[k], x[i]-x[k], false
				continue
			}
			numerator = float64(numerator * float64(v-x[k]))
			denominator = float64(denominator * float64(x[i]-x[k]))
		}
		terms[i] = float64(y[i]*numerator) / denominator
	}
	return terms[0] + terms[1] + terms[2] + terms[3]
}
