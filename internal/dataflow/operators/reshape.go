package operators

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"leat/internal/columnar"
	"leat/internal/dataflow"
)

// Reshape computes rows of a table that changes its columns: what it does is
// built anew for each form of the table. It implements dataflow.Operator.
type Reshape struct {
	build func(in *columnar.Schema) (CalcSpec, error)
	calc  *Calc
}

var _ dataflow.Changer = (*Reshape)(nil)

// NewReshape makes the operator for a table whose first form is in. build gives
// what is done to rows of a form; columns that the target lacks have hidden names.
func NewReshape(in *columnar.Schema, build func(in *columnar.Schema) (CalcSpec, error)) (*Reshape, error) {
	r := &Reshape{build: build}
	_, err := r.adopt(in)
	return r, err
}

func (r *Reshape) adopt(in *columnar.Schema) (*columnar.Schema, error) {
	spec, err := r.build(in)
	if err != nil {
		return nil, err
	}
	r.calc, err = NewCalc(spec)
	return spec.Schema, err
}

// Process takes b over and hands on what is left of it.
func (r *Reshape) Process(ctx context.Context, b *columnar.Batch, out func(*columnar.Batch) error) error {
	return r.calc.Process(ctx, b, out)
}

// Change gives the change as the target sees it.
func (r *Reshape) Change(_ context.Context, ch *dataflow.Change) (*dataflow.Change, error) {
	schema, err := r.adopt(ch.Schema)
	if err != nil {
		return nil, fmt.Errorf("following %q: %w", ch.Reason, err)
	}
	next := *ch
	next.Schema, next.Renamed = schema, maps.Clone(ch.Renamed)
	maps.DeleteFunc(next.Renamed, func(from, _ string) bool { return dataflow.Hidden(from) })
	next.Dropped = slices.DeleteFunc(slices.Clone(ch.Dropped), dataflow.Hidden)
	return &next, nil
}

// SoftDelete keeps deleted rows: every -D becomes +I. It implements dataflow.Operator.
type SoftDelete struct{}

var _ dataflow.Changer = SoftDelete{}

// Process takes b over and hands it on.
func (SoftDelete) Process(_ context.Context, b *columnar.Batch, out func(*columnar.Batch) error) error {
	if slices.Contains(b.Kinds, columnar.Delete) {
		kinds := slices.Clone(b.Kinds)
		for i, k := range kinds {
			if k == columnar.Delete {
				kinds[i] = columnar.Insert
			}
		}
		b.Kinds = kinds
	}
	return out(b)
}

// Change passes a change on.
func (SoftDelete) Change(_ context.Context, ch *dataflow.Change) (*dataflow.Change, error) {
	return ch, nil
}
