package orc

// The magic bytes at both ends of a file.
const magic = "ORC"

// Compression is a codec of the format, with its number in the file.
type Compression uint8

// The codecs of the format. LZO is neither read nor written.
const (
	CompressionNone Compression = iota
	CompressionZlib
	CompressionSnappy
	CompressionLZO
	CompressionLZ4
	CompressionZstd
)

var compressionNames = [...]string{"none", "zlib", "snappy", "lzo", "lz4", "zstd"}

// String gives the name as Paimon and ORC spell it in options, lower case.
func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return "unknown"
}

// streamKind says what a stream of a column holds.
type streamKind uint8

const (
	streamPresent        streamKind = 0
	streamData           streamKind = 1
	streamLength         streamKind = 2
	streamDictionaryData streamKind = 3
	streamSecondary      streamKind = 5
	streamRowIndex       streamKind = 6
	streamBloomFilter    streamKind = 7
	streamBloomUTF8      streamKind = 8
)

// encodingKind says how the streams of a column are encoded.
type encodingKind uint8

const (
	encodingDirect       encodingKind = 0
	encodingDictionary   encodingKind = 1
	encodingDirectV2     encodingKind = 2
	encodingDictionaryV2 encodingKind = 3
)

// Limits of what a file's tail and a stripe may list: a few bytes each there,
// but more in memory.
const (
	maxStripes = 1 << 20
	maxStreams = 1 << 20
	maxGroups  = 1 << 16
)

// The numbers of the calendars. Java Paimon keeps days and wall clocks as they
// are only if a file claims the hybrid calendar, so that is what is written.
const calendarJulianGregorian = 1

type postScript struct {
	footerLength   uint64
	compression    Compression
	blockSize      uint64
	version        []uint64
	metadataLength uint64
	writerVersion  uint64
	magic          string
}

func (p *postScript) encode() []byte {
	var b []byte
	b = putUint(b, 1, p.footerLength)
	b = putUint(b, 2, uint64(p.compression))
	if p.compression != CompressionNone {
		b = putUint(b, 3, p.blockSize)
	}
	b = putPacked(b, 4, p.version)
	b = putUint(b, 5, p.metadataLength)
	b = putUint(b, 6, p.writerVersion)
	return putBytes(b, 8000, p.magic)
}

func decodePostScript(b []byte) (p postScript, err error) {
	m := message{b: b}
	for m.next() {
		switch m.field {
		case 1:
			p.footerLength = m.uint()
		case 2:
			p.compression = Compression(min(m.uint(), 255))
		case 3:
			p.blockSize = m.uint()
		case 4:
			p.version = m.uints(p.version)
		case 5:
			p.metadataLength = m.uint()
		case 6:
			p.writerVersion = m.uint()
		case 8000:
			p.magic = m.string()
		}
	}
	return p, m.err
}

type stripeInfo struct {
	offset, indexLength, dataLength, footerLength, rows uint64
}

func (s *stripeInfo) encode() []byte {
	var b []byte
	b = putUint(b, 1, s.offset)
	b = putUint(b, 2, s.indexLength)
	b = putUint(b, 3, s.dataLength)
	b = putUint(b, 4, s.footerLength)
	return putUint(b, 5, s.rows)
}

func decodeStripeInfo(m *message) (s stripeInfo) {
	for m.next() {
		switch m.field {
		case 1:
			s.offset = m.uint()
		case 2:
			s.indexLength = m.uint()
		case 3:
			s.dataLength = m.uint()
		case 4:
			s.footerLength = m.uint()
		case 5:
			s.rows = m.uint()
		}
	}
	return s
}

type attribute struct{ key, value string }

// typeInfo is one node of the flattened type tree.
type typeInfo struct {
	kind      typeKind
	subtypes  []uint64
	names     []string
	maxLength uint64
	precision uint64
	scale     uint64
	attrs     []attribute
}

