// Package files measures the writing and reading of data files, ORC and
// Parquet, beside Paimon's Java library and pyarrow: the same files, in the
// same run, in turns, each engine in one process that stays warm.
//
// A table of orders and one of 120 columns are made and written by leat; every
// engine then reads the same files, and writes the rows it holds in memory.
// Rows a CPU second (of the whole process, collector and compiler included) and
// rows a second are the medians of the rounds after the warm-up.
//
// Start with run.go; tables.go makes the rows. The engines speak the same words:
// peer.go is leat, peer.py pyarrow, FileBench of e2e/oracle Java.
package files
