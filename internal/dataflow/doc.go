// Package dataflow runs a graph of operators under barrier checkpoints
// (Chandy-Lamport) with two-phase commit at the sinks.
//
// A Graph is sources, chains of operators and sinks joined by channels bounded
// in bytes. The Coordinator triggers barrier n; every source injects it at its
// next edge between source transactions; an operator with several inputs aligns;
// a sink freezes what it wrote and acknowledges when that is durable. When all
// have acknowledged, one entry in the checkpoint log makes checkpoint n count,
// and only then the sinks commit n.
//
// What always holds:
//   - a barrier never stands inside a source transaction;
//   - an entry is written once, by an exclusive create: who loses is fenced, stops and deletes nothing;
//   - commit(n) follows entry n, in order, and may be repeated after any crash;
//   - a failed checkpoint takes nothing back: its committables ride in the next entry;
//   - at most one completed checkpoint is uncommitted.
//
// Start with source.go, operator.go and sink.go (the contracts), then graph.go,
// task.go and coordinator.go. The log is in dataflow/checkpoint.
package dataflow
