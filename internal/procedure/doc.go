// Package procedure is what CALL sys.name(…) runs: maintenance of tables by the
// names, arguments and results of Paimon's own procedures.
//
// Find gives a procedure by name, Bind turns positional or named arguments into
// values (positional ones by their types too, so that
// rollback_to('db.t', 3) means the snapshot and not the tag), Run carries the
// call out and gives its rows. Procedures that leat does not run say why.
//
// Start with registry.go; tables.go holds the work on snapshots and tags,
// files.go that on files and partitions.
package procedure
