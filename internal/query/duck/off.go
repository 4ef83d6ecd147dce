//go:build !cgo

package duck

import (
	"context"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// Available says whether this build can run queries.
const Available = false

// Run refuses: this build has no DuckDB.
func (q *Query) Run(context.Context, func(*columnar.Batch) error) error { return unavailable() }

func unavailable() error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeUnsupported, Msg: "this leat was built without DuckDB (CGO_ENABLED=0): it answers queries over one table without grouping, ordering, joins and subqueries",
		Hint: "use a leat that was built with cgo, or ask for columns with WHERE and LIMIT",
	}
}
