// Package faultfs wraps a fileio.FS and makes chosen calls go wrong.
//
// What goes wrong is written as rules, in text (see Parse):
//
//	commit#3 fail; createexclusive#1[snapshot-] lie; write#2 cut; any#17 stop
//
// A rule counts the calls it applies to and acts on the n-th. fail does nothing
// and reports an error; lie does the work and reports an error (the ambiguous
// answer of a store); cut does a part (half of a write, an exclusive create that
// leaves only an invisible temporary file); stop is a process that dies before
// the call: it and every later call fail; stop-after dies right after it.
// Counts tells how many calls were made, so that a test can first run a sequence
// undisturbed and then once for every call in it.
//
// Start with faultfs.go; rule.go reads rules.
package faultfs
