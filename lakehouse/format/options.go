package format

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"leat/internal/columnar"
)

// The defaults of Options, those of Paimon's Parquet writer.
const (
	DefaultBlockSize = 128 << 20
	DefaultPageSize  = 1 << 20
	DefaultZstdLevel = 1
)

// Options steer a Writer; the zero value is Paimon's defaults.
type Options struct {
	// Compression is the codec name of 'file.compression': zstd (also ""), snappy,
	// gzip, lz4 or uncompressed.
	Compression string
	// ZstdLevel is 'file.compression.zstd-level'; 0 means DefaultZstdLevel.
	ZstdLevel int
	// BlockSize is the size in bytes at which a row group is cut; 0 means DefaultBlockSize.
	BlockSize int64
	// PageSize is the size in bytes of a data page before compression; 0 means DefaultPageSize.
	PageSize int64
	// Distinct names columns whose values hardly repeat (keys, sequence numbers): they
	// get no dictionary, and delta encoding where they are NOT NULL integers.
	Distinct []string
	// Unbounded names columns whose least and greatest values nobody asks for.
	// Parquet and ORC keep them anyway, Avro files have none to take them from.
	Unbounded []string
	// Mem allocates the encoder buffers; nil means the Go allocator.
	Mem memory.Allocator
}

func (o Options) withDefaults() Options {
	if o.ZstdLevel == 0 {
		o.ZstdLevel = DefaultZstdLevel
	}
	if o.BlockSize <= 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.PageSize <= 0 {
		o.PageSize = DefaultPageSize
	}
	if o.Mem == nil {
		o.Mem = memory.DefaultAllocator
	}
	return o
}

// CheckCompression reports whether name is a codec that NewWriter takes.
func CheckCompression(name string) error {
	_, err := codecOf(name)
	return err
}

func codecOf(name string) (compress.Compression, error) {
	switch strings.ToLower(name) {
	case "", "zstd":
		return compress.Codecs.Zstd, nil
	case "snappy":
		return compress.Codecs.Snappy, nil
	case "gzip":
		return compress.Codecs.Gzip, nil
	case "lz4":
		return compress.Codecs.Lz4Raw, nil
	case "uncompressed":
		return compress.Codecs.Uncompressed, nil
	default:
		return compress.Codecs.Uncompressed, fmt.Errorf("compression %q is not one of zstd, snappy, gzip, lz4, uncompressed", name)
	}
}

// properties gives the writer properties for fields.
func (o Options) properties(fields []columnar.Field) (*parquet.WriterProperties, error) {
	codec, err := codecOf(o.Compression)
	if err != nil {
		return nil, err
	}
	props := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V1_0),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithDataPageSize(o.PageSize),
		parquet.WithBatchSize(2048),
		parquet.WithCompression(codec),
		parquet.WithAllocator(o.Mem),
		parquet.WithCreatedBy("leat"),
		parquet.WithRootName(rootName),
	}
	if codec == compress.Codecs.Zstd {
		props = append(props, parquet.WithCompressionLevel(o.ZstdLevel))
	}
	distinct := make(map[string]bool, len(o.Distinct))
	for _, n := range o.Distinct {
		distinct[n] = true
	}
	for _, f := range fields {
		eachLeaf(f, f.Name, func(path string, t columnar.DataType) {
			if distinct[path] || t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ {
				props = append(props, parquet.WithDictionaryFor(path, false))
			} else {
				// The dictionary is given up on the first page that it does not make smaller.
				props = append(props, parquet.WithDictionaryCostFallbackFor(path, true))
			}
			if isDelta(t) {
				props = append(props, parquet.WithEncodingFor(path, parquet.Encodings.DeltaBinaryPacked))
			}
			if t.IsBytes() {
				props = append(props, parquet.WithStatsFor(path, false))
			}
		})
	}
	return parquet.NewWriterProperties(props...), nil
}

// isDelta reports whether differences take the place of a dictionary.
func isDelta(t columnar.DataType) bool {
	switch t.Kind {
	case columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		return true
	case columnar.Decimal:
		return t.Precision <= 18
	case columnar.Timestamp, columnar.TimestampLTZ:
		return t.Precision <= 6
	default:
		return false
	}
}
