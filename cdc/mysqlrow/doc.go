// Package mysqlrow turns MySQL rows, as the wire carries them, into columns:
// binlog row images and rows of the text protocol go straight from bytes into
// typed column buffers, without a row ever existing in between. Both ways give
// equal cells for every supported type, because each has its own reader of
// bytes but shares the function that stores the value.
//
// It knows nothing of connections, positions, chunks or transactions; package
// cdc owns those.
//
// The way of a table:
//
//	cols                                        from information_schema.columns
//	CheckDeclared(col, typ) / NaturalType(col)  at planning time
//	plan, err := NewPlan(cols, targets, opt)    once a table version; immutable, shared
//	b := NewBuilder(plan, 8192)                 one a goroutine
//
//	snapshot: run SessionStatements, SELECT plan.SelectList() …, then per packet
//	          b.AppendText(columnar.Insert, packet); KeySelect, ParseEdge and Between
//	          cut the table by ranges of its chunk key
//	binlog:   layout, err := plan.Bind(TableMapOf(e.Table))   cheap if unchanged
//	          rows, err := ParseRows(e, data)                 in RowsEventDecodeFunc
//	          b.AppendRows(layout, rows)                      a whole event, or
//	          layout.ForEach(rows, func(before, after []byte) error {
//	              key, err = layout.AppendChunkKey(key, after)  for range tests
//	              err = b.AppendImage(layout, kind, after)
//	          })
//	batch, err := b.Finish(schema)              Arrow arrays without a copy
//
// Invariants: Plan and Layout never change after they were made. A Builder
// whose Append failed holds the rows it held before. Nothing keeps the bytes it
// is given beyond the call. Bytes from the wire never cause a panic.
//
// Start with column.go and types.go, then plan.go, layout.go, builder.go.
package mysqlrow
