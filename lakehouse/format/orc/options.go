package orc

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The defaults of Options, those of Paimon's ORC writer.
const (
	DefaultStripeSize = 64 << 20
	DefaultChunkSize  = 256 << 10
	DefaultIndexRows  = 10_000
	DefaultZstdLevel  = 1
	// DefaultDictionaryShare is not Java's 0.8: above a half the lengths cost more than the references save.
	DefaultDictionaryShare = 0.5
)

// Options steer a Writer; the zero value is Paimon's defaults.
type Options struct {
	// Compression is the codec name of 'file.compression': zstd (also ""), zlib, snappy, lz4 or none.
	Compression string
	// Level is the effort of zstd (1 to 22) or zlib (1 to 9); 0 means DefaultZstdLevel, or zlib's default.
	Level int
	// StripeSize is the number of buffered bytes, compressed as far as they are, at
	// which a stripe is cut; 0 means DefaultStripeSize. It bounds the memory of a Writer.
	StripeSize int64
	// ChunkSize is the size in bytes of a compression chunk before compression; 0 means DefaultChunkSize.
	ChunkSize int
	// IndexRows is the number of rows of a row group of the index; 0 means DefaultIndexRows.
	IndexRows int
	// DictionaryShare is the share of distinct values up to which a text column keeps
	// its dictionary; 0 means DefaultDictionaryShare, less that there are no dictionaries.
	DictionaryShare float64
	// NoDictionary names text columns whose values hardly repeat, which are written directly at once.
	NoDictionary []string
	// Mem allocates the arrays of the statistics; nil means the Go allocator.
	Mem memory.Allocator
}

func (o Options) withDefaults() Options {
	if o.StripeSize <= 0 {
		o.StripeSize = DefaultStripeSize
	}
	if o.ChunkSize <= 0 {
		o.ChunkSize = DefaultChunkSize
	}
	// A chunk must be described by 23 bits, also where compression makes it longer.
	o.ChunkSize = min(o.ChunkSize, maxBlockSize/2)
	if o.IndexRows <= 0 {
		o.IndexRows = DefaultIndexRows
	}
	if o.DictionaryShare == 0 {
		o.DictionaryShare = DefaultDictionaryShare
	}
	if o.Mem == nil {
		o.Mem = memory.DefaultAllocator
	}
	return o
}

// ParseCompression gives the codec that NewWriter takes under name; "" is zstd.
func ParseCompression(name string) (Compression, error) {
	switch strings.ToLower(name) {
	case "", "zstd":
		return CompressionZstd, nil
	case "zlib":
		return CompressionZlib, nil
	case "snappy":
		return CompressionSnappy, nil
	case "lz4":
		return CompressionLZ4, nil
	case "none":
		return CompressionNone, nil
	default:
		return CompressionNone, fmt.Errorf("compression %q is not one of zstd, zlib, snappy, lz4, none", name)
	}
}

// level gives the codec's own number for o.Level.
func (o Options) level(c Compression) int {
	switch {
	case o.Level != 0:
		return o.Level
	case c == CompressionZlib:
		return -1
	default:
		return DefaultZstdLevel
	}
}
