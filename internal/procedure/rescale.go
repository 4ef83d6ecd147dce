package procedure

import (
	"context"
	"errors"
	"runtime"

	"github.com/google/uuid"

	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
)

// rescale writes the rows of partitions into another number of buckets.
func rescale(ctx context.Context, x *execution) error {
	return x.onTable(ctx, func(t *target) error {
		specs, err := x.partitionSpecs("partition")
		if err != nil {
			return err
		}
		if len(specs) > 1 {
			return x.wrong("partition", "there are several", "call it once for each")
		}
		cfg := lakehouse.WriteConfig{Attempt: uuid.NewString(), Pool: lakehouse.NewWorkPool(2 * runtime.GOMAXPROCS(0))}
		if len(specs) > 0 {
			if cfg.Partition, err = maintain.MatchPartition(t.schema, specs); err != nil {
				return err
			}
		}
		buckets := x.Number("bucket_num", max(configs.Bucket.Get(t.options), 0))
		if buckets < 1 && x.Has("bucket_num") || buckets > 1<<20 {
			return x.wrong("bucket_num", "it is no number of buckets", "write a number from 1 on")
		}
		tab, err := lakehouse.Open(ctx, x.env.FS, t.path)
		if err != nil {
			return err
		}
		_, err = tab.Rescale(ctx, cfg, int(buckets))
		if errors.Is(err, commit.ErrConflict) {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeConflict, Table: t.id.String(), Cause: err,
				Msg: "another writer committed while its rows were written anew", Hint: "stop the jobs that write to the table, then call it again",
			}
		}
		return err
	})
}
