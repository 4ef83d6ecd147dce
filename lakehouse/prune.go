package lakehouse

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/spec"
)

// Op is how a Condition compares a column.
type Op uint8

// The comparisons. Equal with several values means any of them.
const (
	Equal Op = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	IsNull
	IsNotNull
)

// Condition compares a column with values, an array of the column's Arrow type
// without nulls; unused by IsNull and IsNotNull.
type Condition struct {
	Column string
	Op     Op
	Values arrow.Array
}

// condition is a Condition with its values as rows of one field.
type condition struct {
	field  columnar.Field
	op     Op
	values []spec.BinaryRow
}

func compileConditions(t *Table, where []Condition) ([]condition, error) {
	out := make([]condition, len(where))
	for i, w := range where {
		at := t.Schema.Index(w.Column)
		if at < 0 {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Table: t.Path, Msg: fmt.Sprintf("there is no column %s", w.Column), Hint: "check the column names"}
		}
		c := condition{field: t.Schema.Fields[at], op: w.Op}
		if w.Op < IsNull {
			if w.Values == nil || !arrow.TypeEqual(w.Values.DataType(), columnar.ArrowType(c.field.Type)) || w.Values.NullN() > 0 {
				return nil, fmt.Errorf("comparing column %s: the values are not of type %s", w.Column, c.field.Type)
			}
			schema := &columnar.Schema{Fields: []columnar.Field{c.field}}
			enc, err := spec.NewRowEncoder(schema, []int{0})
			if err != nil {
				return nil, fmt.Errorf("comparing column %s: %w", w.Column, err)
			}
			b := columnar.NewBatch(schema, nil, []arrow.Array{w.Values}, w.Values.Len())
			for k := range w.Values.Len() {
				c.values = append(c.values, enc.Encode(b, k).Clone())
			}
		}
		out[i] = c
	}
	return out, nil
}

// mayMatch reports whether a column with these statistics (field i of them, of
// type t) can hold a value that meets c; rows is the number of rows.
func (c *condition) mayMatch(s *spec.SimpleStats, i int, t columnar.DataType, rows int64) bool {
	nulls := int64(-1)
	if i < len(s.NullCounts) && s.NullCounts[i] != nil {
		nulls = *s.NullCounts[i]
	}
	switch {
	case c.op == IsNull:
		// A cast may make NULL of other values.
		return nulls != 0 || !t.EqualIgnoreNull(c.field.Type)
	case nulls >= 0 && nulls == rows:
		return false
	case c.op == IsNotNull, !t.EqualIgnoreNull(c.field.Type):
		return true
	case i >= s.Min.Arity || i >= s.Max.Arity || s.Min.IsNull(i) || s.Max.IsNull(i):
		return true
	}
	return slices.ContainsFunc(c.values, func(v spec.BinaryRow) bool {
		low, err1 := compareOne(s.Min, i, v, t)
		high, err2 := compareOne(s.Max, i, v, t)
		if err1 != nil || err2 != nil {
			return true
		}
		switch c.op {
		case Less:
			return low < 0
		case LessOrEqual:
			return low <= 0
		case Greater:
			return high > 0
		case GreaterOrEqual:
			return high >= 0
		default:
			return low <= 0 && high >= 0
		}
	})
}

// compareOne compares field i of r with the only field of v.
func compareOne(r spec.BinaryRow, i int, v spec.BinaryRow, t columnar.DataType) (int, error) {
	if t.Kind == columnar.Float || t.Kind == columnar.Double {
		// Both zeros are one value here: statistics of other writers may name either.
		x, err1 := r.Float64(i, t)
		y, err2 := v.Float64(0, t)
		if err1 == nil && err2 == nil && x == y {
			return 0, nil
		}
	}
	w := spec.NewRowWriter([]columnar.DataType{t})
	w.Reset()
	if err := w.SetFrom(0, r, i); err != nil {
		return 0, err
	}
	return spec.CompareRows(w.Row(), v, []columnar.DataType{t})
}

