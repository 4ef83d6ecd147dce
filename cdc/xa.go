package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/klauspost/compress/zstd"

	"leat/internal/diag"
)

// The log holds an XA transaction in two pieces: its rows between XA START and
// an XA_PREPARE event, then XA COMMIT or XA ROLLBACK, any time later, as a
// transaction of its own. Rows count from XA COMMIT on: until then their events
// wait, and are played back as if they stood there.
//
// Small ones wait in memory and in every checkpoint. What is more goes to a file
// of the local disk (xaspill.go), and the checkpoint holds the place in the log
// from which a later run reads them again.

// xaMemory bounds what prepared transactions may hold in memory and in each checkpoint.
const xaMemory = 8 << 20

// xaTransactions are the prepared transactions by their id as the log writes it.
// A transaction without rows of ours is there too, so that an unknown one is noticed.
type xaTransactions map[string]*xaRows

// xaRows are the TABLE_MAP and rows events of tables that are read, whole, one
// after another. They never change once the transaction is prepared.
type xaRows struct {
	events []byte
	// spill is the file that holds them in place of events, "" for none.
	spill string
	// from is the place in the log before the transaction, nil for one that is in memory.
	from *Position
	// undone are events that count for nothing; only where the reading has just ended.
	undone []eventRange
}

// large says that the rows are not in memory.
func (x *xaRows) large() bool { return x.spill != "" || x.from != nil }

// xaEnd says what an evCommit does to the prepared transactions.
type xaEnd struct {
	id string
	// rows are those of a transaction that was prepared, nil where it ended.
	rows *xaRows
}

// xaReading is the XA transaction whose rows the connection is reading.
type xaReading struct {
	id     string
	events []byte
	spill  *spill
	// plain says that it is no XA transaction: see undo.go.
	plain bool
	// count is how many events are held; marks are places among them.
	count  int
	marks  []savepoint
	undone []eventRange
}

// keepXA takes an event of the XA transaction at hand. A table map goes to the
// parser too, which knows by it whose rows follow.
func (d *dumper) keepXA(ctx context.Context, h header, raw, body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short event in an XA transaction")
	}
	if d.wanted != "" && d.xa.id != d.wanted {
		return nil
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
	d.xa.count++
	if d.xa.spill != nil {
		return d.xa.spill.write(raw)
	}
	held := len(d.xa.events) + len(raw)
	for _, x := range d.prepared {
		held += len(x.events)
	}
	if held <= xaMemory || d.xa.plain && d.cfg.Scratch == "" {
		d.xa.events = append(d.xa.events, raw...)
		return nil
	}
	sp, err := d.cfg.newSpill(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(sp.write(d.xa.events), sp.write(raw))
	d.xa.events, d.xa.spill = nil, sp
	return err
}

// dropXA forgets the XA transaction at hand.
func (d *dumper) dropXA() {
	if d.xa != nil && d.xa.spill != nil {
		d.xa.spill.abort()
	}
	d.xa = nil
}

// xaPrepared reads an XA_PREPARE event, which ends the first piece.
func (d *dumper) xaPrepared(ctx context.Context, h header, body []byte) error {
	if d.xa == nil || len(body) == 0 {
		return d.commit(ctx, h)
	}
	id, rows := d.xa.id, &xaRows{events: d.xa.whole()}
	if d.xa.spill != nil {
		rows.undone = d.xa.undone
		name, err := d.xa.spill.commit(ctx)
		if err != nil {
			return err
		}
		rows.spill = name
	}
	d.xa = nil
	if onePhase := body[0] != 0; onePhase {
		defer removeSpill(rows.spill)
		if err := d.replay(ctx, id, rows); err != nil {
			return err
		}
		return d.commit(ctx, h)
	}
	d.prepared[id] = rows
	return d.commitXA(ctx, h, &xaEnd{id: id, rows: rows})
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
		d.dropXA()
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
	rows, known := d.prepared[id]
	if !known && len(d.tables) > 0 && d.wanted == "" {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceChanged,
			Msg:  fmt.Sprintf("an XA transaction was committed (%s) that had been prepared before the place from which the job reads the binlog, so that its rows are unknown", clip(id)),
			Hint: "start the job again with --fresh --replace while XA RECOVER lists no transaction",
		}
	}
	if known {
		if err := d.replay(ctx, id, rows); err != nil {
			return err
		}
	}
	delete(d.prepared, id)
	return d.commitXA(ctx, h, &xaEnd{id: id})
}

// replay takes the events of a prepared transaction as ones of the transaction at hand.
func (d *dumper) replay(ctx context.Context, id string, x *xaRows) error {
	failed := func(err error) error { return fmt.Errorf("playing back XA transaction %s: %w", clip(id), err) }
	switch {
	case x.spill != "":
		r, err := openSpill(ctx, x.spill)
		if err != nil {
			return failed(err)
		}
		defer r.close()
		return d.inner(ctx, x.kept(r), failed)
	case x.from != nil:
		return d.readXA(ctx, id, *x.from)
	default:
		return d.inner(ctx, x.kept(bytes.NewReader(x.events)), failed)
	}
}

