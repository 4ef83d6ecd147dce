package mysqlrow

import (
	"encoding/binary"
	"math"
	"strconv"
)

// putGeometry stores a geometry in the form of GeoJSON that Flink's connector
// uses: {"coordinates":[1,2],"type":"Point","srid":0}, and "geometries" instead
// of "coordinates" for a collection, whose members have their type in front. The
// coordinates come in the order of the stored bytes: x then y, that is longitude
// then latitude under SRID 4326.
func (c *cell) putGeometry(v *vec, b []byte) status {
	if len(b) < 4 {
		return badValue
	}
	srid := binary.LittleEndian.Uint32(b)
	g := geometryReader{dst: v.data, src: b[4:]}
	if !g.outer(srid) || len(g.src) > 0 {
		v.data = g.dst
		return badValue
	}
	v.data = g.dst
	return v.endText()
}

// maxNesting is how deep collections may stand in each other.
const maxNesting = 200

// The types of WKB.
const (
	wkbPoint = 1 + iota
	wkbLine
	wkbPolygon
	wkbMultiPoint
	wkbMultiLine
	wkbMultiPolygon
	wkbCollection
)

var wkbNames = [...]string{
	wkbPoint: "Point", wkbLine: "LineString", wkbPolygon: "Polygon", wkbMultiPoint: "MultiPoint",
	wkbMultiLine: "MultiLineString", wkbMultiPolygon: "MultiPolygon", wkbCollection: "GeometryCollection",
}

// geometryReader writes the WKB in src as JSON; what it read is gone from src.
type geometryReader struct {
	dst, src []byte
	big      bool // the byte order of the geometry at hand
}

// outer writes the geometry of a value.
func (g *geometryReader) outer(srid uint32) bool {
	kind, ok := g.head()
	if !ok {
		return false
	}
	if kind == wkbCollection {
		g.dst = append(g.dst, `{"geometries":[`...)
		ok = g.members(1)
	} else {
		g.dst = append(g.dst, `{"coordinates":`...)
		ok = g.coordinates(kind)
	}
	if !ok {
		return false
	}
	if kind == wkbCollection {
		g.dst = append(g.dst, ']')
	}
	g.dst = append(append(g.dst, `,"type":"`...), wkbNames[kind]...)
	g.dst = append(g.dst, `","srid":`...)
	g.dst = append(strconv.AppendUint(g.dst, uint64(srid), 10), '}')
	return true
}

// member writes a geometry of a collection.
func (g *geometryReader) member(depth int) bool {
	kind, ok := g.head()
	if !ok || depth > maxNesting {
		return false
	}
	g.dst = append(append(g.dst, `{"type":"`...), wkbNames[kind]...)
	if kind == wkbCollection {
		g.dst = append(g.dst, `","geometries":[`...)
		ok = g.members(depth + 1)
		g.dst = append(g.dst, ']')
	} else {
		g.dst = append(g.dst, `","coordinates":`...)
		ok = g.coordinates(kind)
	}
	g.dst = append(g.dst, '}')
	return ok
}

func (g *geometryReader) members(depth int) bool {
	n, ok := g.number()
	for i := uint32(0); ok && i < n; i++ {
		if i > 0 {
			g.dst = append(g.dst, ',')
		}
		ok = g.member(depth)
	}
	return ok
}

// head reads the byte order and the type of a geometry.
func (g *geometryReader) head() (kind uint32, ok bool) {
	if len(g.src) < 5 || g.src[0] > 1 {
		return 0, false
	}
	g.big = g.src[0] == 0
	g.src = g.src[1:]
	kind, ok = g.number()
	return kind, ok && kind >= wkbPoint && kind <= wkbCollection
}

func (g *geometryReader) number() (n uint32, ok bool) {
	if len(g.src) < 4 {
		return 0, false
	}
	n = binary.LittleEndian.Uint32(g.src)
	if g.big {
		n = binary.BigEndian.Uint32(g.src)
	}
	g.src = g.src[4:]
	return n, true
}

// coordinates writes the coordinates of a geometry that is no collection.
func (g *geometryReader) coordinates(kind uint32) bool {
	if kind == wkbPoint {
		return g.point()
	}
	n, ok := g.number()
	g.dst = append(g.dst, '[')
	for i := uint32(0); ok && i < n; i++ {
		if i > 0 {
			g.dst = append(g.dst, ',')
		}
		switch kind {
		case wkbLine:
			ok = g.point()
		case wkbPolygon:
			ok = g.coordinates(wkbLine)
		default: // a MultiPoint holds points, and so on
			var part uint32
			part, ok = g.head()
			ok = ok && part == kind-wkbMultiPoint+wkbPoint && g.coordinates(part)
		}
	}
	g.dst = append(g.dst, ']')
	return ok
}

func (g *geometryReader) point() bool {
	if len(g.src) < 16 {
		return false
	}
	g.dst = append(g.dst, '[')
	for i := range 2 {
		bits := binary.LittleEndian.Uint64(g.src[8*i:])
		if g.big {
			bits = binary.BigEndian.Uint64(g.src[8*i:])
		}
		x := math.Float64frombits(bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		if i > 0 {
			g.dst = append(g.dst, ',')
		}
		g.dst = appendCoordinate(g.dst, x)
	}
	g.dst = append(g.dst, ']')
	g.src = g.src[16:]
	return true
}

// appendCoordinate writes the shortest number that gives x again; minus zero is 0.
func appendCoordinate(dst []byte, x float64) []byte {
	format := byte('f')
	switch a := math.Abs(x); {
	case x == 0:
		return append(dst, '0')
	case a < 1e-6 || a >= 1e21:
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, 64)
}

// putVector stores a VECTOR: its bytes, or its floats as a list.
func (c *cell) putVector(v *vec, b []byte) status {
	if c.store == storeBytes {
		return c.putBytes(v, b)
	}
	if len(b)%4 != 0 {
		return badValue
	}
	for ; len(b) > 0; b = b[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		v.elem.f32 = append(v.elem.f32, x)
	}
	return v.endList()
}
