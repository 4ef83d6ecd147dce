// Package datafile writes and reads data files of any format a table may have:
// one way in front of the packages format (Parquet), orc and avro.
//
// Create takes the format from its options, Open from the extension of the
// file's name, as files of several formats are normal in one table. ByLevel
// holds the options of a table whose levels differ.
//
// Start with datafile.go; options.go says what each format takes.
package datafile
