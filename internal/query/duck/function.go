//go:build cgo

package duck

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	db "github.com/duckdb/duckdb-go-bindings"

	"leat/internal/columnar"
	"leat/internal/expr"
)

// functionInfo is what DuckDB keeps with a function.
type functionInfo struct {
	args     []columnar.DataType
	result   columnar.DataType
	volatile bool
	run      *run
	compile  func() (*expr.Program, error)

	mu sync.Mutex
	// idle are programs that no thread uses.
	idle []*expr.Program
}

func (x *functionInfo) program() (*expr.Program, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.idle); n > 0 {
		p := x.idle[n-1]
		x.idle = x.idle[:n-1]
		return p, nil
	}
	return x.compile()
}

func (x *functionInfo) putBack(p *expr.Program) {
	x.mu.Lock()
	x.idle = append(x.idle, p)
	x.mu.Unlock()
}

// evaluate computes a function for one chunk of rows, whose vectors are flat.
func evaluate(info db.FunctionInfo, in db.DataChunk, out db.Vector) {
	x := kept[*functionInfo](db.ScalarFunctionGetExtraInfo(info))
	if err := x.evaluate(in, out); err != nil {
		x.run.fail(err)
		db.ScalarFunctionSetError(info, err.Error())
	}
}

func (x *functionInfo) evaluate(in db.DataChunk, out db.Vector) error {
	n := int(db.DataChunkGetSize(in))
	p, err := x.program()
	if err != nil {
		return err
	}
	defer x.putBack(p)
	cols := make([]arrow.Array, len(x.args))
	defer func() { release(cols) }()
	for i, t := range x.args {
		if cols[i], err = (reader{borrow: true}).read(db.DataChunkGetVector(in, db.IdxT(i)), t, n); err != nil {
			return err
		}
	}
	result, err := p.Eval(memory.DefaultAllocator, cols, n)
	if err != nil {
		return err
	}
	defer release(result)
	return write(out, 0, result[0], x.result, 0, n)
}

func release(cols []arrow.Array) {
	for _, c := range cols {
		if c != nil {
			c.Release()
		}
	}
}
