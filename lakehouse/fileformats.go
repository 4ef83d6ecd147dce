package lakehouse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/format/orc"
	"leat/lakehouse/spec"
)

// The options that say in which format and codec files are written.
const (
	optionCompression          = "file.compression"
	optionORCCompress          = "orc.compress"
	optionFormatLevels         = "file.format.per.level"
	optionCompressionLevels    = "file.compression.per.level"
	optionChangelogFormat      = "changelog-file.format"
	optionChangelogCompression = "changelog-file.compression"
)

// FileFormats say how the files of a table are written.
type FileFormats struct {
	Data, Changelog datafile.ByLevel
}

// readFormats reads the options of files; levels is whether those per level count.
func readFormats(r *optionReader, levels bool) FileFormats {
	base := datafile.Options{
		Format: readWord(r, spec.OptionFileFormat, datafile.Parquet),
		Options: format.Options{
			Compression: readWord(r, optionCompression, "zstd"),
			ZstdLevel:   readInt(r, "file.compression.zstd-level", format.DefaultZstdLevel),
			BlockSize:   read(r, "file.block-size", 0, configs.ParseSize),
			PageSize:    read(r, "parquet.page.size", format.DefaultPageSize, configs.ParseSize),
		},
		ORC: readORC(r),
	}
	f := FileFormats{Data: datafile.ByLevel{Options: base}}
	if levels {
		formats := read(r, optionFormatLevels, nil, configs.ParseLevels)
		codecs := read(r, optionCompressionLevels, nil, configs.ParseLevels)
		f.Data.Levels = map[int32]datafile.Options{}
		for level, word := range formats {
			o := base
			o.Format = word
			f.Data.Levels[level] = o
		}
		for level, word := range codecs {
			o := f.Data.At(level)
			o.Compression = word
			f.Data.Levels[level] = o
		}
	}
	word, codec := readWord(r, optionChangelogFormat, ""), readWord(r, optionChangelogCompression, "")
	change := func(o datafile.Options) datafile.Options {
		if word != "" {
			o.Format = word
		}
		if codec != "" {
			o.Compression = codec
		}
		return o
	}
	f.Changelog = datafile.ByLevel{Options: change(f.Data.Options), Levels: map[int32]datafile.Options{}}
	for level, o := range f.Data.Levels {
		f.Changelog.Levels[level] = change(o)
	}
	return f
}

// readORC reads the options of Apache ORC that Paimon hands through.
func readORC(r *optionReader) datafile.ORCOptions {
	o := datafile.ORCOptions{
		Compression: readWord(r, optionORCCompress, ""),
		Level:       readInt(r, "orc.compression.zstd.level", 0),
		StripeSize:  read(r, "orc.stripe.size", 0, configs.ParseInt),
		ChunkSize:   readInt(r, "orc.compress.size", 0),
		IndexRows:   readInt(r, "orc.row.index.stride", 0),
	}
	if o.DictionaryShare = read(r, "orc.dictionary.key.threshold", orc.DefaultDictionaryShare, configs.ParseDouble); o.DictionaryShare == 0 {
		o.DictionaryShare = -1
	}
	for name := range strings.SplitSeq(readText(r, "orc.column.encoding.direct", ""), ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.NoDictionary = append(o.NoDictionary, name)
		}
	}
	return o
}

func readWord(r *optionReader, key, def string) string {
	return strings.ToLower(readText(r, key, def))
}

// CheckFormats reports whether leat can write files of the formats and codecs
// that the options of s name, with the columns of s. The error names the option.
func CheckFormats(s *spec.TableSchema) error {
	r := &optionReader{raw: s.Options}
	f := readFormats(r, len(s.PrimaryKeys) > 0)
	if r.err != nil {
		return r.err
	}
	return f.check("", s)
}

// check is CheckFormats of parsed options; table is for error text.
func (f *FileFormats) check(table string, s *spec.TableSchema) error {
	if err := checkFormat(table, s, &f.Data.Options, spec.OptionFileFormat, optionCompression); err != nil {
		return err
	}
	for _, level := range slices.Sorted(maps.Keys(f.Data.Levels)) {
		o := f.Data.Levels[level]
		if err := checkFormat(table, s, &o, optionFormatLevels, optionCompressionLevels); err != nil {
			return err
		}
	}
	if p := strings.ToLower(s.Options["changelog-producer"]); p == "" || p == ChangelogNone {
		return nil
	}
	if err := checkFormat(table, s, &f.Changelog.Options, optionChangelogFormat, optionChangelogCompression); err != nil {
		return err
	}
	for _, level := range slices.Sorted(maps.Keys(f.Changelog.Levels)) {
		o := f.Changelog.Levels[level]
		if err := checkFormat(table, s, &o, optionChangelogFormat, optionChangelogCompression); err != nil {
			return err
		}
	}
	return nil
}

// checkFormat checks one set of options; formatKey and codecKey are where format and codec come from.
func checkFormat(table string, s *spec.TableSchema, o *datafile.Options, formatKey, codecKey string) error {
	refuse := func(hint string, err error, keys ...string) error {
		keys = append(keys, formatKey, spec.OptionFileFormat)
		set := slices.IndexFunc(keys, func(k string) bool { _, ok := s.Options[k]; return ok })
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeRefusedOption, Table: table, Option: keys[max(set, 0)],
			Msg: fmt.Sprintf("leat cannot write such files: %v", err), Hint: hint,
		}
	}
	if !slices.Contains([]string{"", datafile.Parquet, datafile.ORC, datafile.Avro}, o.Format) {
		return refuse("write 'parquet', 'orc' or 'avro'", fmt.Errorf("'%s' is a format that it does not know", o.Format))
	}
	if err := o.CheckCompression(); err != nil {
		keys := []string{codecKey, optionCompression}
		if o.Format == datafile.ORC {
			keys = append([]string{optionORCCompress}, keys...)
		}
		return refuse("write 'zstd', which every format takes", err, keys...)
	}
	if err := o.CheckFields(s.Fields); err != nil {
		return refuse("write 'parquet' or 'orc'", err)
	}
	return nil
}