func (t *typeInfo) encode() []byte {
	var b []byte
	b = putUint(b, 1, uint64(t.kind))
	b = putPacked(b, 2, t.subtypes)
	for _, n := range t.names {
		b = putBytes(b, 3, n)
	}
	switch t.kind {
	case kindChar, kindVarchar:
		b = putUint(b, 4, t.maxLength)
	case kindDecimal:
		b = putUint(b, 5, t.precision)
		b = putUint(b, 6, t.scale)
	default:
	}
	for _, a := range t.attrs {
		b = putBytes(b, 7, putBytes(putBytes(nil, 1, a.key), 2, a.value))
	}
	return b
}

func decodeType(m *message) (t typeInfo) {
	for m.next() {
		switch m.field {
		case 1:
			t.kind = typeKind(min(m.uint(), 255))
		case 2:
			t.subtypes = m.uints(t.subtypes)
		case 3:
			t.names = append(t.names, m.string())
		case 4:
			t.maxLength = m.uint()
		case 5:
			t.precision = m.uint()
		case 6:
			t.scale = m.uint()
		case 7:
			sub, a := m.sub(), attribute{}
			for sub.next() {
				switch sub.field {
				case 1:
					a.key = sub.string()
				case 2:
					a.value = sub.string()
				}
			}
			m.done(sub)
			t.attrs = append(t.attrs, a)
		}
	}
	return t
}

type footer struct {
	headerLength, contentLength uint64
	stripes                     []stripeInfo
	types                       []typeInfo
	metadata                    []attribute
	rows                        uint64
	stats                       []fileStat
	stride                      uint64
	writer                      uint64
	encrypted                   bool
	calendar                    uint64
	software                    string
}

func (f *footer) encode() []byte {
	var b []byte
	b = putUint(b, 1, f.headerLength)
	b = putUint(b, 2, f.contentLength)
	for i := range f.stripes {
		b = putBytes(b, 3, f.stripes[i].encode())
	}
	for i := range f.types {
		b = putBytes(b, 4, f.types[i].encode())
	}
	for _, a := range f.metadata {
		b = putBytes(b, 5, putBytes(putBytes(nil, 1, a.key), 2, a.value))
	}
	b = putUint(b, 6, f.rows)
	for i := range f.stats {
		b = putBytes(b, 7, f.stats[i].encode())
	}
	b = putUint(b, 8, f.stride)
	b = putUint(b, 9, f.writer)
	b = putUint(b, 11, f.calendar)
	return putBytes(b, 12, f.software)
}

func decodeFooter(b []byte) (f footer, err error) {
	m := message{b: b}
	for m.next() {
		switch m.field {
		case 1:
			f.headerLength = m.uint()
		case 2:
			f.contentLength = m.uint()
		case 3:
			sub := m.sub()
			if len(f.stripes) >= maxStripes {
				m.fail()
			}
			f.stripes = append(f.stripes, decodeStripeInfo(sub))
			m.done(sub)
		case 4:
			sub := m.sub()
			if len(f.types) >= maxTypes {
				m.fail()
			}
			f.types = append(f.types, decodeType(sub))
			m.done(sub)
		case 5:
			sub, a := m.sub(), attribute{}
			for sub.next() {
				switch sub.field {
				case 1:
					a.key = sub.string()
				case 2:
					a.value = sub.string()
				}
			}
			m.done(sub)
			f.metadata = append(f.metadata, a)
		case 6:
			f.rows = m.uint()
		case 7:
			sub := m.sub()
			if len(f.stats) >= maxTypes {
				m.fail()
			}
			f.stats = append(f.stats, decodeStat(sub))
			m.done(sub)
		case 8:
			f.stride = m.uint()
		case 9:
			f.writer = m.uint()
		case 10:
			f.encrypted = len(m.bytes()) > 0
		case 11:
			f.calendar = m.uint()
		case 12:
			f.software = m.string()
		}
	}
	return f, m.err
}
