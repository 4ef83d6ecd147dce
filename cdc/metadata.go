package cdc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// Metadata keys of a mysql-cdc table. The first four are Flink CDC's; rows of a
// snapshot have the time 0 and no place in the log.
const (
	MetaTable    = "table_name"
	MetaDatabase = "database_name"
	MetaTime     = "op_ts"
	MetaKind     = "row_kind"
	// MetaGTID is the transaction, NULL on a server without GTIDs.
	MetaGTID = "gtid"
	// MetaFile and MetaPos are where the transaction begins in the binlog.
	MetaFile = "binlog_file"
	MetaPos  = "binlog_pos"
	// MetaSeq counts the row changes of the table within the transaction, from 0.
	MetaSeq = "tx_seq"
	// MetaNone marks a column that is computed later; it is NULL until then.
	MetaNone = "none"
	// MetaSnapshot says that the row was read from the table.
	MetaSnapshot = "is_snapshot"
)

// MetadataKeys lists the metadata keys with their types.
func MetadataKeys() map[string]columnar.DataType {
	text := columnar.StringType()
	return map[string]columnar.DataType{
		MetaTable: text.NotNull(), MetaDatabase: text.NotNull(), MetaKind: text.NotNull(),
		MetaTime: columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}.NotNull(),
		MetaGTID: text, MetaFile: text, MetaPos: columnar.Of(columnar.BigInt),
		MetaSeq: columnar.Of(columnar.BigInt), MetaSnapshot: columnar.Of(columnar.Boolean).NotNull(),
	}
}

// origin is the transaction of row changes that follow each other in a batch.
type origin struct {
	rows   int
	id     gtid
	millis int64
	file   string
	offset uint64
	// seq is the number of the first row within its transaction.
	seq int64
}

// origins are the transactions of the rows that wait in a table's builder.
type origins struct {
	list []origin
	// tracked says that a metadata column needs them.
	tracked bool
	// of and next count the rows of the transaction at hand.
	of   gtid
	from uint64
	next int64
}

// add takes n rows of the transaction that e belongs to.
func (o *origins) add(tx *openTxn, n int) {
	if !o.tracked || n == 0 {
		return
	}
	if o.of != tx.id || o.from != tx.offset {
		o.of, o.from, o.next = tx.id, tx.offset, 0
	}
	o.list = append(o.list, origin{rows: n, id: tx.id, millis: tx.millis, file: tx.file, offset: tx.offset, seq: o.next})
	o.next += int64(n)
}

// take gives what was added and begins anew.
func (o *origins) take() []origin {
	list := o.list
	o.list = nil
	if list == nil {
		list = []origin{} // nil means a snapshot
	}
	return list
}

// tracks reports whether a column of the table needs the origin of its rows.
func (t *Table) tracks() bool {
	for _, key := range t.Metadata {
		switch key {
		case MetaTime, MetaGTID, MetaFile, MetaPos, MetaSeq:
			return true
		}
	}
	return false
}

// metadataColumn makes the metadata column i for the rows of b. from are the
// transactions of the rows, nil for rows of a snapshot.
func (t *table) metadataColumn(i int, b *columnar.Batch, from []origin) arrow.Array {
	key := t.def.metadata(i)
	switch key {
	case MetaTable, MetaDatabase, MetaKind:
		return t.names(key, b)
	case MetaNone:
		return array.MakeArrayOfNull(memory.DefaultAllocator, columnar.ArrowType(t.def.Schema.Fields[i].Type), b.Rows())
	case MetaSnapshot:
		return snapshotFlags(b, from == nil)
	case MetaGTID, MetaFile:
		return texts(b.Rows(), from, func(o origin) (string, bool) {
			if key == MetaFile {
				return o.file, o.file != ""
			}
			return o.id.String(), o.id.gno != 0
		})
	case MetaTime:
		ints := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"})
		defer ints.Release()
		ints.Reserve(b.Rows())
		if from == nil {
			for range b.Rows() {
				ints.UnsafeAppend(0)
			}
		}
		for _, o := range from {
			for range o.rows {
				ints.UnsafeAppend(arrow.Timestamp(o.millis))
			}
		}
		return ints.NewArray()
	default:
		return places(b.Rows(), from, key == MetaSeq)
	}
}

// names makes a column of the names of table or database, or of the row kinds.
func (t *table) names(key string, b *columnar.Batch) arrow.Array {
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	defer sb.Release()
	sb.Reserve(b.Rows())
	text := t.def.Name
	if key == MetaDatabase {
		text = t.def.Database
	}
	for row := range b.Rows() {
		if key == MetaKind {
			text = b.Kind(row).String()
		}
		sb.Append(text)
	}
	return sb.NewArray()
}

// snapshotFlags makes a column that says of each row whether it was read from the table.
func snapshotFlags(b *columnar.Batch, snapshot bool) arrow.Array {
	bb := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer bb.Release()
	bb.Reserve(b.Rows())
	for range b.Rows() {
		bb.UnsafeAppend(snapshot)
	}
	return bb.NewArray()
}

// texts makes a column of one text for each transaction; without any it is NULL.
func texts(rows int, from []origin, text func(origin) (string, bool)) arrow.Array {
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	defer sb.Release()
	sb.Reserve(rows)
	if from == nil {
		sb.AppendNulls(rows)
	}
	for _, o := range from {
		s, known := text(o)
		if !known {
			sb.AppendNulls(o.rows)
			continue
		}
		for range o.rows {
			sb.Append(s)
		}
	}
	return sb.NewArray()
}

// places makes the column of places in the log, or of numbers within the transaction.
func places(rows int, from []origin, seq bool) arrow.Array {
	ib := array.NewInt64Builder(memory.DefaultAllocator)
	defer ib.Release()
	ib.Reserve(rows)
	if from == nil {
		ib.AppendNulls(rows)
	}
	for _, o := range from {
		for i := range o.rows {
			if seq {
				ib.UnsafeAppend(o.seq + int64(i))
			} else {
				ib.UnsafeAppend(int64(o.offset))
			}
		}
	}
	return ib.NewArray()
}