// prune leaves out the entries that hold no row which meets all conditions:
// by partition, by bucket, by the range of keys and, where a file's rows are
// not merged with those of others, by the statistics of any column.
func (p *Plan) prune(ctx context.Context, entries []spec.ManifestEntry, where []Condition) ([]spec.ManifestEntry, error) {
	conds, err := compileConditions(p.t, where)
	if err != nil {
		return nil, err
	}
	p.conds = conds
	keys := p.t.Schema.TrimmedPrimaryKeys()
	for i := range conds {
		if slices.Contains(keys, conds[i].field.Name) {
			p.keyConds = append(p.keyConds, conds[i])
		}
	}
	buckets, err := p.t.bucketsOf(conds)
	if err != nil {
		return nil, err
	}
	var out []spec.ManifestEntry
	for i := range entries {
		e := &entries[i]
		if !p.t.partitionMatches(e, conds) || !p.t.keysMatch(e, conds) {
			continue
		}
		if buckets != nil && e.TotalBuckets > 0 && !buckets(e.Bucket, int(e.TotalBuckets)) {
			continue
		}
		if p.keys == nil || p.alone {
			ok, err := p.t.valuesMatch(ctx, e, conds)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		out = append(out, *e)
	}
	return out, nil
}

func (t *Table) partitionMatches(e *spec.ManifestEntry, conds []condition) bool {
	for i, k := range t.Schema.PartitionKeys {
		var nulls int64
		if e.Partition.IsNull(i) {
			nulls = 1
		}
		s := spec.SimpleStats{Min: e.Partition, Max: e.Partition, NullCounts: make([]*int64, i+1)}
		s.NullCounts[i] = &nulls
		typ := t.Schema.Fields[t.Schema.Index(k)].Type
		for c := range conds {
			if conds[c].field.Name == k && !conds[c].mayMatch(&s, i, typ, 1) {
				return false
			}
		}
	}
	return true
}

func (t *Table) keysMatch(e *spec.ManifestEntry, conds []condition) bool {
	for i, k := range t.Schema.TrimmedPrimaryKeys() {
		typ := t.Schema.Fields[t.Schema.Index(k)].Type
		for c := range conds {
			if conds[c].field.Name == k && !conds[c].mayMatch(&e.File.KeyStats, i, typ, e.File.RowCount) {
				return false
			}
		}
	}
	return true
}

// bucketsOf gives the test of buckets that conditions leave open; nil for all.
func (t *Table) bucketsOf(conds []condition) (func(bucket int32, total int) bool, error) {
	keys := t.Schema.BucketKeys()
	if t.mode() != fixedBuckets || len(keys) == 0 {
		return nil, nil
	}
	w := spec.NewRowWriter(t.Schema.Types(keys))
	w.Reset()
	for i, k := range keys {
		at := slices.IndexFunc(conds, func(c condition) bool { return c.field.Name == k && c.op == Equal && len(c.values) == 1 })
		if at < 0 {
			return nil, nil
		}
		if err := w.SetFrom(i, conds[at].values[0], 0); err != nil {
			return nil, fmt.Errorf("comparing column %s: %w", k, err)
		}
	}
	hash := spec.Hash(w.Row().Data)
	return func(bucket int32, total int) bool { return int(bucket) == spec.Bucket(hash, total) }, nil
}

func (t *Table) valuesMatch(ctx context.Context, e *spec.ManifestEntry, conds []condition) (bool, error) {
	schema, err := t.schemaOf(ctx, e.File.SchemaID)
	if err != nil {
		return false, err
	}
	for c := range conds {
		at := slices.IndexFunc(schema.Fields, func(f columnar.Field) bool { return f.ID == conds[c].field.ID })
		if at < 0 {
			continue
		}
		f := schema.Fields[at]
		switch {
		case e.File.ValueStatsCols != nil:
			at = slices.Index(*e.File.ValueStatsCols, f.Name)
		case e.File.WriteCols != nil:
			at = slices.Index(*e.File.WriteCols, f.Name)
		}
		if at >= 0 && !conds[c].mayMatch(&e.File.ValueStats, at, f.Type, e.File.RowCount) {
			return false, nil
		}
	}
	return true, nil
}
