package format

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

const (
	// readLevels is how many levels are taken from the library at once.
	readLevels = 4096
	// maxBatchLevels bounds the levels of one batch of a leaf, which a damaged file may make endless.
	maxBatchLevels = 1 << 26
)

var errManyLevels = errors.New("more elements than a batch may have")

// leafPages cuts the levels and values of a repeated leaf at rows: the library
// cuts them at pages. To a decoder it is a flat column with one value a slot.
type leafPages interface {
	chunkReader
	// fill goes on to the next rows rows and gives their levels, valid until the next fill.
	fill(rows int) (def, rep []int16, err error)
	pageSeeker
}

// leafShape is what a leaf's levels mean.
type leafShape struct {
	maxDef, maxRep int16
	// slotDef is the definition level from which on there is a slot for a value.
	slotDef int16
}

func newLeafPages(cr file.ColumnChunkReader, s leafShape) (leafPages, error) {
	switch c := cr.(type) {
	case *file.BooleanColumnChunkReader:
		return &typedPages[bool]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.Int32ColumnChunkReader:
		return &typedPages[int32]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.Int64ColumnChunkReader:
		return &typedPages[int64]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.Int96ColumnChunkReader:
		return &typedPages[parquet.Int96]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.Float32ColumnChunkReader:
		return &typedPages[float32]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.Float64ColumnChunkReader:
		return &typedPages[float64]{chunkReader: c, src: c, leafShape: s}, nil
	case *file.ByteArrayColumnChunkReader:
		p := &typedPages[parquet.ByteArray]{chunkReader: c, src: c, leafShape: s}
		p.keep = func(v []parquet.ByteArray) error { return keepBytes(&p.arena, v) }
		return p, nil
	case *file.FixedLenByteArrayColumnChunkReader:
		p := &typedPages[parquet.FixedLenByteArray]{chunkReader: c, src: c, leafShape: s}
		p.keep = func(v []parquet.FixedLenByteArray) error { return keepBytes(&p.arena, v) }
		return p, nil
	default:
		return nil, fmt.Errorf("physical type %s cannot be read", cr.Type())
	}
}

// keepBytes copies vals into the arena, as the library reuses its pages.
func keepBytes[T ~[]byte](arena *[]byte, vals []T) error {
	for i, v := range vals {
		at := len(*arena)
		if at+len(v) > math.MaxInt32 {
			return fmt.Errorf("%d bytes of values in one batch", at+len(v))
		}
		*arena = append(*arena, v...)
		vals[i] = T((*arena)[at:len(*arena):len(*arena)])
	}
	return nil
}

type typedPages[P any] struct {
	chunkReader
	leafShape
	src pages[P]
	// keep makes values outlive their page; nil for those that do so anyway.
	keep  func([]P) error
	arena []byte

	// The first levels and values of these are the batch's, the rest belongs to later rows.
	def, rep       []int16
	vals           []P
	levels, values int
	// level and value are what ReadBatchInPage has given of the batch.
	level, value int
	ended        bool
}

func (p *typedPages[P]) fill(rows int) (def, rep []int16, err error) {
	p.def = p.def[:copy(p.def, p.def[p.levels:])]
	p.rep = p.rep[:copy(p.rep, p.rep[p.levels:])]
	p.vals = p.vals[:copy(p.vals, p.vals[p.values:])]
	p.levels, p.values, p.level, p.value = 0, 0, 0, 0
	p.arena = nil // values of later rows hold on to the old one
	starts := 0
	for scanned := 0; ; {
		for ; scanned < len(p.rep); scanned++ {
			if p.rep[scanned] == 0 {
				if starts++; starts > rows {
					return p.cut(scanned)
				}
			}
		}
		if p.ended {
			if starts < rows {
				return nil, nil, io.ErrUnexpectedEOF
			}
			return p.cut(scanned)
		}
		if scanned > maxBatchLevels {
			return nil, nil, errManyLevels
		}
		if err := p.more(); err != nil {
			return nil, nil, err
		}
	}
}

// cut makes the first n levels the batch.
func (p *typedPages[P]) cut(n int) (def, rep []int16, err error) {
	if n > 0 && p.rep[0] != 0 {
		return nil, nil, errors.New("a row begins within a list")
	}
	p.levels = n
	for _, d := range p.def[:n] {
		if d == p.maxDef {
			p.values++
		}
	}
	if p.values > len(p.vals) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return p.def[:n], p.rep[:n], nil
}

// more appends levels and values of the next page, or what is left of the one at hand.
func (p *typedPages[P]) more() error {
	n, v := len(p.def), len(p.vals)
	p.def, p.rep, p.vals = extend(p.def), extend(p.rep), extend(p.vals)
	rep := p.rep[n : n+readLevels]
	if p.maxRep == 0 {
		clear(rep)
	}
	total, read, err := p.src.ReadBatchInPage(readLevels, p.vals[v:v+readLevels], p.def[n:n+readLevels], rep)
	if err != nil {
		return err
	}
	if total < 0 || total > readLevels || read < 0 || int64(read) > total {
		return io.ErrUnexpectedEOF
	}
	if total == 0 {
		p.ended = true
		total, read = 0, 0
		err = p.Err()
	}
	if p.maxDef == 0 { // the library gives no levels then
		clear(p.def[n : n+int(total)])
	}
	p.def, p.rep, p.vals = p.def[:n+int(total)], p.rep[:n+int(total)], p.vals[:v+read]
	for i, d := range p.def[n:] {
		if r := p.rep[n+i]; d < 0 || d > p.maxDef || r < 0 || r > p.maxRep {
			return fmt.Errorf("levels %d and %d where %d and %d are the greatest", d, r, p.maxDef, p.maxRep)
		}
	}
	if err == nil && p.keep != nil {
		err = p.keep(p.vals[v:])
	}
	return err
}

// extend makes room for readLevels more, the length included.
func extend[T any](s []T) []T {
	n := len(s) + readLevels
	if cap(s) < n {
		s = append(make([]T, 0, max(n, 2*cap(s))), s...)
	}
	return s[:n]
}

// ReadBatchInPage gives the next slots of the batch: def is 1 where there is a value and 0 where there is none.
func (p *typedPages[P]) ReadBatchInPage(size int64, values []P, def, _ []int16) (total int64, read int, err error) {
	for p.level < p.levels && total < size {
		switch d := p.def[p.level]; {
		case d == p.maxDef:
			def[total] = 1
			read++
			total++
		case d >= p.slotDef:
			def[total] = 0
			total++
		}
		p.level++
	}
	copy(values, p.vals[p.value:p.value+read])
	p.value += read
	return total, read, nil
}