// kept passes over the events of r that were undone.
func (x *xaRows) kept(r io.Reader) io.Reader {
	if len(x.undone) == 0 {
		return r
	}
	return &skipping{r: r, list: x.undone}
}

// errFound ends the reading of the log at what was looked for.
var errFound = errors.New("found in the log")

// readXA reads a prepared transaction from the log once more, by a connection of its own.
func (d *dumper) readXA(ctx context.Context, id string, from Position) error {
	lost := func(err error) error {
		if transient(err) {
			return err
		}
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourcePurged, Cause: errors.New(firstLine(err)),
			Msg:   fmt.Sprintf("XA transaction %s was committed, and the binlog of its rows cannot be read any more", clip(id)),
			Notes: []string{"its rows stand after " + from.String() + "; the run that read them first has ended since"},
			Hint:  "take a new snapshot of the tables with --fresh --replace; to prevent it end XA transactions long before the binlog expires",
		}
	}
	if from.ServerUUID != d.uuid && from.GTID != nil {
		from.File, from.Offset = "", 0
	}
	from.prepared = nil
	sub, err := d.cfg.aside().startDump(ctx, d.queue, d.tables, from, d.server)
	if err != nil {
		return lost(err)
	}
	defer sub.end()
	sub.wanted = id
	var rows *xaRows
	sub.emit = func(_ context.Context, e event) error {
		if e.kind == evCommit && e.xa != nil && e.xa.id == id && e.xa.rows != nil {
			rows = e.xa.rows
			return errFound
		}
		return nil
	}
	if err := sub.read(ctx); !errors.Is(err, errFound) {
		return lost(err)
	}
	defer removeSpill(rows.spill)
	return d.replay(ctx, id, rows)
}

// take applies the end of a transaction; at is the edge before it.
func (x xaTransactions) take(e *xaEnd, at *Position) {
	switch {
	case e == nil:
	case e.rows == nil:
		if old := x[e.id]; old != nil {
			removeSpill(old.spill)
		}
		delete(x, e.id)
	case e.rows.spill != "":
		from := at.clone()
		from.prepared = nil
		x[e.id] = &xaRows{spill: e.rows.spill, from: &from}
	default:
		x[e.id] = e.rows
	}
}

// clone copies the set; the rows are never changed.
func (x xaTransactions) clone() xaTransactions {
	if x == nil {
		return xaTransactions{}
	}
	return maps.Clone(x)
}

// placeState is a place in the log as a state holds it.
type placeState struct {
	ServerUUID string  `json:"server_uuid"`
	GTID       *string `json:"gtid,omitempty"`
	File       string  `json:"file,omitempty"`
	Offset     uint64  `json:"offset,omitempty"`
}

// packXA puts the transactions into a state: compressed, or as their place in the log.
func (s *place) packXA(x xaTransactions) error {
	if len(x) == 0 {
		return nil
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("packing XA transactions: %w", err)
	}
	defer w.Close()
	for id, rows := range x {
		if !rows.large() {
			if s.XA == nil {
				s.XA = map[string][]byte{}
			}
			s.XA[id] = w.EncodeAll(rows.events, nil)
			continue
		}
		p := placeState{ServerUUID: rows.from.ServerUUID, File: rows.from.File, Offset: rows.from.Offset}
		if rows.from.GTID != nil {
			text := rows.from.GTID.String()
			p.GTID = &text
		}
		if s.XALog == nil {
			s.XALog = map[string]placeState{}
		}
		s.XALog[id] = p
	}
	return nil
}

// unpackXA reads what packXA wrote.
func (s *place) unpackXA(maria bool) (xaTransactions, error) {
	out := xaTransactions{}
	for id, p := range s.XALog {
		from := Position{ServerUUID: p.ServerUUID, File: p.File, Offset: p.Offset}
		if p.GTID != nil {
			var err error
			if from.GTID, err = parseGTIDs(*p.GTID, maria); err != nil {
				return nil, fmt.Errorf("reading the place of XA transaction %s of the stored state: %w", id, err)
			}
		}
		out[id] = &xaRows{from: &from}
	}
	if len(s.XA) == 0 {
		return out, nil
	}
	// Earlier versions kept up to 256 MB.
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(257<<20))
	if err != nil {
		return nil, fmt.Errorf("reading XA transactions of the stored state: %w", err)
	}
	defer r.Close()
	for id, b := range s.XA {
		events, err := r.DecodeAll(b, nil)
		if err != nil {
			return nil, fmt.Errorf("reading XA transaction %s of the stored state: %w", id, err)
		}
		out[id] = &xaRows{events: bytes.Clone(events)}
	}
	return out, nil
}
