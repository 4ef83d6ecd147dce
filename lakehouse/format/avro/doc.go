// Package avro reads and writes data files in Avro's container format, as
// Paimon's Java library lays them out, with columns in the forms of
// columnar.ArrowType.
//
// Columns are flat: the Writer refuses nested ones, the Reader skips them. A
// column that may be null is a union of null and its type. TIMESTAMP and
// TIMESTAMP_LTZ have the logical names that Avro gives the other of them, as in
// Java's files; values are units since the epoch either way.
//
// No length is trusted before its bytes are there, so damaged files give errors
// and bounded memory. Start with writer.go and reader.go; schema.go has both
// directions of the schema, value.go and cursor.go the values.
package avro
