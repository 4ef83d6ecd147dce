package bench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
)

// readSnapshot reads the table as the source does: cut in chunks, decoded into
// Arrow, joined with the stream. What it gives is dropped. It has one session for
// rows, as scanTable does.
func readSnapshot(ctx context.Context, in limitInput) (int64, error) {
	_, schema, err := ordersPlan()
	if err != nil {
		return 0, err
	}
	db, name, _ := strings.Cut(in.ScanFrom, ".")
	r, err := cdc.New(cdc.Config{
		Host: "127.0.0.1", Port: in.Port, User: "root", ServerID: 7002, MaxRetries: 1, SnapshotReaders: 1, Log: slog.New(slog.DiscardHandler),
		Startup: cdc.Startup{Mode: cdc.StartSnapshot},
		Tables:  []cdc.Table{{Label: "orders", Database: db, Name: name, PrimaryKey: []string{"order_id"}, Schema: schema}},
	})
	if err != nil {
		return 0, err
	}
	if err := r.Open(ctx, nil); err != nil {
		return 0, fmt.Errorf("opening the source: %w", err)
	}
	var out dropped
	if err := r.Run(ctx, &out); err != nil {
		return 0, fmt.Errorf("reading the snapshot: %w", err)
	}
	return out.rows, r.Close()
}

// dropped counts rows and drops them.
type dropped struct{ rows int64 }

func (d *dropped) Emit(_ context.Context, _ int, b *columnar.Batch) error {
	d.rows += int64(b.Rows())
	b.Release()
	return nil
}

func (d *dropped) BarrierDue() bool                                    { return false }
func (d *dropped) Due() <-chan struct{}                                { return nil }
func (d *dropped) Edge(context.Context) error                          { return nil }
func (d *dropped) InTransaction(int64)                                 {}
func (d *dropped) Report(dataflow.SourceStatus)                        {}
func (d *dropped) Cut(context.Context) <-chan error                    { return nil }
func (d *dropped) Change(context.Context, int, *dataflow.Change) error { return nil }
