// Package local is fileio.FS on local disks.
//
// A new file is written under a temporary name in its own folder
// (".NAME.UUID.tmp") and moved to its final name by a rename that refuses to
// overwrite: among any number of writers one wins, and no reader sees part of a file.
// CreateExclusive and Replace have the content durable before the name. Data files
// (Create) get both at once, and the files of a batch are written under their final
// names: after a loss of power their names may show part of a file, but nothing
// durable names them then.
//
// What waits for the disk waits together: see syncer. A hint waits for nothing.
// Temporary files of a dead process stay behind under their dotted name; List
// shows them, readers of the table format pass over them.
//
// Start with local.go; write.go holds the publishing steps, batch.go those of files
// that come together, names.go what must last of folders, sync.go the group commit, errors.go what the
// operating system's errors mean to a person.
package local
