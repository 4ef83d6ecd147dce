package mysqlrow

import "slices"

// readEnum reads the ordinal of a label, from 1 on; 0 is the empty text that
// stands for a value the column did not know.
func readEnum(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	x := littleEndianBits(b[:s.size])
	if x > uint64(len(s.labels)) {
		return int(noSuchLabel)
	}
	if x > 0 {
		v.data = append(v.data, s.labels[x-1]...)
	}
	return take(s.size, v.endText())
}

// readSet reads a bit a label, the first one lowest.
func readSet(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	x := littleEndianBits(b[:s.size])
	if len(s.labels) < 64 && x>>len(s.labels) != 0 {
		return int(noSuchLabel)
	}
	if v.store == storeBytes {
		return take(s.size, v.joinLabels(s.labels, x))
	}
	return take(s.size, v.listLabels(s.labels, x))
}

// joinLabels stores the labels of a SET as the server prints them: joined by
// commas, but with none before the first label that is not empty.
func (v *vec) joinLabels(labels []string, set uint64) status {
	start := len(v.data)
	for i, l := range labels {
		if set>>i&1 == 0 {
			continue
		}
		if len(v.data) > start {
			v.data = append(v.data, ',')
		}
		v.data = append(v.data, l...)
	}
	return v.endText()
}

// listLabels stores the labels of a SET as a list. An empty label in front is
// left out, because it does not show in what the server prints.
func (v *vec) listLabels(labels []string, set uint64) status {
	start := len(v.elem.data)
	for i, l := range labels {
		if set>>i&1 == 0 || l == "" && len(v.elem.data) == start {
			continue
		}
		v.elem.data = append(v.elem.data, l...)
		if st := v.elem.endText(); st != okay {
			return st
		}
	}
	return v.endList()
}

// textSet reads the labels of a SET, which the server joins by commas.
func textSet(c *cell, v *vec, f []byte) status {
	if v.store == storeBytes {
		return c.putText(v, f)
	}
	e := v.elem
	start := len(e.data)
	c.appendText(e, f)
	v.seen.InvalidText += e.seen.InvalidText
	e.seen.InvalidText = 0
	if len(e.data) == start {
		return v.endList()
	}
	// The commas are taken out in place: what is written stays behind what is read.
	end := start
	for _, b := range e.data[start:] {
		if b != ',' {
			e.data[end] = b
			end++
			continue
		}
		e.ends = append(e.ends, int32(end))
	}
	e.data = e.data[:end]
	if st := e.endText(); st != okay {
		return st
	}
	return v.endList()
}

func littleEndianBits(b []byte) uint64 {
	var x uint64
	for i, d := range b {
		x |= uint64(d) << (8 * i)
	}
	return x
}

// putBit stores the bytes of a BIT value, the most significant one first.
func (c *cell) putBit(v *vec, b []byte) status {
	if len(b) != c.pad {
		return badValue
	}
	if c.store == storeBool {
		v.i8 = append(v.i8, int8(b[len(b)-1]&1))
		return okay
	}
	if !c.reversed {
		v.data = append(v.data, b...)
		return v.endText()
	}
	for _, bits := range slices.Backward(b) {
		v.data = append(v.data, bits)
	}
	return v.endText()
}
