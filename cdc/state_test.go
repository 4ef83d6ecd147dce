package cdc

import (
	"encoding/json"
	"errors"
	"testing"

	"leat/internal/diag"
)

// TestStatesOfEarlierVersions reads states as programs before version 2 wrote
// them: whole tables go on, ranges of integers are refused with the way out.
func TestStatesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		snapshot string
		refused  bool
	}{
		{`{"done": true}`, false},
		{`{}`, false},
		{`{"edge": "0"}`, false},
		{`{"edge": "1500"}`, true},
		{`{"edge": "0", "ranges": [["1500", "3000"]]}`, true},
	} {
		s, err := readState(json.RawMessage(`{"version": 1, "file": "binlog.000001", "offset": 4, "tables": {"d.t": {"snapshot": ` + c.snapshot + `}}}`))
		if err == nil {
			_, err = s.Tables["d.t"].Snapshot.set(nil)
		}
		var e *diag.Error
		if refused := errors.As(err, &e) && e.Domain == diag.Guard && e.Hint != ""; refused != c.refused || err != nil && !refused {
			t.Errorf("%s: refused is %v, want %v: %v", c.snapshot, refused, c.refused, err)
		}
	}
	if _, err := readState(json.RawMessage(`{"version": 3}`)); diag.DomainOf(err) != diag.Guard {
		t.Errorf("a later version gives %v", err)
	}
}
