// Package systable gives the system tables of a table: what its metadata says,
// as rows with the columns that Paimon's own system tables have (t$snapshots,
// t$files and so on; core … table/system).
//
// Schema says which columns a system table has, Read gives its rows as one
// batch. t$ro and t$audit_log are scans of the table itself and are not here.
// Values of statistics and partitions are rendered as Java renders them.
//
// Start with table.go; sheet.go builds rows, text.go renders values.
package systable
