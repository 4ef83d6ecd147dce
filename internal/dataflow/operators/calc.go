package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/expr"
)

// CalcSpec says what a Calc does to each batch.
type CalcSpec struct {
	// Filter keeps the rows for which it is TRUE; nil keeps all.
	Filter expr.Expr
	// Project gives the output columns; nil passes the input columns on.
	Project []expr.Expr
	// Schema is the schema of the output.
	Schema *columnar.Schema
	// NotNull lists output columns in which NULL is not allowed. It is checked in
	// +I and +U rows; -U and -D rows only if CheckBefore is set, for what they held
	// may not be known: a NULL there becomes some value of the type.
	NotNull []int
	// CheckBefore says that the images of -U and -D are whole.
	CheckBefore bool
	// DropNulls leaves out rows with a NULL in NotNull in place of failing
	// (table.exec.sink.not-null-enforcer = DROP).
	DropNulls bool
	// Key lists output columns: an update that changes one of them becomes -D and +I.
	Key []int
	// Table names the sink in errors.
	Table string
	Env   expr.Env
	// Mem allocates the output; nil is Arrow's default.
	Mem memory.Allocator
}

// Calc filters and projects a change stream. It implements dataflow.Operator.
type Calc struct {
	spec    CalcSpec
	filter  *expr.Program
	project *expr.Program
	// needs are the input columns that project reads, used to gather no others.
	needs []int
	pick  picker
	sel   []bool
}

// NewCalc compiles spec. Its errors are *diag.Error without a position, such as
// for a pattern that cannot be read.
func NewCalc(spec CalcSpec) (*Calc, error) {
	c := &Calc{spec: spec}
	if c.spec.Mem == nil {
		c.spec.Mem = memory.DefaultAllocator
	}
	var err error
	if spec.Filter != nil {
		if k := spec.Filter.Type().Kind; k != columnar.Boolean {
			return nil, fmt.Errorf("compiling a filter: %s is %s", expr.String(spec.Filter), spec.Filter.Type())
		}
		if c.filter, err = expr.Compile([]expr.Expr{spec.Filter}, spec.Env); err != nil {
			return nil, err
		}
	}
	if spec.Project != nil {
		if c.project, err = expr.Compile(spec.Project, spec.Env); err != nil {
			return nil, err
		}
		for _, e := range spec.Project {
			c.needs = append(c.needs, expr.References(e)...)
		}
		slices.Sort(c.needs)
		c.needs = slices.Compact(c.needs)
	}
	return c, nil
}

// Process takes b over and hands on what is left of it, if anything.
func (c *Calc) Process(ctx context.Context, b *columnar.Batch, out func(*columnar.Batch) error) error {
	result, err := c.apply(ctx, b)
	b.Release()
	if err != nil || result == nil {
		return err
	}
	return out(result)
}

// Change follows a change of the table that is passed on as it is.
func (c *Calc) Change(_ context.Context, ch *dataflow.Change) (*dataflow.Change, error) {
	if c.project != nil || c.filter != nil {
		return nil, fmt.Errorf("following %q: the rows are computed", ch.Reason)
	}
	was := c.spec.Schema
	moved := func(list []int) []int {
		out := list[:0:0]
		for _, col := range list {
			name := was.Fields[col].Name
			if to, ok := ch.Renamed[name]; ok {
				name = to
			}
			if i := ch.Schema.Index(name); i >= 0 {
				out = append(out, i)
			}
		}
		return out
	}
	c.spec.Schema, c.spec.Key = ch.Schema, moved(c.spec.Key)
	c.spec.NotNull = slices.DeleteFunc(moved(c.spec.NotNull), func(col int) bool { return ch.Schema.Fields[col].Type.Nullable })
	return ch, nil
}

func (c *Calc) apply(ctx context.Context, b *columnar.Batch) (*columnar.Batch, error) {
	rows := b.Rows()
	if rows == 0 {
		return nil, nil
	}
	in, kinds := b.Cols, b.Kinds
	if c.filter != nil {
		c.sel = resize(c.sel, rows)
		if err := c.filter.EvalFilter(b.Cols, rows, c.sel); err != nil {
			return nil, c.place(err)
		}
		if c.pick.choose(b.Kinds, c.sel) {
			if len(c.pick.rows) == 0 {
				return nil, nil
			}
			gathered, err := c.gatherInput(ctx, b)
			if err != nil {
				return nil, err
			}
			defer release(gathered)
			in, kinds, rows = gathered, c.pick.takeKinds(), len(c.pick.rows)
		}
	}
	cols, err := c.columns(in, rows)
	if err != nil {
		return nil, c.place(err)
	}
	return c.finish(ctx, cols, kinds, rows)
}

// columns projects the first rows rows of in.
func (c *Calc) columns(in []arrow.Array, rows int) ([]arrow.Array, error) {
	if c.project != nil {
		return c.project.Eval(c.spec.Mem, in, rows)
	}
	out := slices.Clone(in)
	for _, a := range out {
		a.Retain()
	}
	return out, nil
}

