// Package orc reads and writes files of the ORC format, version 1, as Arrow
// arrays in the forms of columnar.ArrowType.
//
// A Writer takes batches of columns and writes one file as Paimon's Java writer
// would: type attributes paimon.id, zone UTC, RLE version 2, dictionaries where
// they pay, a row index every 10,000 rows, and statistics that Java trusts and
// prunes by. A Reader takes whatever the format allows (both run-length
// versions, all encodings, every codec but LZO, any writer zone) and yields the
// wanted columns, found by name, leaving out the stripes and row groups that a
// Filter rules out.
//
// What holds: no read trusts a length before its bytes are there, so memory is
// bounded on any input; errors say *CorruptError for damage, *UnsupportedError
// for features beyond this package, and wrap those of the disk as they are.
// Days and wall clocks are proleptic Gregorian, whatever calendar a file claims,
// as Paimon has it. Of TIMESTAMP values in the last second before 1970 the
// format cannot keep the sub-second ones: readers see them a second late.
//
// Start with writer.go and reader.go. Columns: columns.go and colwrite*.go
// write, readerset.go and colread*.go read. Run-length encodings: rle2write.go,
// rle2read.go, rle1.go, byterle.go. The messages of the tail: meta.go, stat.go
// over wire.go.
package orc
