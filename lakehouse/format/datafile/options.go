package datafile

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"leat/internal/columnar"
	"leat/lakehouse/format"
	"leat/lakehouse/format/orc"
)

// Options say how a file is written; the zero value is Parquet with Paimon's defaults.
type Options struct {
	// Format is Parquet (also ""), ORC or Avro.
	Format string
	// Options hold for all formats, as far as they have what is set: ORC cuts its
	// stripes at BlockSize. The codecs that a format takes differ, see Check.
	format.Options
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
	opts := orc.Options{Compression: o.Compression, StripeSize: o.BlockSize, NoDictionary: o.Distinct, Mem: o.Mem}
	if codec, err := orc.ParseCompression(o.Compression); err == nil && codec == orc.CompressionZstd {
		opts.Level = o.ZstdLevel
	}
	return opts
}

// CheckCompression reports whether files of o.Format are written with o.Compression.
func (o *Options) CheckCompression() error {
	var err error
	switch name := o.Compression; o.Format {
	case ORC:
		_, err = orc.ParseCompression(name)
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
