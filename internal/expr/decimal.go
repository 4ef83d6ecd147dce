package expr

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// pow10 gives 10^k for 0 ≤ k ≤ 38.
func pow10(k int) decimal128.Num { return decimal128.GetScaleMultiplier(k) }

var pow10u64 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// magnitude splits v into sign and absolute value.
func magnitude(v decimal128.Num) (hi, lo uint64, negative bool) {
	hi, lo = uint64(v.HighBits()), v.LowBits()
	if v.HighBits() >= 0 {
		return hi, lo, false
	}
	var borrow uint64
	lo, borrow = bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(0, hi, borrow)
	return hi, lo, true
}

func signed(hi, lo uint64, negative bool) decimal128.Num {
	v := decimal128.New(int64(hi), lo)
	if negative {
		return v.Negate()
	}
	return v
}

// rescaleUp gives v·10^k; ok is false if the result has more than 38 digits.
func rescaleUp(v decimal128.Num, k int) (decimal128.Num, bool) {
	if k == 0 {
		return v, true
	}
	hi, lo, negative := magnitude(v)
	if hi == 0 && k < len(pow10u64) {
		hi, lo = bits.Mul64(lo, pow10u64[k])
		if hi>>63 != 0 {
			return v, false
		}
		r := decimal128.New(int64(hi), lo)
		if hi != 0 && !r.Less(pow10(maxPrecision)) {
			return v, false
		}
		if negative {
			r = r.Negate()
		}
		return r, true
	}
	if hi == 0 && lo == 0 {
		return v, true
	}
	if k > maxPrecision || !signed(hi, lo, false).Less(pow10(maxPrecision-k)) {
		return v, false
	}
	return signed(hi, lo, negative).Mul(pow10(k)), true
}

// rounding says what becomes of the digits that a lower scale drops.
type rounding uint8

const (
	halfUp rounding = iota // away from zero from half on
	towardZero
	towardFloor
	towardCeiling
)

// rescaleDown gives v/10^k.
func rescaleDown(v decimal128.Num, k int, r rounding) decimal128.Num {
	hi, lo, negative := magnitude(v)
	exact := true
	for k > 19 {
		var rem uint64
		hi, lo, rem = divide64(hi, lo, pow10u64[19])
		exact = exact && rem == 0
		k -= 19
	}
	var up bool
	if k > 0 {
		d := pow10u64[k]
		var rem uint64
		hi, lo, rem = divide64(hi, lo, d)
		// Digits dropped before this step lie below half of d, which is even: they never decide.
		up = rem >= d/2
		exact = exact && rem == 0
	}
	switch r {
	case halfUp: // up is right
	case towardZero:
		up = false
	case towardFloor:
		up = !exact && negative
	case towardCeiling:
		up = !exact && !negative
	}
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	return signed(hi, lo, negative)
}

func divide64(hi, lo, d uint64) (qhi, qlo, rem uint64) {
	qhi, rem = hi/d, hi%d
	qlo, rem = bits.Div64(rem, lo, d)
	return qhi, qlo, rem
}

// rescale moves v from scale s1 to a decimal of precision p2 and scale s2; ok is
// false if it does not fit.
func rescale(v decimal128.Num, s1, p2, s2 int) (decimal128.Num, bool) {
	if s2 >= s1 {
		r, ok := rescaleUp(v, s2-s1)
		return r, ok && fitsPrecision(r, p2)
	}
	r := rescaleDown(v, s1-s2, halfUp)
	return r, fitsPrecision(r, p2)
}

func fitsPrecision(v decimal128.Num, p int) bool {
	hi, lo, _ := magnitude(v)
	if p < len(pow10u64) {
		return hi == 0 && lo < pow10u64[p]
	}
	limit := pow10(p)
	return hi < uint64(limit.HighBits()) || hi == uint64(limit.HighBits()) && lo < limit.LowBits()
}

// compareDecimals compares a at scale s1 with b at scale s2.
func compareDecimals(a decimal128.Num, s1 int, b decimal128.Num, s2 int) int {
	switch {
	case s1 < s2:
		r, ok := rescaleUp(a, s2-s1)
		if !ok {
			return a.Sign()
		}
		a = r
	case s2 < s1:
		r, ok := rescaleUp(b, s1-s2)
		if !ok {
			return -b.Sign()
		}
		b = r
	}
	return a.Cmp(b)
}

// bigDecimals computes what does not fit 128 bits; its numbers are used again.
type bigDecimals struct {
	a, b, q, r big.Int
	aw, bw     [2]big.Word
}

func setBig(z *big.Int, w *[2]big.Word, v decimal128.Num) {
	hi, lo, negative := magnitude(v)
	w[0], w[1] = big.Word(lo), big.Word(hi)
	z.SetBits(w[:])
	if negative {
		z.Neg(z)
	}
}

var bigPow10 = func() (p [80]*big.Int) {
	for i := range p {
		p[i] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(i)), nil)
	}
	return p
}()

