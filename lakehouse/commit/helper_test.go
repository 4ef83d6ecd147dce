package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

const tablePath = "/wh/db.db/t"

// pkSchema is a table with key (dt, id), partitioned by dt, with two buckets.
func pkSchema() *spec.TableSchema {
	return &spec.TableSchema{
		Version: 3, HighestFieldID: 2,
		Fields: []columnar.Field{
			{ID: 0, Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()},
			{ID: 1, Name: "dt", Type: columnar.StringType().NotNull()},
			{ID: 2, Name: "v", Type: columnar.StringType()},
		},
		PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"},
		Options: map[string]string{"bucket": "2"},
	}
}

func partition(dt string) spec.BinaryRow {
	w := spec.NewRowWriter([]columnar.DataType{columnar.StringType()})
	w.Reset()
	w.SetString(0, dt)
	return w.Row().Clone()
}

func keyRow(id int64) spec.BinaryRow {
	w := spec.NewRowWriter([]columnar.DataType{columnar.Of(columnar.BigInt)})
	w.Reset()
	w.SetInt64(0, id)
	return w.Row().Clone()
}

// dataFile describes a file with keys lo..hi, one row each.
func dataFile(name string, level int32, lo, hi int64) spec.DataFileMeta {
	stats := spec.SimpleStats{Min: keyRow(lo), Max: keyRow(hi), NullCounts: []*int64{new(int64)}}
	return spec.DataFileMeta{
		FileName: name, FileSize: 100, RowCount: hi - lo + 1, MinKey: keyRow(lo), MaxKey: keyRow(hi),
		KeyStats: stats, ValueStats: spec.EmptyStats(), Level: level, MaxSequenceNumber: hi,
	}
}

func message(dt string, bucket int32) spec.CommitMessage {
	return spec.CommitMessage{Partition: partition(dt), Bucket: bucket, TotalBuckets: 2}
}

// appendRequest adds one file of ten rows named after user and identifier.
func appendRequest(user string, identifier int64) Request {
	m := message("d1", 0)
	m.NewFiles = []spec.DataFileMeta{dataFile(fmt.Sprintf("data-%s-%d", user, identifier), 0, 1, 10)}
	return Request{User: user, Identifier: identifier, Messages: []spec.CommitMessage{m}}
}

func fastOptions() Options {
	return Options{Attempt: uuid.NewString(), MinRetryWait: time.Microsecond, MaxRetryWait: 10 * time.Microsecond}
}

// liveNames lists the live files of the latest snapshot, and checks on the way
// that all snapshots hold together: no gaps, all manifests there, totals right.
func liveNames(ctx context.Context, t *testing.T, fs fileio.FS) []string {
	t.Helper()
	snaps, manifests := NewSnapshots(fs, tablePath), NewManifests(fs, tablePath)
	ids, err := snaps.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var lastTime int64
	for i, id := range ids {
		if id != ids[0]+int64(i) {
			t.Fatalf("snapshots have a gap: %v", ids)
		}
		s, err := snaps.Read(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.TimeMillis < lastTime {
			t.Errorf("snapshot %d is older than the one before", id)
		}
		lastTime = s.TimeMillis
		live, err := manifests.Live(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		names = names[:0]
		var rows int64
		for _, e := range live {
			rows += e.File.RowCount
			names = append(names, e.File.FileName)
		}
		if s.TotalRecordCount == nil || *s.TotalRecordCount != rows {
			t.Errorf("snapshot %d says %v rows, its files hold %d", id, s.TotalRecordCount, rows)
		}
	}
	slices.Sort(names)
	return names
}

// history gives the snapshots as "id KIND user/identifier".
func history(ctx context.Context, t *testing.T, fs fileio.FS) []string {
	t.Helper()
	snaps := NewSnapshots(fs, tablePath)
	ids, err := snaps.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s %s/%d", id, s.CommitKind, s.CommitUser, s.CommitIdentifier))
	}
	return out
}

// parseFile reads "name@level[lo,hi]".
func parseFile(s string) (spec.DataFileMeta, error) {
	name, rest, ok := strings.Cut(s, "@")
	level, keys, ok2 := strings.Cut(strings.TrimSuffix(rest, "]"), "[")
	lo, hi, ok3 := strings.Cut(keys, ",")
	if !ok || !ok2 || !ok3 {
		return spec.DataFileMeta{}, fmt.Errorf("no file: %q", s)
	}
	l, err1 := strconv.Atoi(level)
	a, err2 := strconv.ParseInt(lo, 10, 64)
	b, err3 := strconv.ParseInt(hi, 10, 64)
	return dataFile(name, int32(l), a, b), errors.Join(err1, err2, err3)
}
