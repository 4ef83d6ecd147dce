// Package avro reads and writes data files in Avro's container format, as
// Paimon's Java library lays them out, with columns in the forms of
// columnar.ArrowType.
//
// A column, element, value or field that may be null is a union of null and its
// type. A MAP of texts is a map of Avro, another one an array of records of key
// and value; a ROW is a record, found by the names of its fields. TIMESTAMP and
// TIMESTAMP_LTZ have the logical names that Avro gives the other of them, as in
// Java's files; values are units since the epoch either way. The Writer refuses
// what Java reads from no Avro file: more than 6 fraction digits of a timestamp
// or 3 of a time, a MULTISET of others than texts, VARIANT.
//
// No length is trusted before its bytes are there, so damaged files give errors
// and bounded memory. Start with writer.go and reader.go; schema.go has both
// directions of the schema, value.go writes values, decode.go and cursor.go read them.
package avro
