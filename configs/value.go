package configs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var durationUnits = map[string]time.Duration{}

func init() {
	for d, names := range map[time.Duration]string{
		time.Nanosecond:  "ns nano nanosecond nanoseconds nanos",
		time.Microsecond: "µs micro microsecond microseconds micros",
		time.Millisecond: "ms milli millisecond milliseconds millis",
		time.Second:      "s sec secs second seconds",
		time.Minute:      "m min minute minutes",
		time.Hour:        "h hour hours",
		24 * time.Hour:   "d day days",
	} {
		for n := range strings.FieldsSeq(names) {
			durationUnits[n] = d
		}
	}
}

// ParseDuration reads Flink's duration grammar: digits, optional blank, unit;
// no unit means milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := splitNumber(s)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a duration such as '10 s', '500 ms' or '2 min'", s)
	}
	u := time.Millisecond
	if unit != "" {
		var ok bool
		if u, ok = durationUnits[strings.ToLower(unit)]; !ok {
			return 0, fmt.Errorf("'%s': unknown unit '%s'; units are ns, µs, ms, s, min, h, d", s, unit)
		}
	}
	if n > math.MaxInt64/int64(u) {
		return 0, fmt.Errorf("'%s' is too long a duration", s)
	}
	return time.Duration(n) * u, nil
}

// ParseSize reads Flink's memory size grammar in bytes; units are powers of 1024.
func ParseSize(s string) (int64, error) {
	n, unit, err := splitNumber(s)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a size such as '256 mb' or '64kb'", s)
	}
	shift := -1
	switch strings.ToLower(unit) {
	case "", "b", "bytes":
		shift = 0
	case "k", "kb", "kibibytes":
		shift = 10
	case "m", "mb", "mebibytes":
		shift = 20
	case "g", "gb", "gibibytes":
		shift = 30
	case "t", "tb", "tebibytes":
		shift = 40
	}
	if shift < 0 {
		return 0, fmt.Errorf("'%s': unknown unit '%s'; units are b, kb, mb, gb, tb", s, unit)
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("'%s' is too large a size", s)
	}
	return n << shift, nil
}

func splitNumber(s string) (int64, string, error) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return 0, "", errors.New("no digits")
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	return n, strings.TrimSpace(s[i:]), err
}

// ParseInt reads a decimal integer without blanks.
func ParseInt(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not an integer", s)
	}
	return n, nil
}

// ParseBool reads true or false in any case.
func ParseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("'%s' is not true or false", s)
}

// ParseDouble reads a floating point number.
func ParseDouble(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a number", s)
	}
	return f, nil
}

// FormatDuration prints d in the grammar of ParseDuration.
func FormatDuration(d time.Duration) string {
	for _, u := range []struct {
		d time.Duration
		s string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d != 0 && d%u.d == 0 {
			return fmt.Sprintf("%d %s", d/u.d, u.s)
		}
	}
	if d == 0 {
		return "0 ms"
	}
	return fmt.Sprintf("%d ns", d)
}

// FormatSize prints n bytes in the grammar of ParseSize.
func FormatSize(n int64) string {
	for _, u := range []struct {
		shift int
		s     string
	}{{40, "tb"}, {30, "gb"}, {20, "mb"}, {10, "kb"}} {
		if n != 0 && n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.s)
		}
	}
	return fmt.Sprintf("%d b", n)
}

// ParseLevels reads words for levels of the merge tree, such as "0:avro,5:orc".
func ParseLevels(text string) (map[int32]string, error) {
	levels := map[int32]string{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, word, ok := strings.Cut(part, ":")
		level, err := strconv.ParseInt(strings.TrimSpace(key), 10, 32)
		word = strings.ToLower(strings.TrimSpace(word))
		if !ok || err != nil || level < 0 || word == "" {
			return nil, fmt.Errorf("'%s' is not of the form level:word", strings.TrimSpace(part))
		}
		levels[int32(level)] = word
	}
	return levels, nil
}
