package datafile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/lakehouse/format"
	"leat/lakehouse/format/orc"
)

// Options say how a file is written; the zero value is Parquet with Paimon's defaults.
type Options struct {
	// Format is Parquet (also ""), ORC or Avro.
	Format string
	// ORC are the options of ORC files alone, which win over the general ones.
	ORC ORCOptions
	// Options hold for all formats, as far as they have what is set: ORC cuts its
	// stripes at BlockSize. The codecs that a format takes differ, see Check.
	format.Options
}

// ORCOptions are the options of ORC files alone; zero values say nothing. They
// are named as those of the package orc are.
type ORCOptions struct {
	Compression     string
	Level           int
	StripeSize      int64
	ChunkSize       int
	IndexRows       int
	DictionaryShare float64
	NoDictionary    []string
}

// ByLevel are the options of the data files of a table.
type ByLevel struct {
	Options
	// Levels are those of single levels of the merge tree, in place of Options.
	Levels map[int32]Options
}

// At gives the options of files of a level, their format named.
func (b *ByLevel) At(level int32) Options {
	o, ok := b.Levels[level]
	if !ok {
		o = b.Options
	}
	o.Format = cmp.Or(o.Format, Parquet)
	return o
}

// orc gives the options of an ORC file.
func (o *Options) orc() orc.Options {
	opts := orc.Options{
		Compression: cmp.Or(o.ORC.Compression, o.Compression), StripeSize: cmp.Or(o.BlockSize, o.ORC.StripeSize),
		ChunkSize: o.ORC.ChunkSize, IndexRows: o.ORC.IndexRows, DictionaryShare: o.ORC.DictionaryShare,
		NoDictionary: slices.Concat(o.Distinct, o.ORC.NoDictionary), Mem: o.Mem,
	}
	if codec, err := orc.ParseCompression(opts.Compression); err == nil && codec == orc.CompressionZstd {
		opts.Level = cmp.Or(o.ORC.Level, o.ZstdLevel)
	}
	return opts
}

// CheckCompression reports whether files of o.Format are written with o.Compression.
func (o *Options) CheckCompression() error {
	var err error
	switch name := o.Compression; o.Format {
	case ORC:
		_, err = orc.ParseCompression(cmp.Or(o.ORC.Compression, name))
	case Avro:
		if !strings.EqualFold(cmp.Or(name, "zstd"), "zstd") {
			err = fmt.Errorf("compression %q is not zstd", name)
		}
	default:
		err = format.CheckCompression(name)
	}
	if err != nil {
		return fmt.Errorf("%s files: %w", cmp.Or(o.Format, Parquet), err)
	}
	return nil
}

// CheckFields reports whether files of o.Format can hold the columns fields.
func (o *Options) CheckFields(fields []columnar.Field) error {
	_, err := Create(io.Discard, fields, *o)
	return err
}
