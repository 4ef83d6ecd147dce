package mysqlcdc

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/expr"
)

var _ connect.RowReader = Connector{}

// OpenRows reads in one transaction of the server.
func (Connector) OpenRows(ctx context.Context, t *connect.Table, env connect.Env) (connect.Rows, error) {
	cfg, err := connection(t.Options)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(t.Schema.Fields))
	for i := range all {
		all[i] = i
	}
	def := sourceTable(connect.SourceTable{Table: t, Needed: all})
	def.ChunkKey, def.AppendOnly = "", true
	cfg.Log, cfg.Tables = env.Log, []cdc.Table{def}
	r, err := cdc.OpenRows(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: r, schema: t.Schema, env: expr.Env{Zone: env.Zone}}, nil
}

type rows struct {
	*cdc.Rows
	schema *columnar.Schema
	env    expr.Env
}

// Scan hands the server the conditions whose constants have the type of their column.
func (r *rows) Scan(ctx context.Context, used []int, where []expr.Condition, each func(cols []arrow.Array, rows int) error) error {
	var conds []cdc.RowCondition
	for i := range where {
		if c, ok := r.condition(&where[i]); ok {
			conds = append(conds, c)
		}
	}
	return r.Rows.Scan(ctx, used, conds, each)
}

func (r *rows) condition(c *expr.Condition) (cdc.RowCondition, bool) {
	out := cdc.RowCondition{Column: c.Column, Op: c.Op}
	if len(c.Values) == 0 {
		return out, true
	}
	t := r.schema.Fields[c.Column].Type
	if t.IsText() {
		t = columnar.StringType()
	}
	values, ok := c.Constants(t, r.env)
	if !ok {
		return out, false
	}
	defer values.Release()
	text, err := expr.Cast(expr.NamedColumn(0, "value", t), columnar.StringType(), true)
	if err != nil {
		return out, false
	}
	p, err := expr.Compile([]expr.Expr{text}, r.env)
	if err != nil {
		return out, false
	}
	texts, err := p.Eval(arrowmemory.DefaultAllocator, []arrow.Array{values}, values.Len())
	if err != nil {
		return out, false
	}
	defer texts[0].Release()
	list, ok := texts[0].(*array.String)
	for i := range values.Len() {
		if !ok || list.IsNull(i) {
			return out, false
		}
		out.Values = append(out.Values, strings.Clone(list.Value(i)))
	}
	return out, true
}
