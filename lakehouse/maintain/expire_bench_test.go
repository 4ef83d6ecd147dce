package maintain

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// BenchmarkCommitBesideExpiry commits small epochs, in turn with nothing else
// and while 1,000 snapshots expire in portions of 50, as the sink does it.
func BenchmarkCommitBesideExpiry(b *testing.B) {
	const snapshots = 1000
	ctx, fs, dir := b.Context(), local.New(), b.TempDir()
	schema := &spec.TableSchema{
		Version: 3, HighestFieldID: 1, PartitionKeys: []string{"dt"}, Options: map[string]string{"bucket": "-1"},
		Fields: []columnar.Field{{ID: 0, Name: "id", Type: columnar.Of(columnar.Int)}, {ID: 1, Name: "dt", Type: columnar.StringType()}},
	}
	content, err := spec.MarshalSchema(schema)
	if err == nil {
		err = fs.CreateExclusive(ctx, fs.Join(dir, "schema", "schema-0"), content)
	}
	if err != nil {
		b.Fatal(err)
	}
	c := commit.New(fs, dir, schema, commit.Options{Attempt: attempt}, nil)
	f := &fixture{}
	var id int64
	epoch := func() time.Duration {
		id++
		m := spec.CommitMessage{Partition: partition("a"), TotalBuckets: -1, NewFiles: []spec.DataFileMeta{f.file(fmt.Sprint("data-", id), 0)}}
		if id > 1 {
			m.CompactBefore = []spec.DataFileMeta{f.file(fmt.Sprint("data-", id-1), 0)}
		}
		start := time.Now()
		if _, err := c.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: []spec.CommitMessage{m}}); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var alone, beside []time.Duration
	var expiry time.Duration
	for b.Loop() {
		for range snapshots / 2 { // each epoch makes two snapshots
			alone = append(alone, epoch())
		}
		ended := make(chan time.Duration, 1)
		go func() { ended <- expireAll(ctx, b, fs, dir, snapshots) }()
		for n := len(beside); len(beside) == n || len(ended) == 0; {
			beside = append(beside, epoch())
		}
		expiry += <-ended
	}
	for name, d := range map[string][]time.Duration{"alone": alone, "beside": beside} {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2])/1e6, name+"-p50-ms")
		b.ReportMetric(float64(d[len(d)*99/100])/1e6, name+"-p99-ms")
	}
	b.ReportMetric(float64(expiry)/1e6/float64(b.N), "expiry-ms")
	b.ReportMetric(float64(len(beside))/float64(b.N), "commits-beside")
}

// expireAll expires n snapshots in portions of 50 and gives the time it took.
func expireAll(ctx context.Context, b *testing.B, fs *local.FS, dir string, n int64) time.Duration {
	start := time.Now()
	for n > 0 {
		e, err := ExpireSnapshots(ctx, fs, dir, ExpireOptions{RetainMin: 10, RetainMax: 10, Limit: min(n, 50)})
		if err != nil || e.Snapshots() == 0 {
			b.Errorf("expired %+v: %v", e, err)
			break
		}
		n -= e.Snapshots()
	}
	return time.Since(start)
}
