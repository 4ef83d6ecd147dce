package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/klauspost/compress/zstd"

	"leat/internal/diag"
)

// The log holds an XA transaction in two pieces: its rows between XA START and
// an XA_PREPARE event, then XA COMMIT or XA ROLLBACK, any time later, as a
// transaction of its own. Rows count from XA COMMIT on: until then their events
// wait in the position, which every checkpoint stores, and are played back as
// if they stood there.

// xaBytes bounds what prepared transactions may hold in memory and in each checkpoint.
const xaBytes = 256 << 20

// xaTransactions are the prepared transactions by their id as the log writes it:
// the TABLE_MAP and rows events of tables that are read, whole, one after another.
// A transaction without such rows is there too, so that an unknown one is noticed.
type xaTransactions map[string][]byte

// xaEnd says what an evCommit does to the prepared transactions.
type xaEnd struct {
	id string
	// rows are the events of a transaction that was prepared, nil where it ended.
	rows []byte
}

// xaReading is the XA transaction whose rows the connection is reading.
type xaReading struct {
	id     string
	events []byte
}

// keepXA takes an event of the XA transaction at hand. A table map goes to the
// parser too, which knows by it whose rows follow.
func (d *dumper) keepXA(h header, raw, body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short event in an XA transaction")
	}
	if h.kind == replication.TABLE_MAP_EVENT {
		if err := d.tableMap(body); err != nil {
			return err
		}
	}
	m := d.maps[tableID(body)]
	if m == nil || !m.wanted() {
		return nil
	}
	held := len(d.xa.events)
	for _, e := range d.prepared {
		held += len(e)
	}
	if held+len(raw) > xaBytes {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: m.schema + "." + m.name,
			Msg:   fmt.Sprintf("the rows of XA transactions that wait for XA COMMIT are more than %d MB", xaBytes>>20),
			Notes: []string{"transaction at hand: " + clip(d.xa.id)},
			Hint:  "commit or roll back what XA RECOVER lists; write large changes with ordinary transactions, then start the job again with --fresh --replace",
		}
	}
	d.xa.events = append(d.xa.events, raw...)
	return nil
}

// xaPrepared reads an XA_PREPARE event, which ends the first piece.
func (d *dumper) xaPrepared(ctx context.Context, h header, body []byte) error {
	if d.xa == nil || len(body) == 0 {
		return d.commit(ctx, h)
	}
	xa := d.xa
	d.xa = nil
	if onePhase := body[0] != 0; onePhase {
		if err := d.replay(ctx, xa.events); err != nil {
			return err
		}
		return d.commit(ctx, h)
	}
	if xa.events == nil {
		xa.events = []byte{}
	}
	d.prepared[xa.id] = xa.events
	return d.commitXA(ctx, h, &xaEnd{id: xa.id, rows: xa.events})
}

// xaStatement reads XA START, XA END, XA COMMIT and XA ROLLBACK.
func (d *dumper) xaStatement(ctx context.Context, h header, e event) error {
	verb, id, _ := strings.Cut(strings.TrimSpace(strings.TrimSpace(e.text)[len("XA"):]), " ")
	id = strings.TrimSpace(id)
	if d.maria {
		id = d.xaID // the GTID event names it
	}
	switch strings.ToUpper(verb) {
	case "START", "BEGIN":
		d.open, d.xa = true, &xaReading{id: id}
		return nil
	case "COMMIT":
		return d.xaCommit(ctx, h, id)
	case "ROLLBACK":
		delete(d.prepared, id)
		return d.commitXA(ctx, h, &xaEnd{id: id})
	default: // XA END
		return nil
	}
}

func (d *dumper) xaCommit(ctx context.Context, h header, id string) error {
	events, known := d.prepared[id]
	if !known && len(d.tables) > 0 {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceChanged,
			Msg:  fmt.Sprintf("an XA transaction was committed (%s) that had been prepared before the place from which the job reads the binlog, so that its rows are unknown", clip(id)),
			Hint: "start the job again with --fresh --replace while XA RECOVER lists no transaction",
		}
	}
	if err := d.replay(ctx, events); err != nil {
		return err
	}
	delete(d.prepared, id)
	return d.commitXA(ctx, h, &xaEnd{id: id})
}

// replay takes the events of a prepared transaction as ones of the transaction at hand.
func (d *dumper) replay(ctx context.Context, events []byte) error {
	for len(events) > 0 {
		h, err := readHeader(events)
		if err != nil {
			return err
		}
		if int(h.size) < replication.EventHeaderSize || int(h.size) > len(events) {
			return fmt.Errorf("playing back an XA transaction: event of %d bytes", h.size)
		}
		raw := events[:h.size:h.size]
		events = events[h.size:]
		if err := d.dispatch(ctx, h, raw, raw[replication.EventHeaderSize:]); err != nil {
			return err
		}
	}
	return nil
}

// take applies the end of a transaction.
func (x xaTransactions) take(e *xaEnd) {
	switch {
	case e == nil:
	case e.rows != nil:
		x[e.id] = e.rows
	default:
		delete(x, e.id)
	}
}

// clone copies the set; the events are never changed.
func (x xaTransactions) clone() xaTransactions {
	if x == nil {
		return xaTransactions{}
	}
	return maps.Clone(x)
}

// packXA compresses the transactions for a state, nil for none.
func packXA(x xaTransactions) (map[string][]byte, error) {
	if len(x) == 0 {
		return nil, nil
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("packing XA transactions: %w", err)
	}
	defer w.Close()
	out := map[string][]byte{}
	for id, events := range x {
		out[id] = w.EncodeAll(events, nil)
	}
	return out, nil
}

// unpackXA reads what packXA wrote.
func unpackXA(packed map[string][]byte) (xaTransactions, error) {
	out := xaTransactions{}
	if len(packed) == 0 {
		return out, nil
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(xaBytes+1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading XA transactions of the stored state: %w", err)
	}
	defer r.Close()
	for id, b := range packed {
		events, err := r.DecodeAll(b, []byte{})
		if err != nil {
			return nil, fmt.Errorf("reading XA transaction %s of the stored state: %w", id, err)
		}
		out[id] = bytes.Clone(events)
	}
	return out, nil
}
