package dataflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// numbered makes a batch whose one value is n.
func numbered(n int64) *columnar.Batch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	schema := &columnar.Schema{Fields: []columnar.Field{{Name: "n", Type: columnar.Of(columnar.BigInt)}}}
	return columnar.NewBatch(schema, nil, []arrow.Array{b.NewArray()}, 1)
}

// TestBarriersCutEveryInputAtTheSamePlace sends batches and barriers from several
// producers through small channels. Between two barriers the reader must see
// exactly what each producer sent between them, in its order.
func TestBarriersCutEveryInputAtTheSamePlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		producers := rapid.IntRange(1, 4).Draw(r, "producers")
		epochs := rapid.IntRange(0, 5).Draw(r, "epochs")
		// sent[p][e] is the number of batches of producer p in epoch e, the last after all barriers.
		sent := make([][]int, producers)
		for p := range sent {
			for range epochs + 1 {
				sent[p] = append(sent[p], rapid.IntRange(0, 6).Draw(r, "batches"))
			}
		}
		in := newInbox(producers, 30)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() { produce(ctx, outlet{to: in, input: p}, p, sent[p]) })
		}
		got, err := consume(ctx, in, producers)
		if err != nil {
			cancel()
		}
		wg.Wait()
		in.drain()
		if err != nil {
			r.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(sent) {
			r.Fatalf("batches by producer and epoch: %v, sent %v", got, sent)
		}
	})
}

// produce sends the batches of each epoch, numbered through, with a barrier between epochs.
func produce(ctx context.Context, out outlet, producer int, epochs []int) {
	n := int64(0)
	for e, batches := range epochs {
		if e > 0 {
			if out.send(ctx, message{kind: messageBarrier, barrier: CheckpointID(e)}) != nil {
				return
			}
		}
		for range batches {
			if out.send(ctx, batchMessage(numbered(int64(producer)<<32|n))) != nil {
				return
			}
			n++
		}
	}
	_ = out.send(ctx, message{kind: messageEnd})
}

// consume counts the batches by producer and epoch and checks their order.
func consume(ctx context.Context, in *inbox, producers int) ([][]int, error) {
	got := make([][]int, producers)
	seen := make([]int64, producers)
	for p := range got {
		got[p] = []int{0}
	}
	a := alignedInput{in: in}
	for epoch := CheckpointID(1); ; {
		m, err := a.next(ctx)
		if err != nil {
			return nil, err
		}
		switch m.kind {
		case messageEnd:
			return got, nil
		case messageChange:
			return nil, errors.New("a change that nobody sent")
		case messageBarrier:
			if m.barrier != epoch {
				return nil, fmt.Errorf("barrier %d after %d", m.barrier, epoch-1)
			}
			epoch++
			for p := range got {
				got[p] = append(got[p], 0)
			}
		case messageBatch:
			v := m.batch.Cols[0].(*array.Int64).Value(0)
			m.batch.Release()
			p := int(v >> 32)
			if v&(1<<32-1) != seen[p] {
				return nil, fmt.Errorf("producer %d: batch %d instead of %d", p, v&(1<<32-1), seen[p])
			}
			seen[p]++
			got[p][len(got[p])-1]++
		}
	}
}

func TestBarrierOfAnotherCheckpointIsAFault(t *testing.T) {
	t.Parallel()
	in := newInbox(2, 100)
	for p := range 2 {
		if err := (outlet{to: in, input: p}).send(t.Context(), message{kind: messageBarrier, barrier: CheckpointID(1 + p)}); err != nil {
			t.Fatal(err)
		}
	}
	a := alignedInput{in: in}
	if m, err := a.next(t.Context()); err == nil {
		t.Fatalf("two barriers made %+v", m)
	}
}

func TestSendGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	in := newInbox(1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	out := outlet{to: in}
	if err := out.send(ctx, batchMessage(everyType(mem, 3))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := out.send(ctx, batchMessage(everyType(mem, 3))); err == nil {
		t.Fatal("a full channel took a batch")
	}
	in.drain()
}
