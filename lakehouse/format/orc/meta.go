package orc

import "math"

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

func (p *postScript) fields(c *coder) {
	c.uint(1, &p.footerLength)
	codeSmall(c, 2, &p.compression)
	if c.reading() || p.compression != CompressionNone {
		c.uint(3, &p.blockSize)
	}
	c.uints(4, &p.version)
	c.uint(5, &p.metadataLength)
	c.uint(6, &p.writerVersion)
	c.string(8000, &p.magic)
}

type stripeInfo struct {
	offset, indexLength, dataLength, footerLength, rows uint64
}

func (s *stripeInfo) fields(c *coder) {
	c.uint(1, &s.offset)
	c.uint(2, &s.indexLength)
	c.uint(3, &s.dataLength)
	c.uint(4, &s.footerLength)
	c.uint(5, &s.rows)
}

type attribute struct{ key, value string }

func (a *attribute) fields(c *coder) {
	c.string(1, &a.key)
	c.string(2, &a.value)
}

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

func (t *typeInfo) fields(c *coder) {
	codeSmall(c, 1, &t.kind)
	c.uints(2, &t.subtypes)
	c.strings(3, &t.names)
	if c.reading() || t.kind == kindChar || t.kind == kindVarchar {
		c.uint(4, &t.maxLength)
	}
	if c.reading() || t.kind == kindDecimal {
		c.uint(5, &t.precision)
		c.uint(6, &t.scale)
	}
	codeEach(c, 7, &t.attrs, math.MaxInt, (*attribute).fields)
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

func (f *footer) fields(c *coder) {
	c.uint(1, &f.headerLength)
	c.uint(2, &f.contentLength)
	codeEach(c, 3, &f.stripes, maxStripes, (*stripeInfo).fields)
	codeEach(c, 4, &f.types, maxTypes, (*typeInfo).fields)
	codeEach(c, 5, &f.metadata, math.MaxInt, (*attribute).fields)
	c.uint(6, &f.rows)
	codeEach(c, 7, &f.stats, maxTypes, (*fileStat).fields)
	c.uint(8, &f.stride)
	c.uint(9, &f.writer)
	if c.reading() {
		var encryption []byte
		c.bytes(10, &encryption)
		f.encrypted = f.encrypted || len(encryption) > 0
	}
	c.uint(11, &f.calendar)
	c.string(12, &f.software)
}
