package procedure

import (
	"context"

	"leat/internal/diag"
)

// rescale is known and does not run: rows would have to be written anew.
func rescale(ctx context.Context, x *execution) error {
	if _, err := x.table(ctx); err != nil {
		return err
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeUnsupported, Pos: x.At, Msg: "sys.rescale does not run in leat yet: it writes every row of the table anew",
		Hint: "stop the job and run it on Flink, or make a new table with the buckets and copy the rows",
	}
}
