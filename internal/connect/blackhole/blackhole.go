package blackhole

import (
	"context"
	"encoding/json"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
)

// Options has no keys.
var Options = configs.NewSet("blackhole table")

// Connector makes sinks that drop what they get.
type Connector struct{}

var _ connect.StatementWriter = Connector{}

// New makes the connector.
func New() Connector { return Connector{} }

// Name is "blackhole".
func (Connector) Name() string { return "blackhole" }

// Options declares no keys.
func (Connector) Options() *configs.Set { return Options }

// CheckTable accepts every table.
func (Connector) CheckTable(*connect.Table) error { return nil }

// SinkMode is All: the source is to do its whole work.
func (Connector) SinkMode(*connect.Table) connect.ChangelogMode { return connect.All }

// NewSink makes a sink.
func (Connector) NewSink(connect.SinkSpec) (dataflow.Sink, error) { return sink{}, nil }

// WriteStatement computes the rows and drops them.
func (Connector) WriteStatement(_ context.Context, _ connect.Statement, give func(take func(*columnar.Batch) error) error) (int64, error) {
	rows := int64(0)
	err := give(func(b *columnar.Batch) error {
		rows += int64(b.Rows())
		return nil
	})
	return rows, err
}

type sink struct{}

func (sink) Recover(context.Context, *dataflow.SinkRecovery) error { return nil }

func (sink) NewWriter(context.Context, int, int) (dataflow.SinkWriter, error) { return sink{}, nil }

func (sink) Observe(context.Context) (json.RawMessage, error) { return nil, nil }

func (sink) Commit(context.Context, []dataflow.Epoch) error { return nil }

func (sink) Close() error { return nil }

func (sink) Write(_ context.Context, b *columnar.Batch) error {
	b.Release()
	return nil
}

func (sink) Prepare(context.Context, dataflow.CheckpointID) (dataflow.Prepared, error) {
	return empty{}, nil
}

// empty is an epoch that leaves nothing to commit.
type empty struct{}

func (empty) Wait(context.Context) (json.RawMessage, error) { return nil, nil }
