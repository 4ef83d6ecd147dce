package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lakeForm brings a value of the lake, as the Java reader prints it, into the
// text that is compared; zone is that of a TIMESTAMP without one.
func lakeForm(form string, v any, zone *time.Location) (string, error) {
	if v == nil {
		return "null", nil
	}
	switch form {
	case "bits", "bytes":
		b, err := hex.DecodeString(fmt.Sprint(v))
		if err != nil {
			return "", fmt.Errorf("value %v is not hex: %w", v, err)
		}
		if len(b) > longest {
			return digest(b), nil
		}
		return wantForm(form, "0x"+hex.EncodeToString(b))
	case "text":
		if s := fmt.Sprint(v); len(s) > longest {
			return digest([]byte(s)), nil
		}
	case "datetime":
		return wantForm(form, strings.Replace(fmt.Sprint(v), "T", " ", 1))
	case "instant":
		s := fmt.Sprint(v)
		if strings.HasSuffix(s, "Z") {
			return s, nil
		}
		at, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", s, zone)
		if err != nil {
			return "", fmt.Errorf("value %v is no timestamp: %w", v, err)
		}
		_, fraction, _ := strings.Cut(s, ".")
		form := "2006-01-02T15:04:05"
		if fraction != "" {
			form += "." + strings.Repeat("0", len(fraction))
		}
		return at.UTC().Format(form + "Z"), nil
	case "set":
		if s, isText := v.(string); isText {
			return wantForm(form, splitSet(s))
		}
	case "json", "geo":
		inner, err := decode([]byte(fmt.Sprint(v)))
		if err != nil {
			return "", err
		}
		if inner == nil {
			inner = map[string]any{"$json": nil}
		}
		return wantForm(form, inner)
	}
	return wantForm(form, v)
}

func splitSet(s string) []any {
	var out []any
	for l := range strings.SplitSeq(s, ",") {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

// longest is the number of bytes beyond which a value is given by its length and hash.
const longest = 4096

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return meaning(map[string]any{"$len": json.Number(strconv.Itoa(len(b))), "$sha256": hex.EncodeToString(sum[:])})
}

// wantForm brings a value of expected.ndjson into the text that is compared.
func wantForm(form string, v any) (string, error) {
	if v == nil {
		return "null", nil
	}
	switch form {
	case "int", "dec":
		s := fmt.Sprint(v)
		if _, good := new(big.Rat).SetString(s); !good {
			return "", fmt.Errorf("value %q is no number", s)
		}
		return s, nil
	case "f32", "f64":
		bits := 64
		if form == "f32" {
			bits = 32
		}
		x, err := strconv.ParseFloat(fmt.Sprint(v), bits)
		if err != nil {
			return "", fmt.Errorf("reading a number: %w", err)
		}
		return strconv.FormatFloat(x+0, 'g', -1, bits), nil
	case "bool", "bool1", "bit1":
		if b, isBool := v.(bool); isBool {
			return strconv.FormatBool(b), nil
		}
		return strconv.FormatBool(fmt.Sprint(v) != "0"), nil
	case "text", "bytes", "bits", "date", "time", "datetime", "instant":
		if s, isText := v.(string); isText {
			return s, nil
		}
		return meaning(v), nil // a length and a hash
	case "set", "json", "geo":
		return meaning(v), nil
	default:
		return "", fmt.Errorf("unknown form %s", form)
	}
}

// meaning writes JSON so that equal values have equal texts: keys in order,
// numbers by their decimal value.
func meaning(v any) string {
	switch v := v.(type) {
	case json.Number:
		r, good := new(big.Rat).SetString(v.String())
		if !good {
			return v.String()
		}
		return r.RatString()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = meaning(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(k)+":"+meaning(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
