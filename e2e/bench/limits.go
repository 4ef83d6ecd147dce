package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// Limit is a single step in isolation, on one core: what no pipeline around it can beat.
type Limit struct {
	Name string
	// What says which part of the pipeline it stands for.
	What string
	run  func(ctx context.Context, in limitInput) (rows int64, err error)
}

// limitInput is what a limit works on.
type limitInput struct {
	Port     int    `json:"port"`
	ScanFrom string `json:"scan_from"`
	From     place  `json:"from"`
	To       place  `json:"to"`
	Rows     int64  `json:"rows"`
}

// Limits are all limits.
var Limits = []Limit{
	{"binlog-raw", "drain the binlog, no row decode", drainRaw},
	{"binlog-decode", "drain the binlog and decode rows into Arrow", drainDecode},
	{"binlog-library", "drain the binlog and decode rows as the library does", drainLibrary},
	{"scan", "SELECT * over the wire, no decode", scanTable},
	{"snapshot", "the source's snapshot of the same table with as many sessions: cut, decoded, dropped", readSnapshot},
	{"generate", "make the rows alone, to subtract from parquet", generateRows},
	{"parquet-zstd", "sorted rows with key, sequence number and kind to Parquet, zstd 1", writeParquet},
}

func syncer(in limitInput, cfg replication.BinlogSyncerConfig) *replication.BinlogSyncer {
	cfg.ServerID, cfg.Flavor, cfg.Host, cfg.Port, cfg.User = 7001, "mysql", "127.0.0.1", uint16(in.Port), "root"
	cfg.EventCacheCount, cfg.Logger = 10240, slog.New(slog.DiscardHandler)
	return replication.NewBinlogSyncer(cfg)
}

// drain reads events up to in.To and hands each to on.
func drain(ctx context.Context, in limitInput, cfg replication.BinlogSyncerConfig, on func(*replication.BinlogEvent) error) error {
	s := syncer(in, cfg)
	defer s.Close()
	st, err := s.StartSync(mysql.Position{Name: in.From.File, Pos: uint32(in.From.Pos)})
	if err != nil {
		return fmt.Errorf("starting the binlog dump: %w", err)
	}
	file := in.From.File
	for {
		ev, err := st.GetEvent(ctx)
		if err != nil {
			return fmt.Errorf("reading the binlog: %w", err)
		}
		if err := on(ev); err != nil {
			return err
		}
		if ev.Header.EventType == replication.ROTATE_EVENT {
			switch e := ev.Event.(type) {
			case *replication.RotateEvent:
				file = string(e.NextLogName)
			default: // raw mode: position and name stand between header and checksum
				file = string(ev.RawData[replication.EventHeaderSize+8 : len(ev.RawData)-replication.BinlogChecksumLength])
			}
		}
		if file >= in.To.File && uint64(ev.Header.LogPos) >= in.To.Pos {
			return nil
		}
	}
}

func drainRaw(ctx context.Context, in limitInput) (int64, error) {
	err := drain(ctx, in, replication.BinlogSyncerConfig{RawModeEnabled: true}, func(*replication.BinlogEvent) error { return nil })
	return in.Rows, err
}

// ordersPlan decodes all columns of the orders table.
func ordersPlan() (*mysqlrow.Plan, *columnar.Schema, error) {
	cols := []mysqlrow.Column{
		{Name: "order_id", DataType: "bigint", ColumnType: "bigint"},
		{Name: "user_id", DataType: "bigint", ColumnType: "bigint", Nullable: true},
		{Name: "order_amount", DataType: "decimal", ColumnType: "decimal(18,2)", Precision: 18, Scale: 2, Nullable: true},
		{Name: "order_status", DataType: "tinyint", ColumnType: "tinyint", Nullable: true},
		{Name: "create_time", DataType: "datetime", ColumnType: "datetime(3)", FractionDigits: 3, Nullable: true},
		{Name: "update_time", DataType: "datetime", ColumnType: "datetime(3)", FractionDigits: 3, Nullable: true},
		{Name: "dt", DataType: "varchar", ColumnType: "varchar(10)", Length: 10, Charset: "utf8mb4", Collation: "utf8mb4_0900_ai_ci"},
	}
	targets := make([]mysqlrow.Target, len(cols))
	schema := &columnar.Schema{}
	for i, c := range cols {
		t, err := mysqlrow.NaturalType(c)
		if err != nil {
			return nil, nil, err
		}
		targets[i] = mysqlrow.Target{Column: i, Type: t}
		schema.Fields = append(schema.Fields, columnar.Field{ID: i, Name: c.Name, Type: t})
	}
	p, err := mysqlrow.NewPlan(cols, targets, mysqlrow.Options{Table: "orders"})
	return p, schema, err
}

const batchRows = 8192

