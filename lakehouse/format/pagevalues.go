package format

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// valuePages reads the values of a flat leaf from its pages without a copy in
// between: integers and bytes in the encodings that Paimon's writers use.
type valuePages[P any] struct {
	pages    file.PageReader
	typ      parquet.Type
	optional bool
	decoder  pageDecoder[P]
	// dict are the values of the dictionary, by whose numbers those of the page stand if byDict is set.
	dict   []P
	byDict bool
	index  hybridReader
	at     []uint32

	// begun says that a page was read, so that the dictionary was too.
	begun bool
	// left are the slots of the page not read yet.
	left   int
	levels hybridReader
	defs   []uint32
	err    error
}

// pageDecoder reads the values of a page that has no dictionary.
type pageDecoder[P any] interface {
	// start begins with the values of a page; n slots at most have one.
	start(data []byte, enc parquet.Encoding) error
	read(dst []P) error
}

// ownEncodings are those that valuePages reads.
var ownEncodings = []parquet.Encoding{
	parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLEDict, parquet.Encodings.RLE,
	parquet.Encodings.BitPacked, parquet.Encodings.DeltaBinaryPacked,
}

// openValues starts a chunk, by the library where it has encodings of other kinds.
func openValues(rg *file.RowGroupReader, leaf int, optional bool) (chunkReader, error) {
	meta, err := rg.MetaData().ColumnChunk(leaf)
	if err != nil {
		return nil, err
	}
	own := !slices.ContainsFunc(meta.Encodings(), func(e parquet.Encoding) bool { return !slices.Contains(ownEncodings, e) })
	switch typ := meta.Type(); {
	case !own:
		return rg.Column(leaf)
	case typ == parquet.Types.Int32 || typ == parquet.Types.Float:
		return newSlotPages(rg, leaf, typ, optional, &intDecoder[int32]{width: 4})
	case typ == parquet.Types.Int64 || typ == parquet.Types.Double:
		return newSlotPages(rg, leaf, typ, optional, &intDecoder[int64]{width: 8})
	case typ == parquet.Types.Boolean:
		return newSlotPages(rg, leaf, typ, optional, &boolDecoder{})
	case typ == parquet.Types.ByteArray:
		return newValuePages(rg, leaf, typ, optional, &bytesDecoder{})
	default:
		return rg.Column(leaf)
	}
}

func newValuePages[P any](rg *file.RowGroupReader, leaf int, typ parquet.Type, optional bool, d pageDecoder[P]) (chunkReader, error) {
	pages, err := rg.GetColumnPageReader(leaf)
	if err != nil {
		return nil, err
	}
	return &valuePages[P]{pages: pages, typ: typ, optional: optional, decoder: d}, nil
}

// Err is what ended the pages early.
func (v *valuePages[P]) Err() error { return v.err }

// Type is how the values are stored.
func (v *valuePages[P]) Type() parquet.Type { return v.typ }

