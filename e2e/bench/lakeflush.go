package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

const (
	flushBuckets = 4
	flushEpochs  = 5
	flushWorkers = 2
)

// flushResult is a flush beside its limit, the same rows encoded to the same files: both
// have the same encoder settings, sequence numbers and bytes.
type flushResult struct {
	Encode measured `json:"encode"`
	Flush  measured `json:"flush"`
}

// flushOrders writes in.Rows orders into four buckets, a fifth at a time, and in turn with each
// fifth its rows to as many files without anything else around. Ids come in order, as a snapshot
// has them, or each fifth in no order at all.
func flushOrders(ctx context.Context, in lakeInput) (any, error) {
	tab, err := newLakeTable(ctx, in.Warehouse, "4")
	if err != nil {
		return nil, err
	}
	w, err := tab.NewWriter(ctx, lakehouse.WriteConfig{Attempt: "bench", Budget: lakehouse.NewMemoryBudget(1 << 30), Pool: lakehouse.NewWorkPool(flushWorkers)})
	if err != nil {
		return nil, err
	}
	layout, err := mergetree.NewLayout(tab.Schema, false)
	if err != nil {
		return nil, err
	}
	var res flushResult
	share := in.Rows / flushEpochs
	for epoch := range int64(flushEpochs) {
		ids := make([]int64, share)
		for i := range ids {
			ids[i] = epoch*share + int64(i)
		}
		if in.Shuffled {
			rand.New(rand.NewPCG(3, uint64(epoch))).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		}
		flush := func() error {
			batches := orderBatches(tab.Schema.Columns(), ids, 0)
			collect()
			clock := startMeter()
			msgs, err := writeEpoch(ctx, w, batches, epoch+1)
			clock.stop(&res.Flush)
			for i := range msgs {
				for _, f := range msgs[i].NewFiles {
					res.Flush.Rows, res.Flush.Bytes = res.Flush.Rows+f.RowCount, res.Flush.Bytes+f.FileSize
				}
			}
			return err
		}
		encode := func() error {
			buckets, err := sortedBuckets(tab.Schema, ids)
			if err != nil {
				return err
			}
			collect()
			clock := startMeter()
			err = encodeBuckets(ctx, filepath.Join(in.Warehouse, fmt.Sprint("encoded-", epoch)), layout.Fields, buckets, &res.Encode)
			clock.stop(&res.Encode)
			return err
		}
		steps := []func() error{flush, encode}
		for i := range steps {
			if err := steps[(i+int(epoch))%2](); err != nil {
				return nil, err
			}
		}
	}
	return res, w.Close(ctx)
}

// sortedBuckets gives the columns of the files of each bucket, rows in key order, in chunks.
func sortedBuckets(s *spec.TableSchema, ids []int64) ([][][]arrow.Array, error) {
	enc, err := spec.NewRowEncoder(s.Columns(), s.Indexes(s.BucketKeys()))
	if err != nil {
		return nil, err
	}
	// ids are some permutation of a range: sorting is putting each where it belongs.
	first, seqs, bucketOf := ids[0], make([]int64, len(ids)), make([]int32, len(ids))
	for _, id := range ids {
		first = min(first, id)
	}
	var arrived [flushBuckets]int64
	nos := make([]int32, batchRows)
	for from := 0; from < len(ids); from += batchRows {
		part := ids[from:min(from+batchRows, len(ids))]
		enc.Buckets(columnar.NewBatch(s.Columns(), nil, orderColumns(s.Columns(), part, 0), len(part)), flushBuckets, nos[:len(part)])
		for i, id := range part {
			no := nos[i]
			bucketOf[id-first], seqs[id-first] = no, arrived[no]
			arrived[no]++
		}
	}
	var out [flushBuckets][][]arrow.Array
	var keys, at [flushBuckets][]int64
	put := func(no int32) {
		out[no] = append(out[no], fileColumns(s.Columns(), keys[no], at[no]))
		keys[no], at[no] = nil, nil
	}
	for i, no := range bucketOf {
		keys[no], at[no] = append(keys[no], first+int64(i)), append(at[no], seqs[i])
		if len(keys[no]) == batchRows {
			put(no)
		}
	}
	for no := range int32(flushBuckets) {
		if len(keys[no]) > 0 {
			put(no)
		}
	}
	return out[:], nil
}

// fileColumns makes a chunk of a file: key, sequence number and kind before the columns of the table.
func fileColumns(s *columnar.Schema, ids, seqs []int64) []arrow.Array {
	seq := array.NewInt64Builder(memory.DefaultAllocator)
	seq.AppendValues(seqs, nil)
	kinds := array.NewInt8Builder(memory.DefaultAllocator)
	kinds.AppendValues(make([]int8, len(ids)), nil)
	cols := orderColumns(s, ids, 0)
	return append([]arrow.Array{cols[0], seq.NewArray(), kinds.NewArray()}, cols...)
}

// encodeBuckets writes a file a bucket, as many at a time as a flush does.
func encodeBuckets(ctx context.Context, dir string, fields []columnar.Field, buckets [][][]arrow.Array, res *measured) error {
	fs, infos := local.New(), make([]format.FileInfo, len(buckets))
	opts := datafile.Options{Format: datafile.Parquet, Options: format.Options{Distinct: []string{"_KEY_order_id", "_SEQUENCE_NUMBER", "order_id"}}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(flushWorkers)
	for i, chunks := range buckets {
		g.Go(func() error {
			out, err := fs.Create(ctx, fs.Join(dir, fmt.Sprintf("bucket-%d.parquet", i)))
			if err != nil {
				return err
			}
			w, err := datafile.Create(out, fields, opts)
			if err != nil {
				return err
			}
			for _, c := range chunks {
				if err := w.WriteBatch(c, c[0].Len()); err != nil {
					return err
				}
			}
			if infos[i], err = w.Close(); err != nil {
				return err
			}
			return out.Commit(ctx)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, info := range infos {
		res.Rows, res.Bytes = res.Rows+info.Rows, res.Bytes+info.Size
	}
	return nil
}