func drainDecode(ctx context.Context, in limitInput) (int64, error) {
	plan, schema, err := ordersPlan()
	if err != nil {
		return 0, err
	}
	b := mysqlrow.NewBuilder(plan, batchRows)
	var rows int64
	flush := func() error {
		rows += int64(b.Len())
		batch, err := b.Finish(schema)
		if err == nil {
			batch.Release()
		}
		return err
	}
	cfg := replication.BinlogSyncerConfig{RowsEventDecodeFunc: func(e *replication.RowsEvent, data []byte) error {
		r, err := mysqlrow.ParseRows(e, data)
		if err != nil || string(e.Table.Table) != "orders" {
			return err
		}
		l, err := plan.Bind(mysqlrow.TableMapOf(e.Table))
		if err == nil {
			err = b.AppendRows(l, r)
		}
		if err == nil && b.Len() >= batchRows {
			err = flush()
		}
		return err
	}}
	if err := drain(ctx, in, cfg, func(*replication.BinlogEvent) error { return nil }); err != nil {
		return 0, err
	}
	if err := flush(); err != nil {
		return 0, err
	}
	// Updates are two rows in the batch; the limit counts changes.
	return min(rows, in.Rows), nil
}

// drainLibrary lets the library decode the rows, into a slice of values each.
func drainLibrary(ctx context.Context, in limitInput) (int64, error) {
	var rows int64
	err := drain(ctx, in, replication.BinlogSyncerConfig{UseDecimal: true}, func(ev *replication.BinlogEvent) error {
		if e, ok := ev.Event.(*replication.RowsEvent); ok && string(e.Table.Table) == "orders" {
			rows += int64(len(e.Rows))
		}
		return nil
	})
	return min(rows, in.Rows), err
}

func scanTable(ctx context.Context, in limitInput) (int64, error) {
	c, err := client.ConnectWithContext(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(in.Port)), "root", "", "", 0)
	if err != nil {
		return 0, fmt.Errorf("connecting: %w", err)
	}
	defer c.Close()
	var rows int64
	var res mysql.Result
	err = c.ExecuteSelectStreaming("SELECT * FROM "+in.ScanFrom, &res, func([]mysql.FieldValue) error { rows++; return nil }, nil)
	if err != nil {
		return 0, fmt.Errorf("scanning: %w", err)
	}
	return rows, nil
}

func generateRows(_ context.Context, in limitInput) (int64, error) {
	var sum int64
	for id := range in.Rows {
		sum += makeOrder(id, 0).cents
	}
	if sum == 0 {
		return 0, fmt.Errorf("%d rows sum up to nothing", in.Rows)
	}
	return in.Rows, nil
}

func writeParquet(_ context.Context, in limitInput) (int64, error) {
	ts := &arrow.TimestampType{Unit: arrow.Millisecond}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "_KEY_order_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "_SEQUENCE_NUMBER", Type: arrow.PrimitiveTypes.Int64},
		{Name: "_VALUE_KIND", Type: arrow.PrimitiveTypes.Int8},
		{Name: "order_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "user_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "order_amount", Type: &arrow.Decimal128Type{Precision: 18, Scale: 2}, Nullable: true},
		{Name: "order_status", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		{Name: "create_time", Type: ts, Nullable: true},
		{Name: "update_time", Type: ts, Nullable: true},
		{Name: "dt", Type: arrow.BinaryTypes.String},
	}, nil)
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1),
		parquet.WithDictionaryDefault(true), parquet.WithMaxRowGroupLength(1<<20),
	)
	w, err := pqarrow.NewFileWriter(schema, io.Discard, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return 0, fmt.Errorf("opening the writer: %w", err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for lo := int64(0); lo < in.Rows; lo += batchRows {
		for id := lo; id < min(lo+batchRows, in.Rows); id++ {
			appendOrder(b, makeOrder(id, 0))
		}
		rec := b.NewRecordBatch()
		err := w.WriteBuffered(rec)
		rec.Release()
		if err != nil {
			return 0, fmt.Errorf("writing: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("closing: %w", err)
	}
	return in.Rows, nil
}

func appendOrder(b *array.RecordBuilder, o order) {
	b.Field(0).(*array.Int64Builder).Append(o.id)
	b.Field(1).(*array.Int64Builder).Append(o.id)
	b.Field(2).(*array.Int8Builder).Append(0)
	b.Field(3).(*array.Int64Builder).Append(o.id)
	b.Field(4).(*array.Int64Builder).Append(o.user)
	b.Field(5).(*array.Decimal128Builder).Append(decimal128.FromI64(o.cents))
	b.Field(6).(*array.Int8Builder).Append(o.status)
	b.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(o.create.UnixMilli()))
	b.Field(8).(*array.TimestampBuilder).Append(arrow.Timestamp(o.update.UnixMilli()))
	b.Field(9).(*array.StringBuilder).Append(o.dt)
}
