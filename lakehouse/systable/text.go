package systable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// javaText gives a value as Java's toString gives the internal form: dates as
// days, times as milliseconds, timestamps in ISO form without trailing zeros.
func javaText(r spec.BinaryRow, i int, t columnar.DataType) (string, error) {
	if r.IsNull(i) {
		return "null", nil
	}
	switch t.Kind {
	case columnar.Boolean:
		v, err := r.Bool(i)
		return strconv.FormatBool(v), err
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		v, err := r.Int64(i, t)
		return strconv.FormatInt(v, 10), err
	case columnar.Float, columnar.Double:
		v, err := r.Float64(i, t)
		return spec.JavaFloat(v, t.Kind == columnar.Float), err
	case columnar.Decimal:
		v, err := r.Decimal(i, t)
		return v.ToString(int32(t.Scale)), err
	case columnar.Timestamp, columnar.TimestampLTZ:
		millis, nanos, err := r.Timestamp(i, t)
		return spec.JavaDateTime(time.UnixMilli(millis).UTC().Add(time.Duration(nanos))), err
	case columnar.Char, columnar.VarChar:
		v, err := r.Bytes(i)
		return string(v), err
	case columnar.Binary, columnar.VarBinary:
		v, err := r.Bytes(i)
		return fmt.Sprint(v), err
	default:
		return "null", nil
	}
}

// partitionText gives {a, b}: values cast to text.
func partitionText(p *spec.PartitionPaths, row spec.BinaryRow) (string, error) {
	parts := make([]string, len(p.Keys))
	plain := *p
	plain.Plain = true
	for i := range p.Keys {
		switch {
		case row.IsNull(i):
			parts[i] = "null"
		case p.Types[i].IsText():
			b, err := row.Bytes(i)
			if err != nil {
				return "", err
			}
			parts[i] = string(b)
		default:
			var err error
			if parts[i], err = plain.Value(row, i); err != nil {
				return "", err
			}
		}
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}

// keyText gives [a, b], nil for tables without a key.
func keyText(row spec.BinaryRow, types []columnar.DataType) (*string, error) {
	if row.Arity == 0 || len(types) != row.Arity {
		return nil, nil //nolint:nilnil // no key is no error
	}
	parts := make([]string, len(types))
	for i, t := range types {
		var err error
		if parts[i], err = javaText(row, i, t); err != nil {
			return nil, err
		}
	}
	s := "[" + strings.Join(parts, ", ") + "]"
	return &s, nil
}

// mapText gives {a=x, b=y} in order of the names.
func mapText(m map[string]string) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = n + "=" + m[n]
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// javaDuration gives Duration.toString, such as PT24H or PT1M30.5S.
func javaDuration(d time.Duration) string {
	if d == 0 {
		return "PT0S"
	}
	s := "PT"
	if h := d / time.Hour; h != 0 {
		s += fmt.Sprintf("%dH", h)
	}
	if m := d % time.Hour / time.Minute; m != 0 {
		s += fmt.Sprintf("%dM", m)
	}
	if rest := d % time.Minute; rest != 0 {
		s += strconv.FormatFloat(rest.Seconds(), 'f', -1, 64) + "S"
	}
	return s
}
