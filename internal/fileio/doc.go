// Package fileio is the narrow contract with local disks and object stores, and
// nothing else.
//
// FS has the few operations the table format and the checkpoint log need:
// ranged reads, streaming writes that become visible whole, an exclusive create
// (the commit point), atomic replacement for hint files, listing and removal.
// Durability: when Create, CreateExclusive or Replace returns nil, the content
// and its name survive a crash of the machine.
//
// Sub-packages: local (disks), faultfs (fails or cuts the n-th call), crashfs
// (loses what was not synced), recordfs (writes a log of the calls), fileiotest
// (the suite every FS passes). Start with fs.go.
package fileio
