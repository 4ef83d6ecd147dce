// Package local is fileio.FS on local disks.
//
// A new file is written under a temporary name in its own folder
// (".NAME.UUID.tmp"), synced, linked to its final name and the folder synced:
// link(2) refuses to overwrite, so among any number of writers one wins, and a
// name never shows part of a file. Replace renames over the old file instead.
// Temporary files of a dead process stay behind under their dotted name; List
// shows them, readers of the table format pass over them.
//
// Start with local.go; write.go holds the publishing steps, errors.go what the
// operating system's errors mean to a person.
package local
