// Package crashfs is a fileio.FS in memory that can lose power.
//
// It is the plainest file system that keeps the contract, and no more than the
// contract: what Create+Commit, CreateExclusive and Replace confirmed survives a
// Crash; a removal that was confirmed may come undone, since removals are
// nowhere promised to be durable, unless a file of the folder was confirmed
// afterwards; files in the making are lost or leave their
// temporary file. After Crash the old handle fails every call, as the dead
// process would, and the returned handle sees what the disk kept.
//
// Without crashing it serves as the in-memory file system of tests. Start with crashfs.go.
package crashfs
