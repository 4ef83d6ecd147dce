// Package configs says how options are declared, parsed, checked and
// documented. An option is declared once, as a typed Option registered in a
// Set; from that declaration come parsing, defaults, "did you mean", the class
// (honoured, no meaning here, refused) and the output of `leat options`.
//
// The grammars of durations, sizes, booleans and enums are Flink's and Paimon's
// (TimeUtils, MemorySize). Keys keep their names to the letter.
//
// Start with option.go, then set.go. session.go declares the SET keys,
// lake.go the table options, known.tsv the other known keys of Flink and Paimon.
package configs
