package lakehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/configs"
	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// deletedRows gives the rows of a data file that a deletion vector deletes, nil for none.
type deletedRows func(ctx context.Context, file string) (rowSet, error)

// expiry is record-level expiration: compactions leave out rows older than after
// by column field; those without a time stay. Readers see a row until then, as
// Paimon's do: a snapshot reads the same at any time, and the changelog does not
// tell that a row has expired.
type expiry struct {
	field columnar.Field
	after time.Duration
}

// parseExpire reads the record-level options; nil if rows do not expire.
func parseExpire(r *optionReader, s *spec.TableSchema) *expiry {
	after := read(r, "record-level.expire-time", time.Duration(0), configs.ParseDuration)
	if after <= 0 || len(s.PrimaryKeys) == 0 {
		return nil
	}
	const key = "record-level.time-field"
	var e expiry
	read(r, key, "", func(name string) (string, error) {
		i := s.Index(name)
		if i < 0 {
			return "", fmt.Errorf("there is no column %s", name)
		}
		switch s.Fields[i].Type.Kind {
		case columnar.Int, columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
			e = expiry{field: s.Fields[i], after: after}
			return name, nil
		default:
			return "", fmt.Errorf("column %s of type %s is no time", name, s.Fields[i].Type)
		}
	})
	if e.after == 0 {
		return nil
	}
	return &e
}

// millisSecondsBound is the number from which on a BIGINT is taken for milliseconds.
const millisSecondsBound = 1_000_000_000_000

// seconds gives the times of a column in seconds of the epoch.
func (e *expiry) seconds(a arrow.Array) func(i int) int64 {
	switch v := a.(type) {
	case *array.Int32:
		return func(i int) int64 { return int64(v.Value(i)) }
	case *array.Int64:
		return func(i int) int64 {
			if n := v.Value(i); n >= millisSecondsBound {
				return n / 1000
			}
			return v.Value(i)
		}
	case *array.Timestamp:
		unit := v.DataType().(*arrow.TimestampType).Unit
		return func(i int) int64 { return v.Value(i).ToTime(unit).Unix() }
	default:
		return nil
	}
}

// openFiltered opens a file, by open with the columns to read, without deleted and expired rows.
func openFiltered(name string, wanted []columnar.Field, deleted rowSet, expire *expiry, open func([]columnar.Field) (mergetree.RowReader, error)) (mergetree.RowReader, error) {
	r := &filterReader{deleted: deleted, expire: expire, wanted: len(wanted), column: -1, now: time.Now().Unix()}
	if expire != nil {
		for i := range wanted {
			if wanted[i].ID == expire.field.ID {
				r.column = i
			}
		}
		if r.column < 0 {
			r.column = len(wanted)
			wanted = append(slices.Clip(wanted), expire.field)
		}
	}
	var err error
	if r.filter, err = mergetree.NewFilter(wanted[:r.wanted]); err != nil {
		return nil, fmt.Errorf("reading data file %s: %w", name, err)
	}
	if r.r, err = open(wanted); err != nil {
		return nil, err // not r: a reader without a file cannot be closed
	}
	return r, nil
}

// filterReader leaves rows out of a file.
type filterReader struct {
	r       mergetree.RowReader
	filter  *mergetree.Filter
	deleted rowSet
	expire  *expiry
	// wanted counts the columns to give; column is the one expire looks at.
	wanted, column int
	now            int64
	at             int64
	keep           []uint32
}

func (r *filterReader) Close() error { return r.r.Close() }

func (r *filterReader) Next() (*mergetree.Rows, error) {
	rows, err := r.r.Next()
	if err != nil {
		return nil, err
	}
	r.keep = r.keep[:0]
	var seconds func(int) int64
	var times arrow.Array
	if r.expire != nil {
		times = rows.Values[r.column]
		seconds = r.expire.seconds(times)
	}
	for i := range rows.Len() {
		at := r.at + int64(i)
		if rows.Positions != nil {
			at = rows.Positions[i]
		}
		if r.deleted.has(at) {
			continue
		}
		if seconds != nil && times.IsValid(i) && r.now > seconds(i)+int64(r.expire.after/time.Second) {
			continue
		}
		r.keep = append(r.keep, uint32(i))
	}
	for _, a := range rows.Values[r.wanted:] {
		a.Release()
	}
	rows.Values = rows.Values[:r.wanted]
	first := r.at
	r.at += int64(rows.Len())
	return r.filter.Keep(rows, r.keep, first), nil
}
