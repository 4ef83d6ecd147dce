// Package harness is what the end-to-end tests share: the leat program as a
// child process, scripts, load on a source, and comparisons of a table by the
// readers of package judge.
//
// A test package calls Main from its TestMain, which builds the program once
// (or takes LEAT_BIN). A Job is a script in a folder of its own with warehouse
// and state directory; Start runs it as a Child that can be killed or stopped,
// Run runs it to its end. Nothing of the user's environment reaches the
// program. Load runs transactions on a server from several connections. Lake
// compares: rows, changelog, snapshot properties and the files on disk.
//
// Start with job.go.
package harness
