// Package format writes and reads the data files of a table: Parquet here, ORC
// in the sub-package orc.
//
// A Writer takes Arrow columns in the forms of columnar.ArrowType and writes
// one Parquet file whose schema is the one Paimon's own writer makes (message
// name, field ids, physical and logical types, V1 data pages). A Reader yields
// Arrow batches of the wanted columns, whatever of the allowed encodings the
// file has. The mapping between Arrow and Parquet is our own: it works on
// whole slices and has no per-cell dispatch.
//
// Encodings written: dictionary while that is the smallest, else DELTA_BINARY_PACKED
// for integers, decimals and timestamps stored as such, and PLAIN for the rest;
// levels are RLE. The byte-array delta encodings and BYTE_STREAM_SPLIT are never
// written: Java Paimon 1.3.1 reads the first wrongly and refuses the second.
//
// Integers and bytes are encoded here (chunkpages.go, intchunk.go, byteschunk.go,
// hybrid.go), other types by the library's chunk writers; its page writer makes
// the pages of both.
//
// A page has 20,000 rows at most, and the page index behind the last row group says
// where pages begin and what values they can hold (pageindex.go). Readers with a
// Filter leave out row groups (groupskip.go) and then pages (pageskip.go), in files
// of any writer that has an index.
//
// A nested column is one tree of leaves. Going down it, levelNode turns Arrow
// lists, maps and structs into levels a whole array at a time (nestedwriter.go);
// coming back, leafPages cuts the levels of each leaf at rows and nestedNode
// makes arrays of them (leafpages.go, nestedreader.go). Fields of rows are found
// by name. Nested columns have null counts but no minimum
// and maximum.
//
// Start with writer.go, then reader.go; schema.go and nested.go have the types.
package format
