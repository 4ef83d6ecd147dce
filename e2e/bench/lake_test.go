package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// TestLakeStepsSeeEveryRow runs the steps of the merge tree on small data.
func TestLakeStepsSeeEveryRow(t *testing.T) {
	t.Parallel()
	in := lakeInput{Warehouse: t.TempDir(), Rows: 20_000, Runs: 5, Shuffled: true}
	run := func(name string, into any) {
		t.Helper()
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := RunLakeStep(t.Context(), name, string(b), strings.NewReader("once\n"), &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	var f flushResult
	run("flush", &f)
	if f.Flush.Rows != in.Rows || f.Encode.Rows != in.Rows || f.Flush.CPUS <= 0 || f.Encode.CPUS <= 0 {
		t.Errorf("flush measured %+v of %d rows", f, in.Rows)
	}
	if d := float64(f.Flush.Bytes) / float64(f.Encode.Bytes); d < 0.98 || d > 1.02 {
		t.Errorf("the flush made %d bytes, the encode %d of the same rows", f.Flush.Bytes, f.Encode.Bytes)
	}
	in.Warehouse = t.TempDir()
	var made, read, compacted, again measured
	run("runs", &made)
	run("read", &read)
	run("compact", &compacted)
	if read.Rows <= in.Rows/2 || read.Rows >= in.Rows || read.Sum == 0 || read.Rows != compacted.Rows {
		t.Errorf("read %+v and compacted %+v of %d changes", read, compacted, in.Rows)
	}
	oracle := judge.Java(t)
	java := func(args ...string) measured {
		t.Helper()
		lines, err := oracle.Call("", append(args, "--warehouse", in.Warehouse, "--table", "bench."+lakeTable)...)
		if err != nil {
			t.Fatal(err)
		}
		var m measured
		if err := json.Unmarshal(lines[0], &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	theirs, compactedByJava := java("bench-read", "--column", "order_amount"), java("bench-compact")
	if theirs.Rows != read.Rows || theirs.Sum != read.Sum || compactedByJava.Rows != read.Rows || compactedByJava.Bytes == 0 {
		t.Errorf("Java reads %+v and compacts %+v, leat reads %+v", theirs, compactedByJava, read)
	}
	run("read", &again)
	if again.Rows != read.Rows || again.Sum != read.Sum {
		t.Errorf("after the compactions that were taken back: %+v, before %+v", again, read)
	}
}
