package mysqlrow

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Under binlog_row_value_options=PARTIAL_JSON an update tells what changed in a
// document: a list of operations, each with a path and, but for a removal, a
// value. They are applied to the document before, which becomes a tree for that.

// The operations of the list.
const (
	jsonReplace = 0
	jsonInsert  = 1
	jsonRemove  = 2
)

// patchJSON applies a list of operations to a document; both are of the server's
// binary form, and so is what it gives.
func patchJSON(doc, diffs []byte) (out []byte, good bool) {
	root, good := parseJSON(doc)
	for good && len(diffs) > 0 {
		op := diffs[0]
		path, rest, ok := jsonField(diffs[1:])
		if !ok || op > jsonRemove {
			return nil, false
		}
		diffs = rest
		var value *jsonNode
		if op != jsonRemove {
			var raw []byte
			if raw, diffs, ok = jsonField(diffs); !ok {
				return nil, false
			}
			if value, ok = parseJSON(raw); !ok {
				return nil, false
			}
		}
		legs, ok := parseJSONPath(string(path))
		if !ok {
			return nil, false
		}
		good = root.apply(op, legs, value)
	}
	if !good {
		return nil, false
	}
	return root.encode([]byte{root.kind}), true
}

// jsonField takes bytes with their length in front.
func jsonField(b []byte) (field, rest []byte, good bool) {
	size, _, n := mysql.LengthEncodedInt(b)
	if n <= 0 || n > len(b) || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}

// jsonNode is a value of a document: a scalar of the binary form, or an object
// or array in the large one.
type jsonNode struct {
	kind byte
	raw  []byte   // of a scalar
	keys [][]byte // of an object, in the server's order
	kids []*jsonNode
}

func parseJSON(doc []byte) (*jsonNode, bool) {
	if len(doc) == 0 {
		return &jsonNode{kind: jsonLiteral, raw: []byte{0}}, true // null, see putJSON
	}
	p := jsonParser{left: maxJSONGrowth * len(doc)}
	return p.value(doc[0], doc[1:], 0)
}

// jsonParser reads documents of bounded size: parts that overlap may not make more of them.
type jsonParser struct{ left int }

func (p *jsonParser) value(kind byte, b []byte, depth int) (*jsonNode, bool) {
	if p.left--; p.left < 0 || depth > maxJSONDepth {
		return nil, false
	}
	switch kind {
	case jsonSmallObject, jsonLargeObject, jsonSmallArray, jsonLargeArray:
		return p.container(kind, b, depth)
	case jsonString, jsonOpaque:
		from := 0
		if kind == jsonOpaque {
			from = 1 // its type
		}
		if len(b) < from {
			return nil, false
		}
		data, good := jsonVariable(b[from:])
		if !good {
			return nil, false
		}
		p.left -= len(data)
		raw := append(make([]byte, 0, len(data)+6), b[:from]...)
		return &jsonNode{kind: kind, raw: append(appendJSONLength(raw, len(data)), data...)}, true
	default:
		if kind > jsonDouble || len(b) < jsonSizes[kind] {
			return nil, false
		}
		return &jsonNode{kind: kind, raw: b[:jsonSizes[kind]]}, true
	}
}

func (p *jsonParser) container(kind byte, b []byte, depth int) (*jsonNode, bool) {
	c, good := openJSON(kind, b)
	if !good {
		return nil, false
	}
	n := &jsonNode{kind: jsonLargeArray}
	if c.object {
		n.kind = jsonLargeObject
	}
	for i := range c.count {
		if c.object {
			key, good := c.key(i)
			if p.left -= len(key); !good || p.left < 0 {
				return nil, false
			}
			n.keys = append(n.keys, key)
		}
		kind, value, good := c.entry(i)
		if !good {
			return nil, false
		}
		kid, good := p.value(kind, value, depth+1)
		if !good {
			return nil, false
		}
		n.kids = append(n.kids, kid)
	}
	return n, true
}

// jsonLeg is a step of a path: a member, or a cell counted from the front or the back.
type jsonLeg struct {
	member []byte
	isCell bool
	cell   int
	last   bool
}

// index is the cell in an array of n.
func (l jsonLeg) index(n int) int {
	if l.last {
		return n - 1 - l.cell
	}
	return l.cell
}

