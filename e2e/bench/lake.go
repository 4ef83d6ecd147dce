package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// lakeTable is the table of orders that the steps of the merge tree work on.
const lakeTable = "orders"

// lakeInput is what a step of the merge tree works on.
type lakeInput struct {
	// Warehouse holds the table bench.orders.
	Warehouse string `json:"warehouse"`
	Rows      int64  `json:"rows"`
	Runs      int64  `json:"runs"`
	Shuffled  bool   `json:"shuffled"`
}

// measured is what a step took, and what came of it.
type measured struct {
	WallS float64 `json:"wall_s"`
	CPUS  float64 `json:"cpu_s"`
	Rows  int64   `json:"rows"`
	Sum   int64   `json:"sum"`
	Bytes int64   `json:"bytes"`
}

// lakeSteps run in processes of their own; each prints what it measured.
var lakeSteps = map[string]func(ctx context.Context, in lakeInput) (any, error){
	"flush": flushOrders, "runs": makeRuns, "read": mergeRead, "compact": compactRuns, "compactkeep": keepCompacted, "query": answerQueries,
}

// RunLakeStep runs one step of the merge tree in this process, once for each line
// of turns; input is what the driver gave.
func RunLakeStep(ctx context.Context, name, input string, turns io.Reader, out io.Writer) error {
	var in lakeInput
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		return fmt.Errorf("reading the input of step %s: %w", name, err)
	}
	step := lakeSteps[name]
	if step == nil {
		return fmt.Errorf("unknown step %q", name)
	}
	for lines := bufio.NewScanner(turns); lines.Scan(); {
		res, err := step(ctx, in)
		if err != nil {
			return fmt.Errorf("step %s: %w", name, err)
		}
		if err := json.NewEncoder(out).Encode(res); err != nil {
			return fmt.Errorf("step %s: %w", name, err)
		}
	}
	return nil
}

// meter measures this process.
type meter struct {
	wall time.Time
	cpu  float64
}

func startMeter() meter { return meter{time.Now(), selfCPU()} }

func (m meter) stop(to *measured) {
	to.WallS += time.Since(m.wall).Seconds()
	to.CPUS += selfCPU() - m.cpu
}

