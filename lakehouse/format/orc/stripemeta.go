package orc

type streamInfo struct {
	kind   streamKind
	column int
	length uint64
}

type columnEncoding struct {
	kind           encodingKind
	dictionarySize uint64
}

type stripeFooter struct {
	streams   []streamInfo
	encodings []columnEncoding
	timezone  string
}

func (s *stripeFooter) encode() []byte {
	var b []byte
	for _, st := range s.streams {
		sub := putUint(nil, 1, uint64(st.kind))
		sub = putUint(sub, 2, uint64(st.column))
		b = putBytes(b, 1, putUint(sub, 3, st.length))
	}
	for _, e := range s.encodings {
		sub := putUint(nil, 1, uint64(e.kind))
		if e.kind == encodingDictionary || e.kind == encodingDictionaryV2 {
			sub = putUint(sub, 2, e.dictionarySize)
		}
		b = putBytes(b, 2, sub)
	}
	return putBytes(b, 3, s.timezone)
}

func decodeStripeFooter(b []byte) (s stripeFooter, err error) {
	m := message{b: b}
	for m.next() {
		switch m.field {
		case 1:
			sub, st := m.sub(), streamInfo{}
			for sub.next() {
				switch sub.field {
				case 1:
					st.kind = streamKind(min(sub.uint(), 255))
				case 2:
					st.column = int(min(sub.uint(), maxTypes))
				case 3:
					st.length = sub.uint()
				}
			}
			m.done(sub)
			if len(s.streams) >= maxStreams {
				m.fail()
			}
			s.streams = append(s.streams, st)
		case 2:
			sub, e := m.sub(), columnEncoding{}
			for sub.next() {
				switch sub.field {
				case 1:
					e.kind = encodingKind(min(sub.uint(), 255))
				case 2:
					e.dictionarySize = sub.uint()
				}
			}
			m.done(sub)
			if len(s.encodings) >= maxTypes {
				m.fail()
			}
			s.encodings = append(s.encodings, e)
		case 3:
			s.timezone = m.string()
		}
	}
	return s, m.err
}

// indexEntry is one row group of a column's row index. Its statistics are a
// ColumnStatistics message.
type indexEntry struct {
	positions []uint64
	stat      []byte
}

func encodeRowIndex(entries []indexEntry) []byte {
	var b []byte
	for _, e := range entries {
		sub := putPacked(nil, 1, e.positions)
		b = putBytes(b, 1, putBytes(sub, 2, e.stat))
	}
	return b
}

func decodeRowIndex(b []byte) (entries []indexEntry, err error) {
	m := message{b: b}
	for m.next() {
		if m.field != 1 {
			continue
		}
		sub, e := m.sub(), indexEntry{}
		for sub.next() {
			switch sub.field {
			case 1:
				e.positions = sub.uints(e.positions)
			case 2:
				e.stat = sub.bytes()
			}
		}
		m.done(sub)
		if len(entries) >= maxGroups {
			m.fail()
		}
		entries = append(entries, e)
	}
	return entries, m.err
}
