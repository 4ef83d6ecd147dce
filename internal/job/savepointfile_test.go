package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
)

func sample() *Savepoint {
	return &Savepoint{
		Name: "savepoint-1", Job: "orders", Key: "orders-1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), CommitUser: "user",
		Checkpoint: &dataflow.Checkpoint{
			ID: 7, Sources: map[string]dataflow.SourceState{"src": {Data: json.RawMessage(`{"pos":"<&>"}`)}},
			Sinks:     map[string]dataflow.SinkRecord{"sink": {Observed: json.RawMessage(`{"snapshot":3}`)}},
			Savepoint: &dataflow.SavepointRef{Name: "savepoint-1", Path: "/s"},
		},
		Tables: map[string]SavedTable{"sink": {Name: "lake.d.t", Location: "/lake/d.db/t", Relative: "d.db/t", Held: json.RawMessage(`{"snapshot":3}`)}},
	}
}

func TestSavepointFileIsReadBack(t *testing.T) {
	t.Parallel()
	b, err := encodeSavepoint(sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSavepoint("f", b)
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	// Marshalling escapes what HTML would take for its own; it means the same.
	want.Checkpoint.Sources["src"] = dataflow.SourceState{Data: json.RawMessage(`{"pos":"\u003c\u0026\u003e"}`)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestEveryDamageIsFound changes every byte of the file, and cuts it everywhere.
func TestEveryDamageIsFound(t *testing.T) {
	t.Parallel()
	whole, err := encodeSavepoint(sample())
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		got, err := decodeSavepoint("f", b)
		if err == nil && cmp.Equal(got.Checkpoint, mustDecode(t, whole).Checkpoint) {
			return // white space, or a word of the envelope that is not read
		}
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.CodeSavepoint || e.Hint == "" {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for i := range whole {
		b := append([]byte(nil), whole...)
		b[i] ^= 0x04
		check(fmt.Sprintf("byte %d changed", i), b)
		check(fmt.Sprintf("cut at %d", i), whole[:i])
	}
	for want, b := range map[string][]byte{
		"savepoint of Flink": append([]byte{0x49, 0x60, 0x67, 0x2d}, whole...),
		"is of version 2":    []byte(strings.Replace(string(whole), `"version":1`, `"version":2`, 1)),
	} {
		if _, err := decodeSavepoint("f", b); diag.DomainOf(err) != diag.User || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func mustDecode(t *testing.T, b []byte) *Savepoint {
	t.Helper()
	s, err := decodeSavepoint("f", b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSavepointFileUnderFaults writes it while a call goes wrong, and again
// afterwards: it is there whole, or not at all.
func TestSavepointFileUnderFaults(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"fail", "lie", "cut", "stop", "stop-after"} {
		disk := crashfs.New()
		fs := faultfs.New(disk, "createexclusive#1 "+action)
		err := writeSavepoint(t.Context(), fs, "/s", sample())
		if err != nil && !diag.Retryable(err) {
			t.Errorf("%s: %v", action, err)
		}
		if b, rerr := disk.ReadFile(t.Context(), "/s/_metadata"); rerr == nil {
			mustDecode(t, b)
		} else if err == nil {
			t.Errorf("%s: no error and no file", action)
		}
		fs.Set("")
		if err := writeSavepoint(t.Context(), fs, "/s", sample()); err != nil {
			t.Errorf("%s, again: %v", action, err)
		}
	}
}