// finish enforces NOT NULL and splits changed keys. It takes cols over.
func (c *Calc) finish(ctx context.Context, cols []arrow.Array, kinds []columnar.RowKind, rows int) (*columnar.Batch, error) {
	if col := c.nullColumn(cols, kinds, rows); col >= 0 {
		if !c.spec.DropNulls {
			release(cols)
			return nil, c.errNull(col)
		}
		c.keepWhole(cols, kinds, rows)
		c.pick.choose(kinds, c.sel)
		if len(c.pick.rows) == 0 {
			release(cols)
			return nil, nil
		}
		kept, err := gather(ctx, cols, nil, c.pick.rows)
		release(cols)
		if err != nil {
			return nil, err
		}
		cols, kinds, rows = kept, c.pick.takeKinds(), len(c.pick.rows)
	}
	if kinds != nil && !c.spec.CheckBefore {
		c.fillRetracted(cols, kinds, rows)
	}
	return columnar.NewBatch(c.spec.Schema, splitKeys(kinds, cols, c.spec.Key), cols, rows), nil
}

// fillRetracted gives -U and -D rows a value where a NOT NULL column has none:
// what stands in the buffers under the NULL.
func (c *Calc) fillRetracted(cols []arrow.Array, kinds []columnar.RowKind, rows int) {
	for _, col := range c.spec.NotNull {
		old := cols[col]
		if old.NullN() == 0 {
			continue
		}
		data := old.Data()
		bitmap := slices.Clone(data.Buffers()[0].Bytes())
		nulls := old.NullN()
		for i := range rows {
			if kinds[i].Retracts() && old.IsNull(i) {
				bitutil.SetBit(bitmap, data.Offset()+i)
				nulls--
			}
		}
		if nulls == old.NullN() {
			continue
		}
		buffers := slices.Clone(data.Buffers())
		buffers[0] = memory.NewBufferBytes(bitmap)
		filled := array.NewData(data.DataType(), data.Len(), buffers, data.Children(), nulls, data.Offset())
		cols[col] = array.MakeFromData(filled)
		filled.Release()
		old.Release()
	}
}

// nullColumn finds a NOT NULL column that holds NULL in a row that is checked, -1 if there is none.
func (c *Calc) nullColumn(cols []arrow.Array, kinds []columnar.RowKind, rows int) int {
	for _, col := range c.spec.NotNull {
		if cols[col].NullN() == 0 {
			continue
		}
		for i := range rows {
			if cols[col].IsNull(i) && c.checked(kinds, i) {
				return col
			}
		}
	}
	return -1
}

func (c *Calc) checked(kinds []columnar.RowKind, i int) bool {
	return kinds == nil || c.spec.CheckBefore || !kinds[i].Retracts()
}

// keepWhole sets sel to the rows without a NULL in a NOT NULL column.
func (c *Calc) keepWhole(cols []arrow.Array, kinds []columnar.RowKind, rows int) {
	c.sel = resize(c.sel, rows)
	for i := range c.sel {
		c.sel[i] = true
	}
	for _, col := range c.spec.NotNull {
		if cols[col].NullN() == 0 {
			continue
		}
		for i := range c.sel {
			if cols[col].IsNull(i) && c.checked(kinds, i) {
				c.sel[i] = false
			}
		}
	}
}

func (c *Calc) errNull(col int) error {
	name := c.spec.Schema.Fields[col].Name
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeNullability, Table: c.spec.Table,
		Msg:  fmt.Sprintf("column %s is NOT NULL, but a row has NULL in it", name),
		Hint: fmt.Sprintf("write COALESCE(…) for %s, filter such rows out, or SET 'table.exec.sink.not-null-enforcer' = 'DROP'", name),
	}
}

// place names the sink in an error of an expression.
func (c *Calc) place(err error) error {
	var d *diag.Error
	if errors.As(err, &d) && d.Table == "" {
		named := *d
		named.Table = c.spec.Table
		return &named
	}
	return err
}

// gatherInput takes the chosen rows of the columns that the projection reads;
// the others are nil. The slice is used again by the next batch.
func (c *Calc) gatherInput(ctx context.Context, b *columnar.Batch) ([]arrow.Array, error) {
	if c.project == nil {
		return gather(ctx, b.Cols, nil, c.pick.rows)
	}
	return gather(ctx, b.Cols, c.needs, c.pick.rows)
}

// gather takes rows of cols; only, where given, lists the columns to take, the rest stays nil.
func gather(ctx context.Context, cols []arrow.Array, only []int, rows []int32) ([]arrow.Array, error) {
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(rows),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(rows))}, nil, 0, 0)
	defer data.Release()
	indices := array.NewInt32Data(data)
	defer indices.Release()
	out := make([]arrow.Array, len(cols))
	take := func(i int) error {
		taken, err := compute.TakeArrayOpts(ctx, cols[i], indices, compute.TakeOptions{BoundsCheck: false})
		if err != nil {
			return fmt.Errorf("taking rows of column %d: %w", i, err)
		}
		out[i] = taken
		return nil
	}
	if only == nil {
		for i := range cols {
			if err := take(i); err != nil {
				release(out)
				return nil, err
			}
		}
		return out, nil
	}
	for _, i := range only {
		if err := take(i); err != nil {
			release(out)
			return nil, err
		}
	}
	return out, nil
}

func release(cols []arrow.Array) {
	for _, a := range cols {
		if a != nil {
			a.Release()
		}
	}
}

func resize(b []bool, n int) []bool {
	if cap(b) < n {
		return make([]bool, n)
	}
	return b[:n]
}
