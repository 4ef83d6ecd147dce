package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Row is a row by column name; the values are those of encoding/json with
// json.Number for numbers: DECIMAL, DATE, TIME, TIMESTAMP are strings, bytes are
// lower-case hex. Changelog rows also have _snapshot and _kind.
type Row map[string]any

// Kind gives the row kind of a changelog row, +I if there is none.
func (r Row) Kind() string {
	if k, ok := r["_kind"].(string); ok {
		return k
	}
	return "+I"
}

// Int gives a number column; 0 for a missing or other one.
func (r Row) Int(column string) int64 {
	n, ok := r[column].(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return i
}

// Text gives a string column; "" for a missing or other one.
func (r Row) Text(column string) string {
	s, _ := r[column].(string)
	return s
}

// Line gives the row as one line of JSON, columns in name order, numbers in one
// form. Columns that begin with '_' are left out.
func (r Row) Line() string {
	var b strings.Builder
	b.WriteByte('{')
	for _, k := range slices.Sorted(maps.Keys(r)) {
		if strings.HasPrefix(k, "_") {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", k, canonical(r[k]))
	}
	b.WriteByte('}')
	return b.String()
}

func canonical(v any) string {
	switch v := v.(type) {
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v.String()
		}
		if f, err := v.Float64(); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = canonical(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprintf("%q", err)
		}
		return string(b)
	}
}

// Lines gives the sorted lines of rows.
func Lines(rows []Row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Line()
	}
	slices.Sort(out)
	return out
}

// Diff says how two row sets differ, order apart; "" if they do not. At most 20
// rows a side are shown.
func Diff(wantName string, want []Row, gotName string, got []Row) string {
	count := map[string]int{}
	for _, l := range Lines(want) {
		count[l]++
	}
	for _, l := range Lines(got) {
		count[l]--
	}
	var only [2][]string
	for l, n := range count {
		for ; n > 0; n-- {
			only[0] = append(only[0], l)
		}
		for ; n < 0; n++ {
			only[1] = append(only[1], l)
		}
	}
	if len(only[0])+len(only[1]) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d rows, %s has %d", wantName, len(want), gotName, len(got))
	for i, name := range []string{wantName, gotName} {
		slices.Sort(only[i])
		fmt.Fprintf(&b, "\nonly in %s: %d", name, len(only[i]))
		for _, l := range only[i][:min(len(only[i]), 20)] {
			b.WriteString("\n  " + l)
		}
	}
	return b.String()
}

// Fold replays changelog rows by key and gives the rows that are left. A change
// that cannot be is an error: an insert or +U without its -U over a row that is
// there, a -U or -D of a row that is not there or has other values.
func Fold(changes []Row, key ...string) ([]Row, error) {
	live := map[string]Row{}
	for i, c := range changes {
		var b strings.Builder
		for _, k := range key {
			b.WriteString(canonical(c[k]) + "|")
		}
		id := b.String()
		old, there := live[id]
		switch c.Kind() {
		case "+I", "+U":
			if there {
				return nil, fmt.Errorf("change %d %s %s: snapshot %d: the row is there already: %s", i, c.Kind(), c.Line(), c.Int("_snapshot"), old.Line())
			}
			live[id] = c
		case "-U", "-D":
			if !there {
				return nil, fmt.Errorf("change %d %s %s: snapshot %d: the row is not there", i, c.Kind(), c.Line(), c.Int("_snapshot"))
			}
			if old.Line() != c.Line() {
				return nil, fmt.Errorf("change %d %s %s: snapshot %d: the row has other values: %s", i, c.Kind(), c.Line(), c.Int("_snapshot"), old.Line())
			}
			delete(live, id)
		default:
			return nil, fmt.Errorf("change %d: unknown kind %q", i, c.Kind())
		}
	}
	return slices.Collect(maps.Values(live)), nil
}

func parseRow(line []byte) (Row, error) {
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.UseNumber()
	var r Row
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading row %.200q: %w", line, err)
	}
	return r, nil
}
