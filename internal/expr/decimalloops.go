package expr

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// decimalOp is one operation on decimals with the parameters of its types.
type decimalOp struct {
	p1, s1, p2, s2 int
	p, s           int
	big            bigDecimals
}

func decimalLoop(e *callExpr) loop {
	a, b := e.args[0].Type(), e.args[1].Type()
	d := &decimalOp{p1: a.Precision, s1: a.Scale, p2: b.Precision, s2: b.Scale, p: e.t.Precision, s: e.t.Scale}
	switch e.fn.name {
	case "+":
		return d.sumLoop(false)
	case "-":
		return d.sumLoop(true)
	case "*":
		return d.apply(nil, d.multiply)
	case "/":
		return d.apply(e, d.divide)
	default:
		return d.apply(e, func(a, b decimal128.Num) (decimal128.Num, bool) {
			return d.big.remainder(a, d.s1, b, d.s2, d.p, d.s)
		})
	}
}

// sumLoop is + and -. Where 38 digits hold both sides at the common scale, no row needs a check.
func (d *decimalOp) sumLoop(subtract bool) loop {
	scale := max(d.s1, d.s2)
	if d.s != scale || max(d.p1-d.s1, d.p2-d.s2)+scale+1 > maxPrecision {
		return d.apply(nil, func(a, b decimal128.Num) (decimal128.Num, bool) {
			return d.big.add(a, d.s1, b, d.s2, subtract, d.p, d.s)
		})
	}
	m1, m2 := pow10(scale-d.s1), pow10(scale-d.s2)
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		r := grow[decimal128.Num](out, n)
		out.mergeValid(n, in...)
		a, b := values[decimal128.Num](in[0])[:n], values[decimal128.Num](in[1])[:n]
		switch {
		case d.s1 == d.s2 && !subtract:
			for i := range r {
				r[i] = a[i].Add(b[i])
			}
		case d.s1 == d.s2:
			for i := range r {
				r[i] = a[i].Sub(b[i])
			}
		case !subtract:
			for i := range r {
				r[i] = a[i].Mul(m1).Add(b[i].Mul(m2))
			}
		default:
			for i := range r {
				r[i] = a[i].Mul(m1).Sub(b[i].Mul(m2))
			}
		}
		return nil
	}
}

// apply runs op on the rows without NULL; rows where it does not fit become
// NULL. zero, if given, is the expression to blame for a divisor of zero.
func (d *decimalOp) apply(zero *callExpr, op func(a, b decimal128.Num) (decimal128.Num, bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		r := grow[decimal128.Num](out, n)
		out.mergeValid(n, in...)
		a, b := values[decimal128.Num](in[0])[:n], values[decimal128.Num](in[1])[:n]
		for i := range r {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			if zero != nil && b[i] == (decimal128.Num{}) {
				if f.isActive(i) {
					return errDivideByZero(zero)
				}
				out.setNull(i, n)
				continue
			}
			v, ok := op(a[i], b[i])
			r[i] = v
			if !ok {
				out.setNull(i, n)
			}
		}
		return nil
	}
}

func (d *decimalOp) multiply(a, b decimal128.Num) (decimal128.Num, bool) {
	if d.s != d.s1+d.s2 || d.p1+d.p2 > maxPrecision {
		return d.big.multiply(a, b, d.s1+d.s2, d.p, d.s)
	}
	h1, l1, n1 := magnitude(a)
	h2, l2, n2 := magnitude(b)
	if h1|h2 == 0 {
		hi, lo := bits.Mul64(l1, l2)
		return signed(hi, lo, n1 != n2), true
	}
	return a.Mul(b), true
}

// divide takes the short way where the dividend fits 128 bits, the divisor 64,
// and rounding to 38 digits first, as Flink does, cannot change the result:
// that needs a divisor of at least 10^(38-p).
func (d *decimalOp) divide(a, b decimal128.Num) (decimal128.Num, bool) {
	k := d.s - d.s1 + d.s2
	h2, divisor, n2 := magnitude(b)
	if h2 == 0 && k >= 0 && d.p1+k <= maxPrecision && d.p < maxPrecision {
		limit := pow10(maxPrecision - d.p)
		if limit.HighBits() > 0 || divisor < limit.LowBits() {
			hi, lo, n1 := magnitude(a.Mul(pow10(k)))
			qhi, qlo, rem := divide64(hi, lo, divisor)
			if rem >= divisor-rem {
				var carry uint64
				qlo, carry = bits.Add64(qlo, 1, 0)
				qhi += carry
			}
			v := signed(qhi, qlo, n1 != n2)
			return v, fitsPrecision(v, d.p)
		}
	}
	return d.big.divide(a, d.s1, b, d.s2, d.p, d.s)
}
