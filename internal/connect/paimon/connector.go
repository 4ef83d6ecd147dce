package paimon

import (
	"context"
	"errors"
	"strings"
	"sync"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
	"leat/lakehouse"
)

// Connector makes sinks into Paimon tables. All sinks of a process share one
// memory budget and one pool of encoding workers.
type Connector struct {
	mu     sync.Mutex
	budget *lakehouse.MemoryBudget
	pool   *lakehouse.WorkPool
}

// New makes the connector.
func New() *Connector { return &Connector{} }

// Name is "paimon".
func (*Connector) Name() string { return "paimon" }

// Options declares the table options.
func (*Connector) Options() *configs.Set { return configs.LakeTable }

// CheckTable finds nothing: lake tables are checked when they are created.
func (*Connector) CheckTable(*connect.Table) error { return nil }

// SinkMode is All where before-images count: a changelog is made of the input,
// or the merge engine takes values back. Else it is Upsert with a primary key,
// InsertOnly without, and for a first-row table that does not drop deletes.
func (*Connector) SinkMode(t *connect.Table) connect.ChangelogMode {
	drops := configs.IgnoreDelete.Get(t.Options)
	switch engine := configs.MergeEngine.Get(t.Options); {
	case len(t.PrimaryKey) == 0:
		return connect.InsertOnly
	case engine == "first-row" && !drops:
		return connect.InsertOnly
	case configs.ChangelogProducer.Get(t.Options) == "input":
		return connect.All
	case engine == "aggregation" && !drops, engine == "partial-update" && !drops && hasFieldOption(t.Options, ".sequence-group"):
		return connect.All
	default:
		return connect.Upsert
	}
}

// RetractColumns are the columns that order the rows of a key and that hold their kind.
func (*Connector) RetractColumns(t *connect.Table) []string {
	names := strings.Split(configs.SequenceField.Get(t.Options), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return append(names, configs.RowKindField.Get(t.Options))
}

// hasFieldOption reports whether there is an option fields.<column><suffix>.
func hasFieldOption(v configs.Values, suffix string) bool {
	for key := range v {
		if strings.HasPrefix(key, "fields.") && strings.HasSuffix(key, suffix) {
			return true
		}
	}
	return false
}

// HasRows reports whether the table exists and its latest snapshot has files.
func (*Connector) HasRows(ctx context.Context, t *connect.Table) (bool, error) {
	fs, path, err := open.FromURL(t.Location)
	if err != nil {
		return false, err
	}
	if ok, err := exists(ctx, fs, path); err != nil || !ok {
		return false, err
	}
	table, err := lakehouse.Open(ctx, fs, path)
	var missing *diag.Error
	if errors.As(err, &missing) && missing.Code == diag.CodeLakeMissing {
		return false, nil // a run was killed that was about to make it
	}
	if err != nil {
		return false, err
	}
	s, err := table.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return false, err
	}
	return s.TotalRecordCount == nil || *s.TotalRecordCount > 0, nil
}

func exists(ctx context.Context, fs fileio.FS, path string) (bool, error) {
	_, err := fs.Stat(ctx, path)
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// NewSink makes the sink of one table.
func (c *Connector) NewSink(spec connect.SinkSpec) (dataflow.Sink, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil {
		c.budget = lakehouse.NewMemoryBudget(spec.Env.MemoryLimit)
		c.pool = lakehouse.NewWorkPool(spec.Env.Parallelism)
	}
	fs, path, err := open.FromURL(spec.Table.Location)
	if err != nil {
		return nil, err
	}
	return &sink{spec: spec, fs: fs, path: path, budget: c.budget, pool: c.pool, log: spec.Env.Log.With("table", spec.Table.Name)}, nil
}
