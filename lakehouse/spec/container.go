package spec

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// container reads an Avro object container file held in memory. Package ocf
// would parse the schema in the header anew for every file, which costs more
// than a small manifest: here equal schemas are parsed once.
type container struct {
	schema *avro.Schema
	codec  ocf.BoundedDecompressor
	sync   []byte
	rest   []byte
	// records counts those of the blocks read.
	records int64
}

const (
	containerMagic = "Obj\x01"
	syncBytes      = 16
	maxHeaderPairs = 1 << 10
	maxSchemaText  = 1 << 20
)

var errShort = errors.New("the file ends too early")

// codecs are the decompressors by name in the header.
var codecs = map[string]ocf.Codec{
	"deflate":   ocf.DeflateCodec(flate.DefaultCompression),
	"snappy":    ocf.SnappyCodec(),
	"zstandard": sharedZstd,
}

// openContainer reads the header of b.
func openContainer(b []byte) (*container, error) {
	if len(b) > maxAvroFile {
		return nil, fmt.Errorf("%d bytes are too many", len(b))
	}
	rest, ok := bytes.CutPrefix(b, []byte(containerMagic))
	if !ok {
		return nil, errors.New("it is no Avro container file")
	}
	c := &container{rest: rest}
	meta, err := c.header()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if c.sync, err = c.take(syncBytes); err != nil {
		return nil, err
	}
	if name := string(meta["avro.codec"]); name != "" && name != "null" {
		if c.codec, ok = codecs[name].(ocf.BoundedDecompressor); !ok {
			return nil, fmt.Errorf("codec %q is unknown", name)
		}
	}
	c.schema, err = schemas.parse(meta["avro.schema"])
	return c, err
}

// next gives the content of the next block and its number of records; 0 at the end of the file.
func (c *container) next() ([]byte, int64, error) {
	for len(c.rest) > 0 {
		count, err := c.long()
		if err != nil {
			return nil, 0, err
		}
		size, err := c.long()
		if err != nil {
			return nil, 0, err
		}
		block, err := c.take(size)
		if err != nil {
			return nil, 0, err
		}
		mark, err := c.take(syncBytes)
		if err != nil {
			return nil, 0, err
		}
		if !bytes.Equal(mark, c.sync) {
			return nil, 0, errors.New("a block ends without the sync marker")
		}
		if c.codec != nil {
			if block, err = c.codec.DecompressBounded(block, maxAvroBlock); err != nil {
				return nil, 0, fmt.Errorf("decompressing a block: %w", err)
			}
		}
		// A record of ours has many fields, so no record takes less than a byte.
		if count < 0 || count > int64(len(block)) {
			return nil, 0, fmt.Errorf("%d records in a block of %d bytes", count, len(block))
		}
		if c.records += count; c.records > maxAvroRecords {
			return nil, 0, fmt.Errorf("more than %d records", maxAvroRecords)
		}
		if count > 0 {
			return block, count, nil
		}
	}
	return nil, 0, nil
}

// header reads the metadata map.
func (c *container) header() (map[string][]byte, error) {
	meta := map[string][]byte{}
	for {
		n, err := c.long()
		if err != nil || n == 0 {
			return meta, err
		}
		if n < 0 { // the size of the block in bytes follows
			n = -n
			if _, err := c.long(); err != nil {
				return nil, err
			}
		}
		if n < 0 || n > maxHeaderPairs || len(meta) > maxHeaderPairs {
			return nil, fmt.Errorf("%d entries are too many", n)
		}
		for range n {
			k, err := c.bytes()
			if err != nil {
				return nil, err
			}
			if meta[string(k)], err = c.bytes(); err != nil {
				return nil, err
			}
		}
	}
}

// long reads a zigzag varint.
func (c *container) long() (int64, error) {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		return 0, errShort
	}
	c.rest = c.rest[n:]
	return v, nil
}

func (c *container) bytes() ([]byte, error) {
	n, err := c.long()
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

func (c *container) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(c.rest)) {
		return nil, errShort
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b, nil
}

// schemaCache holds parsed schemas by their text. Writers of a table use very
// few; what is beyond maxSchemas is parsed without being kept.
type schemaCache struct {
	mu     sync.Mutex
	byText map[string]*avro.Schema
}

const maxSchemas = 64

var schemas = schemaCache{byText: map[string]*avro.Schema{}}

func (s *schemaCache) parse(text []byte) (*avro.Schema, error) {
	if len(text) > maxSchemaText {
		return nil, fmt.Errorf("a schema of %d bytes", len(text))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema := s.byText[string(text)]; schema != nil {
		return schema, nil
	}
	schema, err := avro.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(s.byText) < maxSchemas {
		s.byText[string(text)] = schema
	}
	return schema, nil
}
