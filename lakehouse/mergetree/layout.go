package mergetree

import (
	"fmt"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Names and field ids of the system columns of merge-tree files.
const (
	keyPrefix    = "_KEY_"
	seqColumn    = "_SEQUENCE_NUMBER"
	kindColumn   = "_VALUE_KIND"
	keyIDOffset  = 1073741823
	seqFieldID   = 2147483646
	kindFieldID  = 2147483645
	systemFields = 2
)

// Layout is the compiled schema of the files of a table. It is immutable and
// shared by all buckets.
type Layout struct {
	SchemaID int64
	// Columns are the table's columns, Keys the positions of the trimmed primary key among them.
	Columns *columnar.Schema
	Keys    []int
	// Fields are the columns of a file: the key again, sequence number, kind, then Columns.
	Fields []columnar.Field
	// Engine merges the rows of a key; nil is deduplicate by sequence number.
	Engine *Engine
	// Append says that files hold plain rows in order of arrival: no key, no system columns.
	Append bool
	// Postponed says that files hold changes in order of arrival, not merged: a
	// later compaction gives them buckets.
	Postponed bool
	// Thin leaves the key columns in front out (option data-file.thin-mode).
	Thin bool
	// Stats are the statistics of Columns, ChangelogStats those in changelog files;
	// Dense leaves columns of mode none out.
	Stats, ChangelogStats StatsPlan
	Dense                 bool
}

// NewLayout compiles the layout of files with schema s.
func NewLayout(s *spec.TableSchema, thin bool) (*Layout, error) {
	l := &Layout{SchemaID: s.ID, Columns: s.Columns(), Keys: s.Indexes(s.TrimmedPrimaryKeys()), Thin: thin, Dense: true}
	if len(l.Keys) == 0 {
		return nil, fmt.Errorf("the table has no primary key besides its partition columns")
	}
	if !thin {
		for _, i := range l.Keys {
			f := l.Columns.Fields[i]
			l.Fields = append(l.Fields, columnar.Field{ID: keyIDOffset + f.ID, Name: keyPrefix + f.Name, Type: f.Type.NotNull()})
		}
	}
	l.Fields = append(l.Fields,
		columnar.Field{ID: seqFieldID, Name: seqColumn, Type: columnar.Of(columnar.BigInt).NotNull()},
		columnar.Field{ID: kindFieldID, Name: kindColumn, Type: columnar.Of(columnar.TinyInt).NotNull()})
	l.Fields = append(l.Fields, l.Columns.Fields...)
	l.Stats, l.ChangelogStats = DefaultStats(), DefaultStats()
	return l, nil
}

// NewAppendLayout compiles the layout of the files of a table without primary key.
func NewAppendLayout(s *spec.TableSchema) (*Layout, error) {
	l := &Layout{SchemaID: s.ID, Columns: s.Columns(), Fields: s.Columns().Fields, Append: true, Dense: true}
	l.Stats, l.ChangelogStats = DefaultStats(), DefaultStats()
	return l, nil
}

// Codec makes a codec of the layout's key.
func (l *Layout) Codec() (*KeyCodec, error) { return NewKeyCodec(l.KeyTypes()) }

// KeyTypes gives the types of the key columns.
func (l *Layout) KeyTypes() []columnar.DataType {
	out := make([]columnar.DataType, len(l.Keys))
	for i, k := range l.Keys {
		out[i] = l.Columns.Fields[k].Type
	}
	return out
}

// distinct names the columns of which every row has another value.
func (l *Layout) distinct() []string {
	if l.Append {
		return nil
	}
	out := []string{seqColumn}
	for _, k := range l.Keys {
		name := l.Columns.Fields[k].Name
		out = append(out, name, keyPrefix+name)
	}
	return out
}
