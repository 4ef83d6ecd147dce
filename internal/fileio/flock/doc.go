// Package flock is an advisory lock on a local file that ends with its process.
//
// The kernel releases it however the process ends, so a dead holder never has to
// be guessed from a pid. The file stays behind; it holds a few bytes by which the
// holder describes itself. There is one file: flock.go.
package flock
