// Package cdc reads MySQL: tables in chunks and, at the same time, the binlog,
// without a gap, a doubled row or a lock.
//
// One Reader reads all tables of one server into as many ports. It does not
// know what becomes of the rows, and decodes none itself: package mysqlrow turns
// bytes into columns.
//
// Goroutines:
//
//	network   dumper.run: packets of the binlog connection → events → queue (bounded in bytes)
//	decoding  Reader.Run: events → builders → batches, chunks, barriers; the only one that emits
//	chunks    snapshot.run: a few sessions that read ranges of keys
//	monitor   how far the server's log is, for lag
//
// A chunk and the stream meet by two marks (chunk, sequencer): low is a set of
// transactions that the chunk's view holds for sure, high a place in the log
// beyond the view. The range is marked first, at an edge of the stream, so that
// its row changes are kept from then on; low is read only when it holds all that
// the stream has passed by then, so that what was dropped before is in the view;
// high is read right after the view was opened. Once the stream has passed high,
// the kept changes are merged by key and the rows leave as of that edge.
//
// What always holds:
//   - a barrier stands between two transactions, and a position is the place of one;
//   - a row change is emitted, kept, or dropped, never two of them;
//   - an update that moves a row to another key or range is a delete and an insert;
//   - a batch holds both rows of a -U/+U pair;
//   - a broken connection goes on after the last edge; rows of the open
//     transaction that were applied before are passed over by counting events.
//
// Start with reader.go, then stream.go (the loop), apply.go, sequencer.go, snapshot.go,
// dump.go and event.go. checks.go holds the start-up checks, follow.go and carry.go what happens on DDL,
// evolve.go how columns follow, xa.go and mariadb.go what those need.
package cdc
