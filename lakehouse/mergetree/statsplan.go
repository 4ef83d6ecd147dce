package mergetree

import (
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/spec"
)

// StatsPlan says which statistics of the columns files have in manifests.
type StatsPlan struct {
	// Mode is that of all columns; Levels are those of single levels of the merge tree.
	Mode   spec.StatsMode
	Levels map[int32]spec.StatsMode
	// Columns are the modes of single columns, whatever the others say.
	Columns map[string]spec.StatsMode
	// KeepFirst limits statistics to so many columns in front; negative is all.
	KeepFirst int
}

// DefaultStats is the plan of tables without options on statistics.
func DefaultStats() StatsPlan { return StatsPlan{Mode: spec.DefaultStatsMode, KeepFirst: -1} }

// NoStats is the plan of files without statistics.
func NoStats() StatsPlan { return StatsPlan{KeepFirst: -1} }

// modes gives the mode of every column of l in a file of a level and format, as
// StatsCollectorFactories.java does: keys of thin files keep what the key
// columns in front would have; with Avro, the columns in front count among the
// first; Parquet files have no statistics of nested columns.
func (p *StatsPlan) modes(l *Layout, level int32, format string) []spec.StatsMode {
	base := p.Mode
	if m, ok := p.Levels[level]; ok {
		base = m
	}
	counted := 0
	if format == datafile.Avro {
		counted = len(l.Fields) - len(l.Columns.Fields)
	}
	thinKeys := map[int]bool{}
	if l.Thin && format != datafile.Avro {
		for _, k := range l.Keys {
			thinKeys[k] = true
		}
	}
	modes := make([]spec.StatsMode, len(l.Columns.Fields))
	for i, f := range l.Columns.Fields {
		own, named := p.Columns[f.Name]
		switch {
		case named:
			modes[i] = own
			counted++
		case thinKeys[i]:
			modes[i] = spec.KeyStatsMode
		default:
			if p.KeepFirst < 0 || counted < p.KeepFirst {
				modes[i] = base
			}
			counted++
		}
		if f.Type.IsNested() && format != datafile.ORC && format != datafile.Avro {
			modes[i] = spec.StatsMode{}
		}
	}
	return modes
}

// unbounded names the columns of a file whose least and greatest values no
// statistics of these modes have.
func (l *Layout) unbounded(modes []spec.StatsMode) []string {
	var out []string
	for _, f := range l.Fields[:len(l.Fields)-len(l.Columns.Fields)] {
		out = append(out, f.Name)
	}
	keys := map[int]bool{}
	if !l.Postponed {
		for _, k := range l.Keys {
			keys[k] = true
		}
	}
	for i, f := range l.Columns.Fields {
		if modes[i].Kind < spec.StatsTruncate && !keys[i] {
			out = append(out, f.Name)
		}
	}
	return out
}
