// Package job builds a dataflow from a plan and keeps it alive: identity, state
// directory, resume guards, restart strategy, control socket.
//
// Run is the life of a job: take its lock, read its checkpoint log, decide how to
// start, check the outside world, carry out the DDL of the script, take over,
// build the graph, run it, and restart it after failures that may pass. It is the
// only place that decides about retrying (restart.go).
//
// What always holds: nothing outside is changed before all checks have passed;
// a known job whose tables are gone or are others is refused, never begun anew.
//
// Start with run.go, then build.go. control.go is what `leat job` talks to.
package job