// nextPage goes on to the next page with slots; it reports whether there is one.
func (v *valuePages[P]) nextPage() (bool, error) {
	for v.left == 0 {
		if !v.pages.Next() {
			v.err = v.pages.Err()
			return false, v.err
		}
		if err := v.begin(v.pages.Page()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// begin takes a page.
func (v *valuePages[P]) begin(p file.Page) error {
	v.begun = true
	switch p := p.(type) {
	case *file.DictionaryPage:
		return v.readDictionary(p)
	case *file.DataPageV1:
		return v.startV1(p)
	case *file.DataPageV2:
		return v.startV2(p)
	default:
		return nil
	}
}

func (v *valuePages[P]) readDictionary(p *file.DictionaryPage) error {
	n := int(p.NumValues())
	if n > len(p.Data()) { // each takes more than a byte, but for an empty one
		return errPageEnds
	}
	if err := v.decoder.start(slices.Clone(p.Data()), parquet.Encodings.Plain); err != nil {
		return err
	}
	v.dict = make([]P, n)
	return v.decoder.read(v.dict)
}

func (v *valuePages[P]) startV1(p *file.DataPageV1) error {
	data := p.Data()
	if v.optional && p.NumValues() > 0 {
		if p.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return fmt.Errorf("levels in %s", p.DefinitionLevelEncoding())
		}
		if len(data) < 4 {
			return errPageEnds
		}
		n := binary.LittleEndian.Uint32(data)
		if uint64(n) > uint64(len(data)-4) {
			return errPageEnds
		}
		if err := v.levels.reset(data[4:4+n], 1); err != nil {
			return err
		}
		data = data[4+n:]
	}
	return v.start(int(p.NumValues()), data, parquet.Encoding(p.Encoding()))
}

func (v *valuePages[P]) startV2(p *file.DataPageV2) error {
	data, def := p.Data(), int(p.DefinitionLevelByteLen())
	if p.RepetitionLevelByteLen() != 0 || def < 0 || def > len(data) {
		return errPageEnds
	}
	if err := v.levels.reset(data[:def], 1); err != nil {
		return err
	}
	return v.start(int(p.NumValues()), data[def:], parquet.Encoding(p.Encoding()))
}

// start begins with the values of a page of n slots.
func (v *valuePages[P]) start(n int, data []byte, enc parquet.Encoding) error {
	v.left = n
	if v.byDict = enc == parquet.Encodings.PlainDict || enc == parquet.Encodings.RLEDict; !v.byDict {
		return v.decoder.start(data, enc)
	}
	if len(data) == 0 { // nulls alone
		return v.index.reset(nil, 0)
	}
	return v.index.reset(data[1:], int(data[0]))
}

// ReadBatchInPage gives the next values of the page at hand, the levels of their
// slots where some have none; total is 0 at the end of the chunk.
func (v *valuePages[P]) ReadBatchInPage(size int64, values []P, def, _ []int16) (total int64, read int, err error) {
	if more, err := v.nextPage(); err != nil || !more {
		return 0, 0, err
	}
	n := int(min(size, int64(v.left)))
	v.left -= n
	count := n
	if v.optional {
		if count, err = v.readLevels(n, def); err != nil {
			return 0, 0, err
		}
	}
	return int64(n), count, v.readValues(values[:count])
}

// readLevels reads n levels and gives how many slots have values; def is left as it is if all have.
func (v *valuePages[P]) readLevels(n int, def []int16) (int, error) {
	if v.levels.run >= n && v.levels.packed == nil && v.levels.value == 1 {
		v.levels.run -= n
		return n, nil
	}
	v.defs = grow(v.defs, n)
	if err := v.levels.read(v.defs); err != nil {
		return 0, err
	}
	count := 0
	for i, d := range v.defs {
		def[i] = int16(d)
		count += int(d)
	}
	return count, nil
}

// readDense gives the values of the next size slots at most, those of the page at
// hand: n is the number of slots, 0 at the end of the chunk, count that of values.
// Where some slots have none, those from at on in valid are marked.
func (v *valuePages[P]) readDense(size int, values []P, valid *validity, at int) (n, count int, err error) {
	n, count, err = v.nextSlots(size, valid, at)
	if err != nil || n == 0 {
		return 0, 0, err
	}
	return n, count, v.readValues(values[:count])
}

// nextSlots goes on to the next slots, and gives how many of them have values.
func (v *valuePages[P]) nextSlots(size int, valid *validity, at int) (n, count int, err error) {
	if more, err := v.nextPage(); err != nil || !more {
		return 0, 0, err
	}
	n = min(size, v.left)
	v.left -= n
	if !v.optional {
		return n, n, nil
	}
	count, err = v.levels.readBits(n, valid, at)
	return n, count, err
}

// readValues reads the next values of the page.
func (v *valuePages[P]) readValues(values []P) error {
	if !v.byDict {
		return v.decoder.read(values)
	}
	v.at = grow(v.at, len(values))
	if err := v.index.read(v.at); err != nil {
		return err
	}
	dict := v.dict
	for i, at := range v.at {
		if int(at) >= len(dict) {
			return fmt.Errorf("value %d of a dictionary of %d", at, len(dict))
		}
		values[i] = dict[at]
	}
	return nil
}

// intDecoder reads plain integers and packed differences.
type intDecoder[T int32 | int64] struct {
	width int
	plain []byte
	delta deltaReader[T]
	packs bool
}

func (d *intDecoder[T]) start(data []byte, enc parquet.Encoding) error {
	switch enc {
	case parquet.Encodings.Plain:
		d.plain, d.packs = data, false
		return nil
	case parquet.Encodings.DeltaBinaryPacked:
		d.packs = true
		return d.delta.reset(data)
	default:
		return fmt.Errorf("integers in %s", enc)
	}
}

func (d *intDecoder[T]) read(dst []T) error {
	if d.packs {
		return d.delta.read(dst)
	}
	if len(d.plain) < len(dst)*d.width {
		return errPageEnds
	}
	copy(arrow.GetBytes(dst), d.plain)
	d.plain = d.plain[len(dst)*d.width:]
	return nil
}

// bytesDecoder reads plain byte arrays, which stay in the page, with capacity up to its end: see copyValue.
type bytesDecoder struct{ data []byte }

func (d *bytesDecoder) start(data []byte, enc parquet.Encoding) error {
	d.data = data
	if enc != parquet.Encodings.Plain {
		return fmt.Errorf("byte arrays in %s", enc)
	}
	return nil
}

func (d *bytesDecoder) read(dst []parquet.ByteArray) error {
	data := d.data
	for i := range dst {
		if len(data) < 4 {
			return errPageEnds
		}
		n := uint64(binary.LittleEndian.Uint32(data))
		if n > uint64(len(data)-4) {
			return errPageEnds
		}
		dst[i], data = data[4:4+n], data[4+n:]
	}
	d.data = data
	return nil
}
