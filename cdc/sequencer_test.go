package cdc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// twoColumns is a table (id BIGINT, v BIGINT) with or without a key and chunks.
func twoColumns(t interface{ Fatal(...any) }, keyed, chunked bool) (*table, *mysqlrow.Layout) {
	long := mysqlrow.Column{DataType: "bigint", ColumnType: "bigint"}
	id, v := long, long
	id.Name, v.Name = "id", "v"
	src := &sourceTable{columns: []mysqlrow.Column{id, v}}
	if keyed {
		src.primary = []string{"id"}
	}
	tb := &table{def: Table{Database: "d", Name: "t", Schema: &columnar.Schema{Fields: []columnar.Field{
		{Name: "id", Type: columnar.Of(columnar.BigInt)}, {Name: "v", Type: columnar.Of(columnar.BigInt)},
	}}}}
	if chunked {
		tb.def.ChunkKey = "id"
	}
	if err := tb.adopt(src, mysqlrow.Options{}); err != nil {
		t.Fatal(err)
	}
	tb.resetSequencer(rangeSet{})
	l, err := tb.plan.Bind(mysqlrow.TableMap{Types: []byte{mysql.MYSQL_TYPE_LONGLONG, mysql.MYSQL_TYPE_LONGLONG}, Meta: []uint16{0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	return tb, l
}

func image(id, v int64) []byte {
	b := []byte{0}
	b = binary.LittleEndian.AppendUint64(b, uint64(id))
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

// change is a row change of the model; a nil side is no row.
type change struct{ before, after *[2]int64 }

func (c change) rows() mysqlrow.Rows {
	r := mysqlrow.Rows{Columns: 2, Present: []byte{3}, PresentAfter: []byte{3}}
	switch {
	case c.before == nil:
		r.Op, r.Data = mysqlrow.OpInsert, image(c.after[0], c.after[1])
	case c.after == nil:
		r.Op, r.Data = mysqlrow.OpDelete, image(c.before[0], c.before[1])
	default:
		r.Op, r.Data = mysqlrow.OpUpdate, append(image(c.before[0], c.before[1]), image(c.after[0], c.after[1])...)
	}
	return r
}

// model is a server with one table, and a stream and chunk reads of it in any order.
type model struct {
	t       *rapid.T
	table   *table
	layout  *mysqlrow.Layout
	keyed   bool
	history []map[int64]int64 // the table after each transaction
	log     [][]change
	passed  int // transactions that the stream applied
	chunks  []*modelChunk
	copy    map[int64]int64
	again   int
}

type modelChunk struct {
	*chunk
	passed, view int // view is -1 until it was opened
	read         bool
	next         int64 // the first id that was not delivered
}

const ids = 30

var sid = uuid.MustParse("11111111-2222-3333-4444-555555555555")

// offset is the end of transaction n (from 1) in the model's log.
func offset(n int) uint64 { return uint64(100 * n) }

// commit makes a random transaction.
func (m *model) commit() {
	now := maps.Clone(m.history[len(m.history)-1])
	var txn []change
	for range rapid.IntRange(0, 3).Draw(m.t, "changes") {
		id := rapid.Int64Range(-ids/2, ids/2).Draw(m.t, "id")
		v := rapid.Int64Range(0, 1000).Draw(m.t, "value")
		old, exists := now[id]
		before := &[2]int64{id, old}
		to := rapid.Int64Range(-ids/2, ids/2).Draw(m.t, "to")
		_, taken := now[to]
		switch {
		case !exists:
			now[id] = v
			txn = append(txn, change{nil, &[2]int64{id, v}})
		case v < 300:
			delete(now, id)
			txn = append(txn, change{before, nil})
		case v < 600 && !taken:
			delete(now, id)
			now[to] = v
			txn = append(txn, change{before, &[2]int64{to, v}})
		default:
			now[id] = v
			txn = append(txn, change{before, &[2]int64{id, v}})
		}
	}
	m.log = append(m.log, txn)
	m.history = append(m.history, now)
}

// stream applies the next transaction.
func (m *model) stream() {
	if m.passed == len(m.log) {
		return
	}
	for _, c := range m.log[m.passed] {
		if err := m.table.seq.apply(m.layout, c.rows()); err != nil {
			m.t.Fatal(err)
		}
	}
	m.passed++
	m.table.seq.commit(gtid{sid: sid, gno: int64(m.passed)}, "log.1", offset(m.passed))
	m.flush()
}

func (m *model) flush() {
	b, err := m.table.seq.out.Finish(m.table.schema)
	if err != nil {
		m.t.Fatal(err)
	}
	m.fold(b)
}

// fold takes a batch into the copy, strictly.
func (m *model) fold(b *columnar.Batch) {
	id, ok := b.Cols[0].(*array.Int64)
	v, ok2 := b.Cols[1].(*array.Int64)
	if !ok || !ok2 {
		m.t.Fatal("wrong columns")
	}
	for i := range b.Rows() {
		if b.Kind(i) == columnar.UpdateBefore && (i+1 == b.Rows() || b.Kind(i+1) != columnar.UpdateAfter || m.keyed && id.Value(i+1) != id.Value(i)) ||
			b.Kind(i) == columnar.UpdateAfter && (i == 0 || b.Kind(i-1) != columnar.UpdateBefore) {
			m.t.Fatalf("row %d is %s, alone", i, b.Kind(i))
		}
		have, present := m.copy[id.Value(i)]
		if b.Kind(i).Retracts() {
			if !present || have != v.Value(i) {
				m.t.Fatalf("%s of %d=%d, the copy holds %d (%v)", b.Kind(i), id.Value(i), v.Value(i), have, present)
			}
			delete(m.copy, id.Value(i))
			continue
		}
		if present {
			m.t.Fatalf("%s of %d=%d, the copy holds %d", b.Kind(i), id.Value(i), v.Value(i), have)
		}
		m.copy[id.Value(i)] = v.Value(i)
	}
	b.Release()
}

// begin marks the next range, of random size.
func (m *model) begin() {
	if len(m.chunks) >= 3 {
		return
	}
	from := mysqlrow.Edge{}
	for _, c := range m.chunks {
		if c.keys.hi.Open() {
			return
		}
		if below(from, c.keys.hi) {
			from = c.keys.hi
		}
	}
	gap, ok := m.table.seq.done.gap(from)
	if !ok || m.table.seq.complete() {
		return
	}
	whole := len(m.table.cut) == 0
	if !whole {
		hi := edgeOf(m.t, m.table, rapid.Int64Range(-ids/2, ids).Draw(m.t, "boundary"))
		if below(gap.lo, hi) && (gap.hi.Open() || below(hi, gap.hi)) {
			gap.hi = hi
		}
		// A value of the key that has too many rows comes in pieces, too.
		whole = rapid.IntRange(0, 3).Draw(m.t, "whole") == 0
	}
	c := &modelChunk{chunk: &chunk{table: m.table, plan: m.table.plan, keys: gap, whole: whole}, passed: m.passed, view: -1, next: -ids}
	m.table.seq.begin(c.chunk)
	m.chunks = append(m.chunks, c)
}

// open opens the view of a marked chunk: low holds what the stream had passed and
// any part of what the view holds besides; high is at or beyond the view.
func (m *model) open(gtids bool) {
	for _, c := range m.chunks {
		if c.view >= 0 {
			continue
		}
		c.view = len(m.log)
		if !gtids {
			c.low, c.high = nil, mark{file: "log.1", offset: offset(c.view)}
			return
		}
		c.low = &GTIDSet{set: &mysql.MysqlGTIDSet{}}
		for n := 1; n <= c.view; n++ {
			if n <= c.passed || rapid.Bool().Draw(m.t, "in low") {
				c.low.Add(gtid{sid: sid, gno: int64(n)})
			}
		}
		c.high = mark{file: "log.1", offset: offset(c.view + rapid.IntRange(0, 2).Draw(m.t, "late"))}
		return
	}
}

// read delivers the rows of a view, or the next of them where the table comes in pieces.
func (m *model) read() {
	for _, c := range m.chunks {
		if c.view < 0 || c.read {
			continue
		}
		end := int64(ids + 1)
		if c.whole && c.next < ids/2 {
			end = c.next + rapid.Int64Range(1, 2*ids).Draw(m.t, "piece")
		}
		b := mysqlrow.NewBuilder(c.plan, 8)
		for _, id := range slices.Sorted(maps.Keys(m.history[c.view])) {
			if !c.keys.has(m.keyOf(id)) || id < c.next || id >= end {
				continue
			}
			row := [][]byte{strconv.AppendInt(nil, id, 10), strconv.AppendInt(nil, m.history[c.view][id], 10)}
			if err := b.AppendFields(columnar.Insert, row); err != nil {
				m.t.Fatal(err)
			}
		}
		c.rows, c.next = append(c.rows, b), end
		c.read = end > ids/2
		c.ended = c.read
		return
	}
}

// within reports whether a table is emitted while it is read: no barrier then.
func (m *model) within() bool {
	return slices.ContainsFunc(m.chunks, func(c *modelChunk) bool { return c.started })
}

func (m *model) keyOf(id int64) []byte {
	if len(m.table.cut) == 0 {
		return nil
	}
	return []byte(edgeOf(m.t, m.table, id).Order)
}

// edgeOf gives the edge at an id.
func edgeOf(t interface{ Fatal(...any) }, tb *table, id int64) mysqlrow.Edge {
	e, err := tb.plan.ParseEdge([]string{strconv.FormatInt(id, 10)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// emit emits the chunks that the stream has passed.
func (m *model) emit() {
	var rest []*modelChunk
	for _, c := range m.chunks {
		if len(c.rows) == 0 && !c.ended || !c.whole && !c.read || !c.high.reached("log.1", offset(m.passed)) {
			rest = append(rest, c)
			continue
		}
		batches, done, err := m.table.seq.finish(c.chunk)
		if errors.Is(err, errReadAgain) && !m.keyed {
			m.again++
			if c.started {
				m.t.Fatal("a part was emitted already")
			}
			m.table.seq.drop(c.chunk)
			continue
		}
		if err != nil {
			m.t.Fatal(err)
		}
		if m.keyed && !c.whole {
			m.inOrder(c, batches)
		}
		for _, b := range batches {
			m.fold(b)
		}
		if !done {
			rest = append(rest, c)
		}
	}
	m.chunks = rest
}

// inOrder requires that the rows that the view of c holds leave in the order of their key.
func (m *model) inOrder(c *modelChunk, batches []*columnar.Batch) {
	last := int64(-ids)
	for _, b := range batches {
		id, ok := b.Cols[0].(*array.Int64)
		if !ok {
			m.t.Fatal("wrong columns")
		}
		for i := range b.Rows() {
			if _, seen := m.history[c.view][id.Value(i)]; !seen {
				continue
			}
			if id.Value(i) <= last {
				m.t.Fatalf("row %d leaves behind row %d", id.Value(i), last)
			}
			last = id.Value(i)
		}
	}
}

// restart goes on from the stored state of this edge.
func (m *model) restart() {
	if m.within() {
		return
	}
	done, err := m.table.seq.done.state().set(m.table.plan)
	if err != nil {
		m.t.Fatal(err)
	}
	m.table.resetSequencer(done)
	m.chunks = nil
}

// check compares the copy with the table at the edge, in the ranges that are out.
func (m *model) check() {
	if m.within() {
		return
	}
	want := map[int64]int64{}
	for id, v := range m.history[m.passed] {
		if m.table.seq.done.has(m.keyOf(id)) {
			want[id] = v
		}
	}
	if !maps.Equal(want, m.copy) {
		m.t.Fatalf("after %d transactions, with %+v out:\ncopy  %v\ntable %v", m.passed, m.table.seq.done.state(), m.copy, want)
	}
}

func TestSequencerKeepsTheCopyEqualAtEveryEdge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                 string
		keyed, chunked, gtid bool
	}{
		{"gtid", true, true, true},
		{"exact marks", true, true, false},
		{"one chunk with a key", true, false, true},
		{"one chunk without a key", false, false, true},
		{"chunks without a key", false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				tb, l := twoColumns(rt, tt.keyed, tt.chunked)
				if tt.keyed && !tt.chunked {
					tb.cut, tb.seq.keyed = nil, false
				}
				m := &model{t: rt, table: tb, layout: l, keyed: tt.keyed, history: []map[int64]int64{{}}, copy: map[int64]int64{}}
				for range 40 {
					switch rapid.SampledFrom([]string{"commit", "commit", "stream", "stream", "begin", "open", "read", "emit", "restart"}).Draw(rt, "step") {
					case "commit":
						m.commit()
					case "stream":
						m.stream()
					case "begin":
						m.begin()
					case "open":
						m.open(tt.gtid)
					case "read":
						m.read()
					case "emit":
						m.emit()
					case "restart":
						m.restart()
					}
					m.check()
				}
				m.finishAll(tt.gtid)
			})
		})
	}
}

// finishAll lets everything end: the copy must be the table.
func (m *model) finishAll(gtids bool) {
	for range 200 {
		m.begin()
		m.open(gtids)
		m.read()
		m.stream()
		m.commit()
		m.stream()
		m.emit()
		m.check()
		if m.table.seq.complete() {
			return
		}
	}
	m.t.Fatal("the snapshot does not end")
}

func TestSequencerCountsFates(t *testing.T) {
	t.Parallel()
	tb, l := twoColumns(t, true, true)
	tb.seq.done = rangeSet{edge: edgeOf(t, tb, 9)}
	tb.seq.begin(&chunk{table: tb, plan: tb.plan, keys: keyRange{edgeOf(t, tb, 9), edgeOf(t, tb, 19)}})
	for _, id := range []int64{1, 12, 30} {
		if err := tb.seq.apply(l, change{nil, &[2]int64{id, 0}}.rows()); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(tb.seq.flowed, tb.seq.kept, tb.seq.dropped); got != "1 1 1" {
		t.Errorf("flowed, kept, dropped: %s", got)
	}
}
