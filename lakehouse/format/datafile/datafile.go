package datafile

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/format"
	"leat/lakehouse/format/avro"
	"leat/lakehouse/format/orc"
)

// The formats of data files, by the words of 'file.format'; they are the
// extensions of file names too.
const (
	Parquet = "parquet"
	ORC     = "orc"
	Avro    = "avro"
)

// Writer writes one data file. It is not safe for concurrent use.
type Writer interface {
	// WriteBatch appends rows rows. cols[i] is column i in the form of
	// columnar.ArrowType and has rows entries; it is not kept.
	WriteBatch(cols []arrow.Array, rows int) error
	// Size is about how many bytes the file has so far.
	Size() int64
	// Close writes the footer. The underlying writer stays open.
	Close() (format.FileInfo, error)
}

// ColumnWriter is a Writer that takes rows column by column.
type ColumnWriter interface {
	Writer
	// WriteColumns appends rows rows: give calls put with arrays of column col,
	// in order, which have rows entries together and are not kept.
	WriteColumns(rows int, give func(col int, put func(arrow.Array) error) error) error
}

// Reader yields the wanted columns of one data file in batches. It is not
// safe for concurrent use.
type Reader interface {
	// Next gives the next batch, one array a wanted column in the form of
	// columnar.ArrowType, which the caller releases; io.EOF after the last.
	Next() (cols []arrow.Array, rows int, err error)
	Close() error
}

// Placer is a Reader that heeds a Filter. FirstRow is the place in the file of
// the first row of the last batch, which is not always behind the batch before.
type Placer interface{ FirstRow() int64 }

// Create starts a file of opts.Format on w with the given columns, their ids included.
func Create(w io.Writer, fields []columnar.Field, opts Options) (Writer, error) {
	var f Writer
	var err error
	switch opts.Format {
	case "", Parquet:
		f, err = format.NewWriter(w, fields, opts.Options)
	case ORC:
		f, err = orc.NewWriter(w, fields, opts.orc())
	case Avro:
		f, err = avro.NewWriter(w, fields, opts.Options)
	default:
		err = fmt.Errorf("format %q is not one of parquet, orc, avro", opts.Format)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NameOf gives the format of the data file called name, which its extension
// says; "" if it is none that Open reads.
func NameOf(name string) string {
	switch ext := strings.TrimPrefix(path.Ext(name), "."); ext {
	case Parquet, ORC, Avro:
		return ext
	default:
		return ""
	}
}

// Open opens the file f, whose path says its format. wanted are columns of the
// schema that the file was written with; one that the file lacks reads as
// nulls. Damaged files give errors of domain Corrupt. The reader owns f, also
// when Open fails.
func Open(f fileio.File, path string, wanted []columnar.Field, opts format.ReadOptions) (Reader, error) {
	var r Reader
	var err error
	name := NameOf(path)
	if pool, ok := opts.Mem.(*columnar.Pool); ok && name == Avro {
		opts.Mem = pool.Zeroed() // its builders count on it
	}
	switch name {
	case Parquet:
		r, err = format.OpenReader(f, path, wanted, opts)
	case ORC:
		r, err = openORC(f, path, wanted, opts)
	case Avro:
		r, err = avro.OpenReader(f, path, wanted, opts)
	default:
		_ = f.Close()
		err = fmt.Errorf("opening data file %s: its name ends in no known format", path)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func openORC(f fileio.File, path string, wanted []columnar.Field, opts format.ReadOptions) (Reader, error) {
	r, err := orc.OpenReader(f, path, wanted, orc.ReadOptions{BatchRows: opts.BatchRows, Mem: opts.Mem, Filter: opts.Filter})
	if err != nil {
		return nil, explainORC(err, path)
	}
	return orcReader{Reader: r, path: path}, nil
}

// orcReader gives the errors of an ORC file as those of other formats are.
type orcReader struct {
	*orc.Reader
	path string
}

func (r orcReader) Next() ([]arrow.Array, int, error) {
	cols, rows, err := r.Reader.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = explainORC(err, r.path)
	}
	return cols, rows, err
}

// explainORC tells damaged files and those that use features of later from trouble of the disk.
func explainORC(err error, path string) error {
	var damaged *orc.CorruptError
	if errors.As(err, &damaged) {
		return format.CorruptFile(path, damaged.Offset, err)
	}
	var unsupported *orc.UnsupportedError
	if errors.As(err, &unsupported) {
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Cause: err,
			Msg:  fmt.Sprintf("data file %s uses %s, which leat does not read", path, unsupported.Feature),
			Hint: "read the table with another engine, or have that one rewrite the file",
		}
	}
	return fmt.Errorf("reading data file %s: %w", path, err)
}
