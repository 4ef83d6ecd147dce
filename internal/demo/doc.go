// Package demo is `leat demo`: the main job shown on a real MySQL in a few
// minutes, with a crash in the middle, and checked row by row at the end.
//
// It makes orders and a live workload, runs configs/examples/orders.sql in a
// child process, kills that with SIGKILL while it is busy, lets it resume, stops
// the workload, catches up and compares source and lake. Every process it starts
// is ended by it. Start with demo.go.
package demo
