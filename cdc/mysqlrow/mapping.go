package mysqlrow

import (
	"fmt"
	"slices"
	"strings"

	"leat/internal/columnar"
)

// Mapping changes what the types of a source become where nobody declares them.
// The zero value is NaturalType.
type Mapping struct {
	// NumberBool keeps TINYINT(1) a number.
	NumberBool bool
	// Text makes text of everything but binary values.
	Text bool
	// CharText makes STRING of CHAR(n) and VARCHAR(n).
	CharText bool
	// LongTextBytes makes bytes of LONGTEXT.
	LongTextBytes bool
	// SignedBigInt makes BIGINT of BIGINT UNSIGNED; numbers from 2^63 on are bad values.
	SignedBigInt bool
	// Nullable leaves NOT NULL out.
	Nullable bool
	// KeepDecimal leaves DECIMAL columns as they are when they change at the source.
	KeepDecimal bool
	// WidenToText lets a column become text when its source does.
	WidenToText bool
	// ZonedTimestamp makes TIMESTAMP_LTZ of TIMESTAMP.
	ZonedTimestamp bool
	// Bytes lets bytes be read into STRING, which nothing makes of them by itself.
	Bytes BytesText
	// LongFloat makes DOUBLE of a FLOAT with a length.
	LongFloat bool
}

// BytesText is how bytes become text.
type BytesText uint8

const (
	// BytesAsThey are is the default: only a target of bytes takes them.
	BytesAsThey BytesText = iota
	// BytesBase64 is base64 with filling.
	BytesBase64
	// BytesBase64URL is base64 in the letters of addresses, with filling.
	BytesBase64URL
	// BytesHex is hexadecimal digits in lower case.
	BytesHex
)

// modes are the names of mappings, as type_mapping of Paimon's actions has them,
// and those of Flink CDC's pipelines.
var modes = map[string]func(*Mapping){
	"tinyint1-not-bool":          func(m *Mapping) { m.NumberBool = true },
	"to-nullable":                func(m *Mapping) { m.Nullable = true },
	"to-string":                  func(m *Mapping) { m.Text = true },
	"char-to-string":             func(m *Mapping) { m.CharText = true },
	"longtext-to-bytes":          func(m *Mapping) { m.LongTextBytes = true },
	"bigint-unsigned-to-bigint":  func(m *Mapping) { m.SignedBigInt = true },
	"decimal-no-change":          func(m *Mapping) { m.KeepDecimal = true },
	"allow-non-string-to-string": func(m *Mapping) { m.WidenToText = true },
	"timestamp-ltz":              func(m *Mapping) { m.ZonedTimestamp = true },
	"float-length-double":        func(m *Mapping) { m.LongFloat = true },
}

// MappingOf reads the names of modes. The documentation of the modes writes two
// of them with underscores.
func MappingOf(names []string) (Mapping, error) {
	var m Mapping
	for _, name := range names {
		set, ok := modes[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")]
		if !ok {
			return m, fmt.Errorf("reading a type mapping: there is no mode '%s'", name)
		}
		set(&m)
	}
	return m, nil
}

// MappingModes lists the names of modes that a user may give.
func MappingModes() []string {
	var out []string
	for name := range modes {
		if name != "timestamp-ltz" && name != "float-length-double" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Type is NaturalType under the mapping.
func (m Mapping) Type(c Column) (columnar.DataType, error) {
	t, err := NaturalType(c)
	if err != nil {
		return t, err
	}
	nullable := t.Nullable || m.Nullable
	f := c.family()
	switch {
	case m.NumberBool && f == famInt && c.isBool():
		t = columnar.Of(columnar.TinyInt)
	case m.SignedBigInt && f == famInt && c.Unsigned() && c.intBytes() == 8:
		t = columnar.Of(columnar.BigInt)
	case m.LongTextBytes && c.DataType == "longtext":
		t = columnar.BytesType()
	case m.CharText && f == famText:
		t = columnar.StringType()
	case m.ZonedTimestamp && f == famTimestamp:
		t.Kind = columnar.TimestampLTZ
	case m.LongFloat && f == famFloat && strings.Contains(c.ColumnType, "("):
		t = columnar.Of(columnar.Double)
	}
	if m.Text && f != famBytes && f != famVector && f != famBit && t.Kind != columnar.VarBinary {
		t = columnar.StringType()
	}
	t.Nullable = nullable
	return t, nil
}

// Check is CheckDeclared under the mapping, which allows types that do not hold
// every value of the source.
func (m Mapping) Check(c Column, declared columnar.DataType) error {
	err := CheckDeclared(c, declared)
	if err == nil || !m.allows(c, declared) {
		return err
	}
	return nil
}

func (m Mapping) allows(c Column, t columnar.DataType) bool {
	switch c.family() {
	case famInt:
		return m.SignedBigInt && t.Kind == columnar.BigInt && c.Unsigned()
	case famBytes:
		return m.Bytes != BytesAsThey && holds(t, columnar.MaxLength)
	case famFloat:
		return m.Text && t.Kind == columnar.VarChar
	case famText:
		return m.LongTextBytes && c.DataType == "longtext" && t.Kind == columnar.VarBinary
	default:
		return false
	}
}
