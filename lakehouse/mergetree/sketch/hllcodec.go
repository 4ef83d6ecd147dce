package sketch

import (
	"encoding/binary"
	"math"
)

// decodeHLL reads a sketch of any kind, compact or not (HllSketch.heapify).
func decodeHLL(b []byte) (*hll, error) {
	in := &input{b: b}
	ints, version, family, lgK, lgTable, flags, count, mode := in.u8()&0x3f, in.u8(), in.u8(), int(in.u8()), int(in.u8()), in.u8(), in.u8(), in.u8()
	s := newHLL(lgK)
	s.mode = int(mode & 3)
	if in.bad || version != hllVersion || family != hllFamily || lgK < minLgK || lgK > maxLgK || s.mode > modeRegisters ||
		ints != [...]byte{modeList: 2, modeSet: 3, modeRegisters: 10}[s.mode] {
		return nil, errHLL
	}
	compact := flags&hllIsCompact != 0
	switch s.mode {
	case modeList:
		s.coupons = in.coupons(int(count))
		s.count = len(s.coupons)
		if s.count >= 1<<lgListSize {
			in.bad = true
		}
	case modeSet:
		s.readSet(in, lgTable, compact)
	default:
		s.readRegisters(in, int(mode>>2&3), count, lgTable, flags)
	}
	if in.bad {
		return nil, errHLL
	}
	return s, nil
}

// coupons reads n coupons, none of which is nothing.
func (in *input) coupons(n int) []uint32 {
	raw := in.take(4 * n)
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
		in.bad = in.bad || out[i] == 0
	}
	return out
}

// readSet reads a table of coupons; a compact one is put in anew.
func (s *hll) readSet(in *input, lgTable int, compact bool) {
	count := int(in.u32())
	if s.lgK < leastTableLgK || count > 1<<s.lgK {
		in.bad = true
		return
	}
	if !compact {
		if lgTable < lgFirstTable || lgTable > s.lgK-3 {
			in.bad = true
			return
		}
		raw := in.take(4 << lgTable)
		s.lgTable, s.coupons = lgTable, make([]uint32, 1<<lgTable)
		for i := range len(raw) / 4 {
			if s.coupons[i] = binary.LittleEndian.Uint32(raw[4*i:]); s.coupons[i] != 0 {
				s.count++
			}
		}
		in.bad = in.bad || s.count != count || 4*count > 3<<lgTable
		return
	}
	list := in.coupons(count)
	s.lgTable, s.coupons = lgFirstTable, make([]uint32, 1<<lgFirstTable)
	for _, c := range list {
		s.update(c)
	}
}

// readRegisters reads registers of 4, 6 or 8 bits (type 0, 1, 2).
func (s *hll) readRegisters(in *input, typ int, curMin byte, lgTable int, flags byte) {
	*s = *newRegisters(s.lgK)
	hip := math.Float64frombits(in.u64())
	in.take(16 + 4) // sums and counts, which follow from the registers
	exceptions := int(in.u32())
	k := 1 << s.lgK
	values := make([]byte, k)
	switch typ {
	case 0:
		raw := in.take(k / 2)
		if in.bad {
			return
		}
		for i := range values {
			values[i] = raw[i/2] >> (i % 2 * 4) & 15
		}
		s.readExceptions(in, values, curMin, exceptions, lgTable, flags&hllIsCompact != 0)
	case 1:
		raw := in.take(k/4*3 + 1)
		if in.bad {
			return
		}
		for i := range values {
			at := i * 6
			values[i] = byte(binary.LittleEndian.Uint16(raw[at/8:])>>(at%8)) & 63
		}
	default:
		copy(values, in.take(k))
	}
	for i, v := range values {
		if v > 63 {
			in.bad = true
			return
		}
		s.raise(i, v)
	}
	s.hip, s.outOfOrder = hip, flags&hllOutOfOrder != 0
}

// readExceptions adds the common minimum, and puts the registers in that four bits do not hold.
func (s *hll) readExceptions(in *input, values []byte, curMin byte, n, lgTable int, compact bool) {
	large := map[int]byte{}
	if n > 0 && !compact {
		if n = 1 << (lgTable & 31); n > len(in.b)/4 {
			in.bad = true
			return
		}
	}
	for range n {
		if in.bad {
			return
		}
		if c := in.u32(); c != 0 {
			large[int(c)&(len(values)-1)] = byte(c >> couponBits)
		}
	}
	for i, v := range values {
		values[i] = v + curMin
		if v == auxToken {
			var ok bool
			if values[i], ok = large[i]; !ok {
				in.bad = true
				return
			}
		}
	}
}

// encode writes the compact form, registers with four bits each.
func (s *hll) encode() []byte {
	if s.mode == modeRegisters {
		return s.encodeRegisters()
	}
	flags := byte(hllIsCompact)
	if s.count == 0 {
		flags |= hllEmpty
	}
	out := []byte{2, hllVersion, hllFamily, byte(s.lgK), byte(s.lgTable), flags, byte(s.count), byte(s.mode)}
	if s.mode == modeSet {
		out[0], out[6] = 3, 0
		out = binary.LittleEndian.AppendUint32(out, uint32(s.count))
	}
	for _, c := range s.coupons {
		if c != 0 {
			out = binary.LittleEndian.AppendUint32(out, c)
		}
	}
	return out
}

func (s *hll) encodeRegisters() []byte {
	least, atLeast := s.registers[0], 0
	for _, v := range s.registers {
		if v < least {
			least, atLeast = v, 0
		}
		if v == least {
			atLeast++
		}
	}
	// The sums are those of the registers alone, whatever was added up on the way.
	s.kxq0, s.kxq1 = 0, 0
	lg := lgAux[s.lgK]
	table, exceptions := make([]uint32, 1<<lg), 0
	nibbles := make([]byte, len(s.registers)/2)
	for i, v := range s.registers {
		s.weigh(v, 1)
		n := v - least
		if n >= auxToken {
			n = auxToken
			table[findSlot(table, lg, s.lgK, i)] = coupon(i, int(v))
			if exceptions++; 4*exceptions > 3*len(table) {
				lg++
				table = growSlots(table, lg, s.lgK)
			}
		}
		nibbles[i/2] |= n << (i % 2 * 4)
	}
	flags := byte(hllIsCompact)
	if s.outOfOrder {
		flags |= hllOutOfOrder
	}
	out := []byte{10, hllVersion, hllFamily, byte(s.lgK), 0, flags, least, modeRegisters}
	if exceptions > 0 {
		out[4] = byte(lg)
	}
	for _, f := range []float64{s.hip, s.kxq0, s.kxq1} {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(f))
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(atLeast))
	out = binary.LittleEndian.AppendUint32(out, uint32(exceptions))
	out = append(out, nibbles...)
	for _, c := range table {
		if c != 0 {
			out = binary.LittleEndian.AppendUint32(out, c)
		}
	}
	return out
}

// growSlots gives the exceptions in a table of 1<<lg entries.
func growSlots(table []uint32, lg, lgK int) []uint32 {
	out := make([]uint32, 1<<lg)
	for _, c := range table {
		if c != 0 {
			out[findSlot(out, lg, lgK, int(c)&(1<<lgK-1))] = c
		}
	}
	return out
}