// fit rounds q·10^-scale half up to a decimal of precision p and scale s.
func (d *bigDecimals) fit(q *big.Int, scale, p, s int) (decimal128.Num, bool) {
	switch {
	case s > scale:
		q.Mul(q, bigPow10[s-scale])
	case s < scale:
		d.divideHalfUp(q, bigPow10[scale-s])
	}
	if q.CmpAbs(bigPow10[p]) >= 0 {
		return decimal128.Num{}, false
	}
	return decimal128.FromBigInt(q), true
}

// divideHalfUp sets q to q/by, rounded half away from zero.
func (d *bigDecimals) divideHalfUp(q, by *big.Int) {
	sign := q.Sign() * by.Sign()
	q.QuoRem(q, by, &d.r)
	d.r.Lsh(&d.r, 1)
	if d.r.CmpAbs(by) >= 0 {
		if sign < 0 {
			q.Sub(q, bigPow10[0])
		} else {
			q.Add(q, bigPow10[0])
		}
	}
}

// addBig gives a·10^-s1 ± b·10^-s2 as a decimal(p,s).
func (d *bigDecimals) add(a decimal128.Num, s1 int, b decimal128.Num, s2 int, subtract bool, p, s int) (decimal128.Num, bool) {
	setBig(&d.a, &d.aw, a)
	setBig(&d.b, &d.bw, b)
	scale := max(s1, s2)
	d.q.Mul(&d.a, bigPow10[scale-s1])
	d.r.Mul(&d.b, bigPow10[scale-s2])
	if subtract {
		d.q.Sub(&d.q, &d.r)
	} else {
		d.q.Add(&d.q, &d.r)
	}
	return d.fit(&d.q, scale, p, s)
}

// multiply gives a·b, whose exact scale is scale, as a decimal(p,s).
func (d *bigDecimals) multiply(a, b decimal128.Num, scale, p, s int) (decimal128.Num, bool) {
	setBig(&d.a, &d.aw, a)
	setBig(&d.b, &d.bw, b)
	d.q.Mul(&d.a, &d.b)
	return d.fit(&d.q, scale, p, s)
}

// divide gives a·10^-s1 / b·10^-s2 as a decimal(p,s). As in Flink the quotient is
// first rounded to 38 significant digits, then to the scale.
func (d *bigDecimals) divide(a decimal128.Num, s1 int, b decimal128.Num, s2, p, s int) (decimal128.Num, bool) {
	setBig(&d.a, &d.aw, a)
	setBig(&d.b, &d.bw, b)
	if d.a.Sign() == 0 {
		return decimal128.Num{}, true
	}
	// Give the quotient 38 or 39 digits: digits(a)+k-digits(b) is one too many or right.
	k := maxPrecision + digitCount(&d.b) - digitCount(&d.a)
	if !d.firstQuotientFits(k) {
		k--
	}
	if k >= 0 {
		d.q.Mul(&d.a, bigPow10[k])
	} else {
		d.q.Set(&d.a)
		d.b.Mul(&d.b, bigPow10[-k])
	}
	d.divideHalfUp(&d.q, &d.b)
	return d.fitWide(s1-s2+k, p, s)
}

// firstQuotientFits reports whether a·10^k/b has at most 38 digits before the point.
func (d *bigDecimals) firstQuotientFits(k int) bool {
	if k >= 0 {
		d.q.Mul(&d.a, bigPow10[k])
		d.r.Mul(&d.b, bigPow10[maxPrecision])
	} else {
		d.q.Set(&d.a)
		d.r.Mul(&d.b, bigPow10[maxPrecision-k])
	}
	return d.q.CmpAbs(&d.r) < 0
}

// fitWide is fit for d.q at a scale that may lie outside 0…79.
func (d *bigDecimals) fitWide(scale, p, s int) (decimal128.Num, bool) {
	if scale-s >= len(bigPow10) {
		return decimal128.Num{}, true
	}
	if s-scale >= len(bigPow10) {
		return decimal128.Num{}, d.q.Sign() == 0
	}
	return d.fit(&d.q, scale, p, s)
}

func digitCount(v *big.Int) int {
	n := max(int(float64(v.BitLen()-1)*0.30103)-1, 0)
	for n < len(bigPow10) && v.CmpAbs(bigPow10[n]) >= 0 {
		n++
	}
	return n
}

// remainder gives the remainder of a by b, with the sign of a, as a decimal(p,s).
func (d *bigDecimals) remainder(a decimal128.Num, s1 int, b decimal128.Num, s2, p, s int) (decimal128.Num, bool) {
	setBig(&d.a, &d.aw, a)
	setBig(&d.b, &d.bw, b)
	scale := max(s1, s2)
	d.q.Mul(&d.a, bigPow10[scale-s1])
	d.b.Mul(&d.b, bigPow10[scale-s2])
	d.q.Rem(&d.q, &d.b)
	return d.fit(&d.q, scale, p, s)
}
