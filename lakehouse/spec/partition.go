package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"leat/internal/columnar"
)

// DefaultPartitionName stands for null and blank partition values in paths.
const DefaultPartitionName = "__DEFAULT_PARTITION__"

// PartitionPaths computes directory names of partitions
// (InternalRowPartitionComputer.java, PartitionPathUtils.java). A path is only
// a location: two partitions may share one, and values are never parsed back.
type PartitionPaths struct {
	Keys  []string
	Types []columnar.DataType
	// Default is option partition.default-name; "" means DefaultPartitionName.
	Default string
	// Plain is partition.legacy-name=false: values cast to string instead of Java's toString.
	Plain bool
	// Zone is the zone of TIMESTAMP_LTZ values when Plain; nil means UTC.
	Zone *time.Location
}

// Path gives "k1=v1/k2=v2/" with the trailing slash, "" for an unpartitioned table.
func (p *PartitionPaths) Path(row BinaryRow) (string, error) {
	var b strings.Builder
	for i, k := range p.Keys {
		v, err := p.Value(row, i)
		if err != nil {
			return "", fmt.Errorf("computing path of partition %s: %w", k, err)
		}
		escapePath(&b, k)
		b.WriteByte('=')
		escapePath(&b, v)
		b.WriteByte('/')
	}
	return b.String(), nil
}

// Value gives the unescaped text of partition field i.
func (p *PartitionPaths) Value(row BinaryRow, i int) (string, error) {
	def := p.Default
	if def == "" {
		def = DefaultPartitionName
	}
	if row.IsNull(i) {
		return def, nil
	}
	s, err := p.text(row, i)
	if err != nil {
		return "", err
	}
	if isBlank(s) {
		return def, nil
	}
	return s, nil
}

func (p *PartitionPaths) text(row BinaryRow, i int) (string, error) {
	t := p.Types[i]
	switch t.Kind {
	case columnar.Boolean:
		v, err := row.Bool(i)
		return strconv.FormatBool(v), err
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt:
		v, err := row.Int64(i, t)
		return strconv.FormatInt(v, 10), err
	case columnar.Float, columnar.Double:
		v, err := row.Float64(i, t)
		return JavaFloat(v, t.Kind == columnar.Float), err
	case columnar.Decimal:
		v, err := row.Decimal(i, t)
		return v.ToString(int32(t.Scale)), err
	case columnar.Char, columnar.VarChar:
		v, err := row.Bytes(i)
		return string(v), err
	case columnar.Date:
		v, err := row.Int64(i, t)
		if p.Plain {
			return isoDate(time.Unix(v*86400, 0).UTC()), err
		}
		return strconv.FormatInt(v, 10), err
	case columnar.Time:
		v, err := row.Int64(i, t)
		if p.Plain {
			return castTime(v, t.Precision), err
		}
		return strconv.FormatInt(v, 10), err
	case columnar.Timestamp, columnar.TimestampLTZ:
		millis, nanos, err := row.Timestamp(i, t)
		at := time.UnixMilli(millis).Add(time.Duration(nanos)).UTC()
		if !p.Plain {
			return JavaDateTime(at), err
		}
		if t.Kind == columnar.TimestampLTZ && p.Zone != nil {
			at = at.In(p.Zone)
		}
		return castTimestamp(at, t.Precision), err
	default:
		return "", fmt.Errorf("type %s cannot be a partition", t)
	}
}

// isBlank reports whether s has only characters that Java's Character.isWhitespace takes.
func isBlank(s string) bool {
	for _, r := range s {
		switch {
		case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20:
		case r == 0x1680, r >= 0x2000 && r <= 0x200a && r != 0x2007, r == 0x2028, r == 0x2029, r == 0x205f, r == 0x3000:
		default:
			return false
		}
	}
	return true
}

const escapedChars = "\"#%'*/:=?\\{}[]^"

// escapePath writes s with the characters that paths cannot hold as %XX.
func escapePath(b *strings.Builder, s string) {
	for _, r := range s {
		if r < 0x20 || r == 0x7f || r < 0x80 && strings.ContainsRune(escapedChars, r) {
			fmt.Fprintf(b, "%%%02X", r)
			continue
		}
		b.WriteRune(r)
	}
}

// JavaFloat is Java's Float.toString (single) or Double.toString of v, as from
// Java 19 on: older ones print more digits than they need of some values.
func JavaFloat(v float64, single bool) string {
	bits := 64
	if single {
		bits = 32
	}
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		if v < 0 {
			return "-Infinity"
		}
		return "Infinity"
	case v == 0 || abs >= 1e-3 && abs < 1e7:
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	default:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, bits), "e")
		if !strings.Contains(mantissa, ".") {
			// Java shows two digits at least, and those next to the value: 1.4E-45, not 1.0E-45.
			mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(v, 'e', 1, bits), "e")
		}
		sign := ""
		if exponent[0] == '-' {
			sign = "-"
		}
		return mantissa + "E" + sign + strings.TrimLeft(exponent[1:], "0")
	}
}

func isoDate(t time.Time) string {
	return fmt.Sprintf("%04d-%02d-%02d", t.Year(), t.Month(), t.Day())
}

// JavaDateTime is Java's LocalDateTime.toString: no seconds if they are zero, 3, 6 or 9 fraction digits.
func JavaDateTime(t time.Time) string {
	s := fmt.Sprintf("%sT%02d:%02d", isoDate(t), t.Hour(), t.Minute())
	n := t.Nanosecond()
	if t.Second() == 0 && n == 0 {
		return s
	}
	s += fmt.Sprintf(":%02d", t.Second())
	switch {
	case n == 0:
		return s
	case n%1_000_000 == 0:
		return s + fmt.Sprintf(".%03d", n/1_000_000)
	case n%1_000 == 0:
		return s + fmt.Sprintf(".%06d", n/1_000)
	default:
		return s + fmt.Sprintf(".%09d", n)
	}
}

func castTimestamp(t time.Time, precision int) string {
	s := fmt.Sprintf("%s %02d:%02d:%02d", isoDate(t), t.Hour(), t.Minute(), t.Second())
	if precision == 0 {
		return s
	}
	return s + "." + fmt.Sprintf("%09d", t.Nanosecond())[:min(precision, 9)]
}

// castTime drops trailing zeros of the fraction but keeps one digit, if the type has any.
func castTime(millis int64, precision int) string {
	s := fmt.Sprintf("%02d:%02d:%02d", millis/3_600_000, millis/60_000%60, millis/1_000%60)
	if precision == 0 {
		return s
	}
	frac := fmt.Sprintf("%03d", millis%1_000)[:min(precision, 3)]
	frac = strings.TrimRight(frac, "0")
	if frac == "" {
		frac = "0"
	}
	return s + "." + frac
}
