// Package catalog knows which databases and tables a Paimon warehouse holds and
// what they look like.
//
// FileSystem is Paimon's filesystem catalog: database <db> is the directory
// <db>.db below the warehouse, a table is a directory in it with at least one
// schema/schema-<id> file. There is no registry beside the directories, so
// every answer is read anew, and a table is created by the exclusive create of
// its schema-0: one winner among any number of creators.
//
// Validate repeats the checks that Paimon makes of a definition
// (SchemaValidation.java); CreateTable refuses what it refuses. Nothing here
// reads or writes rows.
//
// Start with filesystem.go; validate.go checks, define.go completes a definition.
package catalog