// parseJSONPath reads a path such as $.a[3]."b c"[last-1].
func parseJSONPath(s string) (legs []jsonLeg, good bool) {
	if !strings.HasPrefix(s, "$") {
		return nil, false
	}
	for s = s[1:]; s != ""; {
		leg := jsonLeg{isCell: s[0] == '['}
		switch {
		case leg.isCell:
			text, rest, closed := strings.Cut(s[1:], "]")
			if !closed {
				return nil, false
			}
			s = rest
			if text, leg.last = strings.CutPrefix(strings.TrimSpace(text), "last"); leg.last {
				text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "-"))
			}
			if text == "" && leg.last {
				text = "0"
			}
			n, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				return nil, false
			}
			leg.cell = int(n)
		case strings.HasPrefix(s, `."`):
			n := quotedLength([]byte(s[1:]))
			var name string
			if json.Unmarshal([]byte(s[1:1+n]), &name) != nil {
				return nil, false
			}
			leg.member, s = []byte(name), s[1+n:]
		case s[0] == '.':
			end := 1
			for end < len(s) && s[end] != '.' && s[end] != '[' {
				end++
			}
			leg.member, s = []byte(s[1:end]), s[end:]
		default:
			return nil, false
		}
		legs = append(legs, leg)
	}
	return legs, true
}

// apply carries out one operation.
func (n *jsonNode) apply(op byte, legs []jsonLeg, value *jsonNode) bool {
	if len(legs) == 0 {
		if op != jsonReplace {
			return false
		}
		*n = *value
		return true
	}
	last := legs[len(legs)-1]
	parent := n
	for _, l := range legs[:len(legs)-1] {
		at, found := parent.find(l)
		switch {
		case found && at >= 0:
			parent = parent.kids[at]
		case !found:
			return false
		}
	}
	if op == jsonInsert {
		return parent.insert(last, value)
	}
	at, found := parent.find(last)
	switch {
	case !found:
		return false
	case op == jsonRemove && at < 0:
		return false
	case op == jsonRemove:
		parent.kids = slices.Delete(parent.kids, at, at+1)
		if parent.kind == jsonLargeObject {
			parent.keys = slices.Delete(parent.keys, at, at+1)
		}
	case at < 0:
		*parent = *value
	default:
		parent.kids[at] = value
	}
	return true
}

// find gives the place of a step among the members; -1 is the value itself,
// which is its own first cell unless it is an array.
func (n *jsonNode) find(l jsonLeg) (at int, found bool) {
	if !l.isCell {
		if n.kind != jsonLargeObject {
			return 0, false
		}
		return slices.BinarySearchFunc(n.keys, l.member, compareJSONKeys)
	}
	if n.kind != jsonLargeArray {
		return -1, l.cell == 0
	}
	at = l.index(len(n.kids))
	return at, at >= 0 && at < len(n.kids)
}

func (n *jsonNode) insert(l jsonLeg, value *jsonNode) bool {
	switch {
	case l.isCell && n.kind == jsonLargeArray:
		at := max(0, min(l.index(len(n.kids)), len(n.kids)))
		n.kids = slices.Insert(n.kids, at, value)
		return true
	case !l.isCell && n.kind == jsonLargeObject:
		at, found := slices.BinarySearchFunc(n.keys, l.member, compareJSONKeys)
		if found {
			return false
		}
		n.keys, n.kids = slices.Insert(n.keys, at, l.member), slices.Insert(n.kids, at, value)
		return true
	default:
		return false
	}
}

// compareJSONKeys is the server's order of the keys of an object.
func compareJSONKeys(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

// encode appends the value in the binary form, without its kind.
func (n *jsonNode) encode(dst []byte) []byte {
	if n.kind > jsonLargeArray {
		return append(dst, n.raw...)
	}
	const width = 4
	start, entries := len(dst), len(n.keys)*(width+2)+len(n.kids)*(1+width)
	dst = append(dst, make([]byte, 2*width+entries)...)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(n.kids)))
	at := start + 2*width
	for _, k := range n.keys {
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-start))
		binary.LittleEndian.PutUint16(dst[at+width:], uint16(len(k)))
		dst = append(dst, k...)
		at += width + 2
	}
	for _, kid := range n.kids {
		dst[at] = kid.kind
		switch kid.kind {
		case jsonLiteral, jsonInt16, jsonUint16, jsonInt32, jsonUint32:
			copy(dst[at+1:at+1+width], kid.raw)
		default:
			binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-start))
			dst = kid.encode(dst)
		}
		at += 1 + width
	}
	binary.LittleEndian.PutUint32(dst[start+width:], uint32(len(dst)-start))
	return dst
}

func appendJSONLength(dst []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
