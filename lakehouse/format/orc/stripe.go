package orc

import (
	"math"
	"slices"

	"leat/internal/fileio"
)

// stripe is an open stripe: where its streams are, and their encodings.
type stripe struct {
	file  fileio.File
	codec decompressor
	block int
	// start and end bound the stripe in the file.
	start, end int64
	rows       uint64
	// nested is the number of types below the columns: with any, a dictionary
	// may have more entries than the stripe has rows.
	nested    int
	streams   map[streamKey]streamPlace
	encodings []columnEncoding
	timezone  string
	zone      *zone
	indexes   map[int][]indexEntry
	ahead     []segment
	opened    []*inStream
	// budget is how many bytes of variable length the batch may still have,
	// dictionaries how many those of the stripe have.
	budget, dictionaries int64
}

// spend takes n bytes off the budget of the batch.
func (s *stripe) spend(n int64) error {
	if s.budget -= n; n < 0 || s.budget < 0 {
		return &UnsupportedError{Feature: "so much data in one batch (read fewer rows at once)"}
	}
	return nil
}

type streamKey struct {
	column int
	kind   streamKind
}

type streamPlace struct{ off, length int64 }

// Neighbouring streams are read ahead together: gaps and totals up to here.
const (
	aheadGap  = 64 << 10
	aheadSize = 1 << 20
)

// openStripe reads the footer of a stripe.
func (r *Reader) openStripe(i int) (*stripe, error) {
	info := r.footer.stripes[i]
	s := &stripe{
		file: r.file, codec: r.codec, block: r.block, start: int64(info.offset), rows: info.rows,
		end: int64(info.offset + info.indexLength + info.dataLength), streams: map[streamKey]streamPlace{},
		indexes: map[int][]indexEntry{}, nested: len(r.footer.types) - 1 - len(r.root.children),
	}
	b, err := r.section(s.end, int64(info.footerLength))
	if err != nil {
		return nil, err
	}
	var foot stripeFooter
	if err := decode(b, foot.fields); err != nil {
		return nil, corruptf(s.end, "the stripe footer: %v", err)
	}
	if len(foot.encodings) < len(r.footer.types) {
		return nil, corruptf(s.end, "%d encodings for %d types", len(foot.encodings), len(r.footer.types))
	}
	s.encodings, s.timezone = foot.encodings, foot.timezone
	at := s.start
	for _, st := range foot.streams {
		if st.length > uint64(s.end-at) {
			return nil, corruptf(s.end, "a stream ends behind its stripe")
		}
		if st.length > 0 && st.column < len(r.footer.types) {
			s.streams[streamKey{st.column, st.kind}] = streamPlace{off: at, length: int64(st.length)}
		}
		at += int64(st.length)
	}
	return s, nil
}

// readAhead reads the small data streams of the columns, neighbours at once.
func (s *stripe) readAhead(columns []int) error {
	var places []streamPlace
	for _, id := range columns {
		for _, k := range []streamKind{streamPresent, streamData, streamLength, streamDictionaryData, streamSecondary} {
			if p, ok := s.streams[streamKey{id, k}]; ok && p.length <= aheadSize {
				places = append(places, p)
			}
		}
	}
	slices.SortFunc(places, func(a, b streamPlace) int { return int(min(max(a.off-b.off, -1), 1)) })
	for len(places) > 0 {
		from, to, n := places[0].off, places[0].off+places[0].length, 1
		for n < len(places) && places[n].off-to <= aheadGap && places[n].off+places[n].length-from <= aheadSize {
			to = places[n].off + places[n].length
			n++
		}
		seg := segment{off: from, data: takeSlab(int(to - from))[:to-from]}
		if err := readAt(s.file, seg.data, from); err != nil {
			return err
		}
		s.ahead = append(s.ahead, seg)
		places = places[n:]
	}
	return nil
}

// stream starts a stream from its beginning; nil if the stripe has none.
func (s *stripe) stream(column int, kind streamKind) *inStream {
	p, ok := s.streams[streamKey{column, kind}]
	if !ok {
		return nil
	}
	in := &inStream{file: s.file, codec: s.codec, block: s.block, start: p.off, at: p.off, end: p.off + p.length}
	i, found := slices.BinarySearchFunc(s.ahead, p.off, func(seg segment, off int64) int { return int(min(max(seg.off-off, -1), 1)) })
	if !found {
		i--
	}
	if i >= 0 && p.off+p.length <= s.ahead[i].off+int64(len(s.ahead[i].data)) {
		in.ahead = &s.ahead[i]
	}
	s.opened = append(s.opened, in)
	return in
}

// close gives up the memory of the streams.
func (s *stripe) close() {
	for _, in := range s.opened {
		in.close()
	}
	for _, seg := range s.ahead {
		giveSlab(seg.data)
	}
	s.opened, s.ahead = nil, nil
}

func (s *stripe) writerZone() (*zone, error) {
	if s.zone != nil {
		return s.zone, nil
	}
	z, err := newZone(s.timezone)
	s.zone = z
	return z, err
}

// loadIndex reads the row index of a column once.
func (r *Reader) loadIndex(s *stripe, column int) ([]indexEntry, error) {
	if e, ok := s.indexes[column]; ok {
		return e, nil
	}
	p, ok := s.streams[streamKey{column, streamRowIndex}]
	if !ok {
		return nil, nil
	}
	b, err := r.section(p.off, p.length)
	if err != nil {
		return nil, err
	}
	var index rowIndex
	if err := decode(b, index.fields); err != nil {
		return nil, corruptf(p.off, "the row index of type %d: %v", column, err)
	}
	s.indexes[column] = index.entries
	return index.entries, nil
}

// positions are those of a row group; the index is loaded.
func (s *stripe) positions(column, group int) []uint64 {
	if e := s.indexes[column]; group < len(e) {
		return e[group].positions
	}
	return nil
}

// Limits of a section of the file's tail or of a stripe's index, decompressed.
const maxSection = 32 << 20

// section reads and decompresses a section of n bytes at off.
func (r *Reader) section(off, n int64) ([]byte, error) {
	if n > maxSection {
		return nil, corruptf(off, "a section of %d bytes", n)
	}
	in := inStream{file: r.file, codec: r.codec, block: r.block, start: off, at: off, end: off + n}
	for {
		before := len(in.buf)
		b, err := in.peek(before + 1)
		if err != nil {
			return nil, err
		}
		if len(b) == before {
			return b, nil
		}
		if len(b) > maxSection {
			return nil, corruptf(off, "a section of more than %d bytes", maxSection)
		}
	}
}

// groups is the number of row groups of n rows.
func (r *Reader) groups(n uint64) int {
	if r.footer.stride == 0 || n == 0 {
		return 1
	}
	return int(min((n-1)/r.footer.stride+1, math.MaxInt32))
}
