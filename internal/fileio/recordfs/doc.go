// Package recordfs wraps a fileio.FS and keeps a log of its calls as text, one
// line a call, so that a test can show a protocol as the file operations it makes:
//
//	create /t/bucket-0/data-1.parquet
//	commit /t/bucket-0/data-1.parquet 512
//	createexclusive /t/snapshot/snapshot-1 301
//	createexclusive /t/snapshot/snapshot-1 301: file exists already
//
// Reads are left out unless asked for. Names that differ from run to run are
// made equal by a Rewrite function; UUIDs become $1, $2 … in order of appearance.
// Start with recordfs.go.
package recordfs
