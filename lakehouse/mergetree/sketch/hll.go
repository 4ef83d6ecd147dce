package sketch

import (
	"errors"
	"math"
	"slices"
)

// Numbers of HLL sketches (PreambleUtil.java of package hll).
const (
	hllVersion = 1
	hllFamily  = 7

	modeList      = 0
	modeSet       = 1
	modeRegisters = 2

	hllEmpty      = 4
	hllIsCompact  = 8
	hllOutOfOrder = 16

	auxToken = 15
	minLgK   = 4
	maxLgK   = 21
)

// lgAux is the size of the first table of exceptions by lgK.
var lgAux = [...]int{0, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13}

var errHLL = errors.New("the HLL sketch is damaged")

// hll is the state of an HLL sketch: coupons, or registers of a byte each.
type hll struct {
	lgK, mode int
	// coupons is the list, or the table of 1<<lgTable entries; count those in it.
	coupons        []uint32
	lgTable, count int
	registers      []byte
	// hip counts what was seen, in order; outOfOrder says that it is no count; kxq0 and kxq1 are
	// the sums of 2^-register of the registers below 32 and of the others.
	hip, kxq0, kxq1 float64
	outOfOrder      bool
}

// HLL unites HLL sketches (function hll_sketch). As in Paimon, values are taken
// in one by one: how exact the result is depends on their order.
func HLL(values [][]byte) ([]byte, error) {
	acc := values[0]
	for _, v := range values[1:] {
		old, err := decodeHLL(acc)
		if err != nil {
			return nil, err
		}
		s, err := decodeHLL(v)
		if err != nil {
			return nil, err
		}
		acc = s.join(old).encode()
	}
	return acc, nil
}

func newHLL(lgK int) *hll { return &hll{lgK: lgK, lgTable: lgListSize} }

// newRegisters makes a sketch of registers that are all zero.
func newRegisters(lgK int) *hll {
	return &hll{lgK: lgK, mode: modeRegisters, registers: make([]byte, 1<<lgK), kxq0: float64(int(1) << lgK)}
}

// join gives the union of s and what was there before it (Union.java). Registers
// are never more than s has, unless s has coupons only.
func (s *hll) join(old *hll) *hll {
	if old.count == 0 && old.mode != modeRegisters {
		return s
	}
	if old.mode != modeRegisters {
		if s.count == 0 && s.mode != modeRegisters && old.mode == modeSet && old.lgK == s.lgK {
			return old
		}
		old.pour(s)
		return s
	}
	if s.mode != modeRegisters {
		// The coupons go into the registers, which are folded if need be.
		if old.lgK > s.lgK {
			old = old.fold(s.lgK)
		}
		s.pour(old)
		return old
	}
	if old.lgK < s.lgK {
		s = s.fold(old.lgK)
	}
	mask := 1<<s.lgK - 1
	for i, v := range old.registers {
		s.registers[i&mask] = max(s.registers[i&mask], v)
	}
	s.outOfOrder, s.hip = true, 0
	return s
}

// fold gives the registers of s in a smaller sketch.
func (s *hll) fold(lgK int) *hll {
	t := newRegisters(lgK)
	for i, v := range s.registers {
		if v != 0 {
			t.update(coupon(i, int(v)))
		}
	}
	if t.hip, t.outOfOrder = s.hip, s.outOfOrder; t.outOfOrder {
		t.hip = 0
	}
	return t
}

// pour adds the coupons of s to t.
func (s *hll) pour(t *hll) {
	for _, c := range s.coupons {
		if c != 0 {
			t.update(c)
		}
	}
}

// update takes one coupon in.
func (s *hll) update(c uint32) {
	switch s.mode {
	case modeList:
		if slices.Contains(s.coupons, c) {
			return
		}
		s.coupons = append(s.coupons, c)
		if s.count++; s.count < 1<<lgListSize {
			return
		}
		if s.lgK < leastTableLgK {
			s.promote()
			return
		}
		list := s.coupons
		*s = hll{lgK: s.lgK, mode: modeSet, lgTable: lgFirstTable, coupons: make([]uint32, 1<<lgFirstTable)}
		for _, c := range list {
			s.update(c)
		}
	case modeSet:
		at, found := findCoupon(s.coupons, s.lgTable, c)
		if found {
			return
		}
		s.coupons[at] = c
		if s.count++; 4*s.count <= 3*len(s.coupons) {
			return
		}
		if s.lgTable == s.lgK-3 {
			s.promote()
			return
		}
		s.lgTable++
		table := make([]uint32, 1<<s.lgTable)
		for _, c := range s.coupons {
			if c != 0 {
				at, _ := findCoupon(table, s.lgTable, c)
				table[at] = c
			}
		}
		s.coupons = table
	default:
		s.raise(int(c)&(1<<s.lgK-1), byte(c>>couponBits))
	}
}

// raise makes a register at least v.
func (s *hll) raise(slot int, v byte) {
	old := s.registers[slot]
	if v <= old {
		return
	}
	s.hip += float64(int(1)<<s.lgK) / (s.kxq0 + s.kxq1)
	s.weigh(old, -1)
	s.weigh(v, 1)
	s.registers[slot] = v
}

func (s *hll) weigh(v byte, sign float64) {
	w := sign * math.Ldexp(1, -int(v))
	if v < 32 {
		s.kxq0 += w
	} else {
		s.kxq1 += w
	}
}

// promote turns coupons into registers.
func (s *hll) promote() {
	t := newRegisters(s.lgK)
	s.pour(t)
	t.hip = couponEstimate(s.count)
	*s = *t
}
