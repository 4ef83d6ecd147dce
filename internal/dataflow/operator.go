package dataflow

import (
	"context"

	"leat/internal/columnar"
)

// Operator changes a stream of batches, stateless so far. Process takes b over
// and hands each result to out, which takes it over. It is called from one
// goroutine. A -U/+U pair comes in one batch and leaves in one batch.
type Operator interface {
	Process(ctx context.Context, b *columnar.Batch, out func(*columnar.Batch) error) error
}
