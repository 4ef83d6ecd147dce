package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Numbers of theta sketches (PreambleUtil.java of package theta).
const (
	thetaVersion = 3
	thetaCompact = 3 // family; 1 and 2 are sketches that can be added to
	// thetaNominal is how many hashes a union keeps, whatever its inputs keep.
	thetaNominal = 4096
	// thetaSeedHash marks the hashes of the default seed.
	thetaSeedHash = 0x93cc
	thetaMax      = math.MaxInt64

	thetaReadOnly = 2
	thetaEmpty    = 4
	thetaIsDense  = 8
	thetaOrdered  = 16
	thetaSingle   = 32
)

var errTheta = errors.New("the theta sketch is damaged")

// theta is the state of a theta sketch: the hashes seen that are below a bound.
type theta struct {
	empty  bool
	bound  uint64
	hashes []uint64
}

// Theta unites theta sketches (function theta_sketch). The result is of the
// least hashes; it does not depend on the order of the values.
func Theta(values [][]byte) ([]byte, error) {
	all := theta{empty: true, bound: thetaMax}
	for _, v := range values {
		s, err := decodeTheta(v)
		if err != nil {
			return nil, err
		}
		if s.empty {
			continue
		}
		all.empty = false
		all.bound = min(all.bound, s.bound)
		all.hashes = append(all.hashes, s.hashes...)
	}
	slices.Sort(all.hashes)
	all.hashes = slices.Compact(all.hashes)
	n, _ := slices.BinarySearch(all.hashes, all.bound)
	if all.hashes = all.hashes[:n]; n > thetaNominal {
		all.bound, all.hashes = all.hashes[thetaNominal], all.hashes[:thetaNominal]
	}
	return all.encode(), nil
}

func decodeTheta(b []byte) (theta, error) {
	in := &input{b: b}
	long, version, family, _, lgTable, flags, seed := in.u8()&0x3f, in.u8(), in.u8(), in.u8(), in.u8(), in.u8(), in.u16()
	s := theta{bound: thetaMax}
	switch {
	case in.bad || family < 1 || family > thetaCompact:
		return s, errTheta
	case version != thetaVersion:
		return s, fmt.Errorf("theta sketches of serial version %d cannot be united", version)
	case flags&thetaEmpty != 0:
		s.empty = true
		return s, nil
	case seed != thetaSeedHash:
		return s, errors.New("the theta sketch was made with a seed of its own")
	}
	count := 1
	if long > 1 {
		count = int(in.u32())
		in.u32() // the sampling probability
	}
	if long > 2 {
		s.bound = in.u64()
	}
	table := count
	if family != thetaCompact {
		table = 1 << (lgTable & 31)
	}
	if in.bad || table > len(in.b)/8 || s.bound > thetaMax {
		return s, errTheta
	}
	for range table {
		if h := in.u64(); h != 0 && h < s.bound {
			s.hashes = append(s.hashes, h)
		}
	}
	return s, nil
}

func (s theta) encode() []byte {
	long, flags := 2, byte(thetaReadOnly|thetaIsDense|thetaOrdered)
	switch {
	case s.empty:
		long, flags = 1, flags|thetaEmpty
	case s.bound < thetaMax:
		long = 3
	case len(s.hashes) == 1:
		long, flags = 1, flags|thetaSingle
	}
	out := []byte{byte(long), thetaVersion, thetaCompact, 0, 0, flags, 0, 0}
	if !s.empty {
		binary.LittleEndian.PutUint16(out[6:], thetaSeedHash)
	}
	if long > 1 {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s.hashes)))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(1))
	}
	if long > 2 {
		out = binary.LittleEndian.AppendUint64(out, s.bound)
	}
	for _, h := range s.hashes {
		out = binary.LittleEndian.AppendUint64(out, h)
	}
	return out
}
