package spec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"leat/internal/columnar"
)

// StatsKind is how much of a column's values statistics keep.
type StatsKind uint8

// The kinds, option metadata.stats-mode.
const (
	StatsNone     StatsKind = iota // nothing
	StatsCounts                    // null counts
	StatsTruncate                  // null counts, min and max, texts cut to Length characters
	StatsFull                      // null counts, min and max
)

// StatsMode is a kind with the length of StatsTruncate.
type StatsMode struct {
	Kind   StatsKind
	Length int
}

// KeyStatsMode is the mode of key statistics, whatever the table says;
// DefaultStatsMode is that of value statistics.
var (
	KeyStatsMode     = StatsMode{Kind: StatsTruncate, Length: 128}
	DefaultStatsMode = StatsMode{Kind: StatsTruncate, Length: 16}
)

// ParseStatsMode reads none, counts, truncate(n) or full.
func ParseStatsMode(text string) (StatsMode, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	switch s {
	case "none":
		return StatsMode{}, nil
	case "counts":
		return StatsMode{Kind: StatsCounts}, nil
	case "full":
		return StatsMode{Kind: StatsFull}, nil
	}
	digits, ok := strings.CutPrefix(s, "truncate(")
	digits, ok2 := strings.CutSuffix(digits, ")")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if !ok || !ok2 || err != nil || n < 1 {
		return StatsMode{}, fmt.Errorf("reading statistics mode: %q is none of none, counts, truncate(n), full", text)
	}
	return StatsMode{Kind: StatsTruncate, Length: n}, nil
}

// EmptyStats is the statistics over no column: those of keys in append tables and of partitions in unpartitioned ones.
func EmptyStats() SimpleStats {
	return SimpleStats{Min: EmptyRow(), Max: EmptyRow(), NullCounts: []*int64{}}
}

// BuildStats gives the statistics rows over all cols, which have these types.
func BuildStats(cols []ColumnStats, types []columnar.DataType) SimpleStats {
	low, high := NewRowWriter(types), NewRowWriter(types)
	low.Reset()
	high.Reset()
	s := SimpleStats{NullCounts: make([]*int64, len(cols))}
	for i := range cols {
		c := &cols[i]
		if c.mode.Kind != StatsNone {
			n := c.nulls
			s.NullCounts[i] = &n
		}
		c.write(low, high, i, types[i])
	}
	s.Min, s.Max = low.Row(), high.Row()
	return s
}

// BuildDenseStats gives the statistics without columns of mode none and the
// names of those kept: nil if that is all of them (option metadata.stats-dense-store).
func BuildDenseStats(cols []ColumnStats, schema *columnar.Schema) (SimpleStats, *[]string) {
	kept := make([]ColumnStats, 0, len(cols))
	types := make([]columnar.DataType, 0, len(cols))
	names := make([]string, 0, len(cols))
	for i := range cols {
		if cols[i].mode.Kind == StatsNone {
			continue
		}
		kept = append(kept, cols[i])
		types = append(types, schema.Fields[i].Type)
		names = append(names, schema.Fields[i].Name)
	}
	s := BuildStats(kept, types)
	if len(kept) == len(cols) {
		return s, nil
	}
	return s, &names
}

// truncateText cuts texts to n characters: a lower bound of low, an upper bound
// of high. ok is false where there is no bound.
func truncateText(low, high []byte, n int) (lower, upper []byte, ok bool) {
	lower, _, ok = cutText(low, n)
	if !ok {
		return nil, nil, false
	}
	upper, cut, ok := cutText(high, n)
	if !ok {
		return nil, nil, false
	}
	if cut {
		upper, ok = incrementText(upper)
	}
	return lower, upper, ok
}

// cutText gives the first n characters of s and whether any were cut off. It
// fails where they are no UTF-8, as characters cannot be counted then.
func cutText(s []byte, n int) (head []byte, cut, ok bool) {
	i := 0
	for range n {
		if i == len(s) {
			return s, false, true
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, false, false
		}
		i += size
	}
	return s[:i], i < len(s), true
}

// incrementText raises the last character that can be raised and drops what
// follows it, so that the result is greater than every text that begins with s.
func incrementText(s []byte) ([]byte, bool) {
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRune(s[:end])
		end -= size
		next := r + 1
		if next == 0xd800 { // surrogates are no characters
			next = 0xe000
		}
		if next <= utf8.MaxRune {
			return utf8.AppendRune(append([]byte(nil), s[:end]...), next), true
		}
	}
	return nil, false
}
