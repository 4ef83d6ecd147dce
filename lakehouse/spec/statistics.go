package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxStatistics bounds a statistics file: some 100,000 columns.
const maxStatistics = 64 << 20

// Statistics is a file that ANALYZE TABLE leaves for planners of queries
// (core … stats/Statistics.java).
type Statistics struct {
	SnapshotID int64 `json:"snapshotId"`
	SchemaID   int64 `json:"schemaId"`
	// MergedRecordCount counts rows after merging, MergedRecordSize is their size in bytes.
	MergedRecordCount *int64 `json:"mergedRecordCount"`
	MergedRecordSize  *int64 `json:"mergedRecordSize"`
	// Columns is the JSON object of the statistics by column.
	Columns json.RawMessage `json:"colStats"`
}

// ParseStatistics reads statistics/stat-….
func ParseStatistics(b []byte) (*Statistics, error) {
	if len(b) > maxStatistics {
		return nil, fmt.Errorf("reading statistics: %d bytes are too many", len(b))
	}
	s := Statistics{}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("reading statistics: %w", err)
	}
	if len(s.Columns) == 0 {
		s.Columns = json.RawMessage("{}")
	}
	var columns map[string]struct {
		ID *int32 `json:"colId"`
	}
	if err := json.Unmarshal(s.Columns, &columns); err != nil {
		return nil, fmt.Errorf("reading statistics: %w", err)
	}
	for name, c := range columns {
		if c.ID == nil {
			return nil, fmt.Errorf("reading statistics: column %q has no id", name)
		}
	}
	if s.SnapshotID < 0 || s.SchemaID < 0 {
		return nil, errors.New("reading statistics: negative id")
	}
	return &s, nil
}

// ColumnText gives the statistics by column as the system table shows them.
func (s *Statistics) ColumnText() (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, s.Columns); err != nil {
		return "", fmt.Errorf("writing statistics: %w", err)
	}
	return string(layOutJSON(b.Bytes())), nil
}
