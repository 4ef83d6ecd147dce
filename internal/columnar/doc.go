// Package columnar says what a row is: logical types with Paimon's names,
// schemas, row kinds, and change batches backed by Arrow arrays.
//
// A Batch is a set of equally long Arrow arrays plus one RowKind per row.
// Ownership: whoever receives a *Batch owns it and releases it or forwards it
// exactly once; whoever keeps it beyond that calls Retain first. Arrays inside
// a batch are never changed after the batch was made.
//
// Start with type.go, then batch.go. Arrow forms of the types: arrow.go.
package columnar
