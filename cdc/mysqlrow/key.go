package mysqlrow

import (
	"fmt"
	"strconv"
)

// IntKey is the value of an integer chunk key in a form whose order as unsigned
// numbers is that of the key: the sign bit of signed types is turned.
type IntKey uint64

const signBit = 1 << 63

// KeyOf gives the chunk key of a row image.
func (l *Layout) KeyOf(image []byte) (IntKey, error) {
	k := l.plan.chunk
	if k < 0 {
		return 0, fmt.Errorf("reading a row of %s: the table has no chunk key", l.plan.opt.Table)
	}
	at, err := l.walk(image, k)
	if err != nil {
		return 0, err
	}
	s := &l.steps[k]
	if image[k>>3]&(1<<(k&7)) != 0 || len(image)-at < s.size {
		return 0, l.plan.cellError(l.plan.cols[k].Name, badValue)
	}
	return l.plan.orderedKey(integer(image[at:], s.size, s.unsigned)), nil
}

func (p *Plan) orderedKey(x int64) IntKey {
	if p.cols[p.chunk].Unsigned() {
		return IntKey(x)
	}
	return IntKey(uint64(x) ^ signBit)
}

// ParseKey reads a chunk key from the text that the server prints.
func (p *Plan) ParseKey(text []byte) (IntKey, error) {
	if p.chunk < 0 {
		return 0, fmt.Errorf("reading a key of %s: the table has no chunk key", p.opt.Table)
	}
	c := p.cols[p.chunk]
	x, st := parseInt(text, c.Unsigned())
	if st != okay {
		return 0, p.cellError(c.Name, st)
	}
	return p.orderedKey(x), nil
}

// FormatKey writes a chunk key as an SQL literal.
func (p *Plan) FormatKey(k IntKey) string {
	if p.cols[p.chunk].Unsigned() {
		return strconv.FormatUint(uint64(k), 10)
	}
	return strconv.FormatInt(int64(uint64(k)^signBit), 10)
}
