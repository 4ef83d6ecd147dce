// Package bench measures leat from outside: the built program as a child
// process, on data that are a function of their row number, beside the bare
// limits of the machine (draining a binlog, decoding it, scanning a table,
// writing sorted Parquet) in the same run.
//
// Workloads: W1 loads a table of orders; W2 works off a backlog of changes from
// a recorded binlog place on; W3 follows a steady rate and measures how long
// after its commit a transaction is visible; START takes the time from the
// start to the first visible row. FLUSH, READ and COMPACT are the merge tree
// alone: writing beside the bare encode of the same rows, reading and compacting
// five overlapping runs beside Paimon's Java library, warm, on the same table.
// QUERY is SELECTs beside DuckDB over what PyPaimon reads and over plain Parquet.
// FILES is data files alone, see package files. Every run is one JSON line. CPU seconds and peak memory are the kernel's
// figures for the child alone.
//
// Start with cmd/main.go, then run.go, and lakerun.go for the merge tree.
package bench
