package cdc

import "testing"

// TestStoredTablesLeaveOutUnknownColumns is about a column that came and went while
// nobody looked: the table is one of the job all the same.
func TestStoredTablesLeaveOutUnknownColumns(t *testing.T) {
	t.Parallel()
	list, err := StoredTables([]byte(`{"version":2,"server_uuid":"u","tables":{"db.t":{"database":"db","name":"t","primary":["id"],
		"columns":[{"Name":"id","DataType":"int","ColumnType":"int"},{"Name":"w","DataType":"unknown","ColumnType":"unknown"}]}}}`))
	if err != nil || len(list) != 1 || len(list[0].Columns) != 1 || list[0].Columns[0].Name != "id" || list[0].PrimaryKey[0] != "id" {
		t.Errorf("%+v, %v", list, err)
	}
}
