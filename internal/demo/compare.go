package demo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/big"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
)

// sum describes a set of order rows without regard to their order.
type sum struct {
	rows int64
	// ids counts distinct order ids.
	ids    map[int64]struct{}
	amount big.Int // cents
	hash   uint64
}

// order is a row in the form both sides are reduced to; text holds the columns
// as MySQL prints them, "\\N" for NULL.
func (s *sum) add(id int64, cents int64, fields []string) {
	s.rows++
	s.ids[id] = struct{}{}
	s.amount.Add(&s.amount, big.NewInt(cents))
	h := fnv.New64a()
	var n [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(n[:], uint64(len(f)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(f))
	}
	// A sum of well-mixed hashes does not depend on the order of the rows.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	s.hash += x ^ x>>31
}

func (s *sum) money() string {
	q, r := new(big.Int).QuoRem(&s.amount, big.NewInt(100), new(big.Int))
	return fmt.Sprintf("%s.%02d", q, r.Abs(r).Int64())
}

func (s *sum) equal(o *sum) bool {
	return s.rows == o.rows && len(s.ids) == len(o.ids) && s.amount.Cmp(&o.amount) == 0 && s.hash == o.hash
}

const null = `\N`

// sourceSum reads the table of the source.
func (r *run) sourceSum() (*sum, error) {
	out := &sum{ids: map[int64]struct{}{}}
	const q = "SELECT order_id, user_id, order_amount, order_status, create_time, update_time, DATE_FORMAT(create_time, '%Y-%m-%d') FROM orders"
	var res mysql.Result
	var bad error
	err := r.src.conn.ExecuteSelectStreaming(q, &res, func(row []mysql.FieldValue) error {
		fields := make([]string, len(row))
		for i := range row {
			fields[i] = fieldText(&row[i])
		}
		id, err := strconv.ParseInt(fields[0], 10, 64)
		cents, err2 := cents(fields[2])
		bad = errors.Join(bad, err, err2)
		out.add(id, cents, fields)
		return nil
	}, nil)
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	return out, nil
}

func fieldText(v *mysql.FieldValue) string {
	switch v.Type {
	case mysql.FieldValueTypeNull:
		return null
	case mysql.FieldValueTypeString:
		return string(v.AsString())
	case mysql.FieldValueTypeUnsigned:
		return strconv.FormatUint(v.AsUint64(), 10)
	default:
		return strconv.FormatInt(v.AsInt64(), 10)
	}
}

// cents reads an amount with two digits behind the point.
func cents(text string) (int64, error) {
	if text == null {
		return 0, nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("'%s' is not an amount", text)
	}
	return new(big.Int).Quo(new(big.Int).Mul(r.Num(), big.NewInt(100)), r.Denom()).Int64(), nil
}

// lakeSum reads the latest snapshot of the lake table.
func (r *run) lakeSum(ctx context.Context, t *lakehouse.Table) (*sum, error) {
	out := &sum{ids: map[int64]struct{}{}}
	plan, err := t.ScanPlan(ctx, lakehouse.ScanOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the lake: %w", err)
	}
	for i := range plan.Splits {
		if err := out.addSplit(plan.Read(ctx, &plan.Splits[i])); err != nil {
			return nil, fmt.Errorf("reading the lake: %w", err)
		}
	}
	return out, nil
}

func (s *sum) addSplit(r *lakehouse.SplitReader) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.addBatch(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}

func (s *sum) addBatch(b *columnar.Batch) error {
	ids, ok := b.Cols[0].(*array.Int64)
	amounts, ok2 := b.Cols[2].(*array.Decimal128)
	if !ok || !ok2 {
		return fmt.Errorf("the lake table has other columns than the demo made: %v", b.Schema.Names())
	}
	fields := make([]string, len(b.Cols))
	for i := range b.Rows() {
		for c, a := range b.Cols {
			fields[c] = cellText(a, i)
		}
		cents := int64(0)
		if amounts.IsValid(i) {
			cents = amounts.Value(i).BigInt().Int64()
		}
		s.add(ids.Value(i), cents, fields)
	}
	return nil
}

func cellText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return null
	}
	switch v := a.(type) {
	case *array.Timestamp:
		return time.UnixMilli(int64(v.Value(i))).UTC().Format("2006-01-02 15:04:05.000")
	case *array.Decimal128:
		return v.Value(i).ToString(v.DataType().(*arrow.Decimal128Type).Scale)
	default:
		return a.ValueStr(i)
	}
}

// compare prints source and lake side by side.
func (r *run) compare(ctx context.Context) error {
	t, err := lakehouse.Open(ctx, local.New(), filepath.Join(r.warehouse(), "shop.db", "dwd_order_detail"))
	if err != nil {
		return err
	}
	src, err := r.sourceSum()
	if err != nil {
		return err
	}
	lake, err := r.lakeSum(ctx, t)
	if err != nil {
		return err
	}
	r.say("source and lake")
	w := tabwriter.NewWriter(r.opt.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tMySQL\tPaimon\t")
	fmt.Fprintf(w, "rows\t%d\t%d\t\n", src.rows, lake.rows)
	fmt.Fprintf(w, "COUNT(DISTINCT order_id)\t%d\t%d\t\n", len(src.ids), len(lake.ids))
	fmt.Fprintf(w, "SUM(order_amount)\t%s\t%s\t\n", src.money(), lake.money())
	fmt.Fprintf(w, "row hash\t%016x\t%016x\t\n", src.hash, lake.hash)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if err := r.lastSnapshots(ctx, t); err != nil {
		return err
	}
	if !src.equal(lake) {
		return ErrDiffers
	}
	r.next()
	return nil
}

func (r *run) lastSnapshots(ctx context.Context, t *lakehouse.Table) error {
	r.say("the last snapshots and the source position each ends with")
	last, err := t.LatestSnapshot(ctx)
	if err != nil || last == nil {
		return err
	}
	w := tabwriter.NewWriter(r.opt.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "snapshot\tkind\ttime\tcheckpoint\tcomplete\tgtid\tfile:pos")
	for id := max(1, last.ID-4); id <= last.ID; id++ {
		s, err := t.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		p := s.Properties
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s:%s\n", s.ID, s.CommitKind, time.UnixMilli(s.TimeMillis).Format(time.TimeOnly), p["leat.checkpoint"], p["leat.source.complete"], p["leat.source.gtid"], p["leat.source.file"], p["leat.source.pos"])
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

func (r *run) next() {
	r.say("equal; what to try next")
	fmt.Fprintf(r.opt.Out, `   the script           %s
   the table            %s
   read it elsewhere    pip install pypaimon, or CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s') in Flink or Spark
   your own server      leat demo --mysql mysql://user:password@host:3306/database
   your own script      leat run orders.sql; leat options; leat run --help
`, r.script(), filepath.Join(r.warehouse(), "shop.db", "dwd_order_detail"), r.warehouse())
}