// selfCPU is the processor time that this process has used, in seconds.
func selfCPU() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// newLakeTable makes bench.orders with buckets buckets, for writers that do not compact.
func newLakeTable(ctx context.Context, warehouse, buckets string) (*lakehouse.Table, error) {
	fs, dir := local.New(), filepath.Join(warehouse, "bench.db", lakeTable)
	s := &spec.TableSchema{
		Version: spec.SchemaVersion, PrimaryKeys: []string{"order_id"}, PartitionKeys: []string{},
		Options: map[string]string{"bucket": buckets, "write-only": "true"},
		Fields: []columnar.Field{
			{Name: "order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
			{Name: "user_id", Type: columnar.Of(columnar.BigInt)},
			{Name: "order_amount", Type: columnar.DecimalOf(18, 2)},
			{Name: "order_status", Type: columnar.Of(columnar.TinyInt)},
			{Name: "create_time", Type: columnar.TimestampOf(3)},
			{Name: "update_time", Type: columnar.TimestampOf(3)},
			{Name: "dt", Type: columnar.StringType().NotNull()},
		},
	}
	for i := range s.Fields {
		s.Fields[i].ID = i
	}
	s.HighestFieldID = len(s.Fields) - 1
	b, err := spec.MarshalSchema(s)
	if err != nil {
		return nil, err
	}
	if err := fs.CreateExclusive(ctx, fs.Join(dir, spec.SchemaDir, spec.SchemaName(0)), b); err != nil {
		return nil, err
	}
	return lakehouse.Open(ctx, fs, dir)
}

func openLakeTable(ctx context.Context, in lakeInput) (*lakehouse.Table, error) {
	return lakehouse.Open(ctx, local.New(), filepath.Join(in.Warehouse, "bench.db", lakeTable))
}

// orderColumns makes the columns of orders ids, in version ver.
func orderColumns(s *columnar.Schema, ids []int64, ver int) []arrow.Array {
	b := columnar.NewBuilders(memory.DefaultAllocator, s)
	for _, id := range ids {
		o := makeOrder(id, ver)
		b[0].(*array.Int64Builder).Append(o.id)
		b[1].(*array.Int64Builder).Append(o.user)
		b[2].(*array.Decimal128Builder).Append(decimal128.FromI64(o.cents))
		b[3].(*array.Int8Builder).Append(o.status)
		b[4].(*array.TimestampBuilder).Append(arrow.Timestamp(o.create.UnixMilli()))
		b[5].(*array.TimestampBuilder).Append(arrow.Timestamp(o.update.UnixMilli()))
		b[6].(*array.StringBuilder).Append(o.dt)
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return cols
}

// orderBatches makes batches of orders ids.
func orderBatches(s *columnar.Schema, ids []int64, ver int) []*columnar.Batch {
	var out []*columnar.Batch
	for part := range slices.Chunk(ids, batchRows) {
		out = append(out, columnar.NewBatch(s, nil, orderColumns(s, part, ver), len(part)))
	}
	return out
}

// makeRuns writes in.Runs commits of an equal share of in.Rows changes each, to random ones
// of in.Rows orders: runs whose keys overlap over their whole range, some in several.
func makeRuns(ctx context.Context, in lakeInput) (any, error) {
	tab, err := newLakeTable(ctx, in.Warehouse, "1")
	if err != nil {
		return nil, err
	}
	w, err := tab.NewWriter(ctx, lakehouse.WriteConfig{Attempt: "bench", Budget: lakehouse.NewMemoryBudget(1 << 30), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		return nil, err
	}
	c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: "bench"}, nil)
	rnd := rand.New(rand.NewPCG(1, 2))
	for run := range in.Runs {
		ids := make([]int64, in.Rows/in.Runs)
		for i := range ids {
			ids[i] = rnd.Int64N(in.Rows)
		}
		msgs, err := writeEpoch(ctx, w, orderBatches(tab.Schema.Columns(), ids, int(run)), run)
		if err != nil {
			return nil, err
		}
		made, err := c.Commit(ctx, commit.Request{User: "bench", Identifier: run, Messages: msgs})
		if err != nil {
			return nil, err
		}
		if err := w.Committed(ctx, run, made, false); err != nil {
			return nil, err
		}
	}
	return measured{}, w.Close(ctx)
}

// writeEpoch writes batches and waits for their files.
func writeEpoch(ctx context.Context, w *lakehouse.Writer, batches []*columnar.Batch, id int64) ([]spec.CommitMessage, error) {
	for _, b := range batches {
		if err := w.Write(ctx, b); err != nil {
			return nil, err
		}
	}
	p, err := w.Prepare(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// mergeRead reads all columns of the table, counts its rows and sums up their amounts.
func mergeRead(ctx context.Context, in lakeInput) (any, error) {
	var res measured
	clock := startMeter()
	tab, err := openLakeTable(ctx, in)
	if err != nil {
		return nil, err
	}
	err = tab.Scan(ctx, lakehouse.ScanOptions{}, func(b *columnar.Batch) error {
		res.Rows += int64(b.Rows())
		amounts := b.Cols[2].(*array.Decimal128)
		for i, v := range amounts.Values() {
			if amounts.IsValid(i) {
				res.Sum += int64(v.LowBits())
			}
		}
		return nil
	})
	clock.stop(&res)
	return res, err
}

// compactRuns compacts the table fully and takes it back: the table stays as it was.
func compactRuns(ctx context.Context, in lakeInput) (any, error) {
	var res measured
	clock := startMeter()
	tab, err := openLakeTable(ctx, in)
	if err != nil {
		return nil, err
	}
	msgs, err := tab.Compact(ctx, lakehouse.WriteConfig{Attempt: "bench-compact"}, true)
	clock.stop(&res)
	for i := range msgs {
		for _, f := range msgs[i].CompactAfter {
			res.Rows, res.Bytes = res.Rows+f.RowCount, res.Bytes+f.FileSize
			name := tab.FS.Join(tab.Path, fmt.Sprint("bucket-", msgs[i].Bucket), f.FileName)
			if err := tab.FS.Remove(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return res, err
}

// collect leaves no garbage of one measurement to the next.
func collect() {
	runtime.GC()
	runtime.GC()
}
