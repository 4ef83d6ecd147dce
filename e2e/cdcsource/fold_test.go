package cdcsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
)

// copies is a strict copy of each port's table: by the text of its first column, the rest as text.
type copies []map[string]string

func (c copies) clone() copies {
	out := make(copies, len(c))
	for i, m := range c {
		out[i] = maps.Clone(m)
	}
	return out
}

// checkpoint is a barrier: the stored state and the copies at it.
type checkpoint struct {
	state  dataflow.SourceState
	copies copies
}

// collector is a dataflow.Collector that folds what it gets.
type collector struct {
	reader *cdc.Reader
	due    chan struct{}

	mu       sync.Mutex
	tables   copies
	rows     int64
	batches  int
	edges    int
	complete int // edges after the snapshot was complete
	status   dataflow.SourceStatus
	points   []checkpoint
	stopAt   int  // edge number at which to stop, 0 for never
	every    int  // how often an edge stores a checkpoint
	whole    bool // tables have no key
	upsert   bool // of old rows the key alone counts
	// gate holds the rows back while it is there; durable says that checkpoints get into the log.
	gate    chan struct{}
	durable bool
	// total is what the balances add up to, sum what they have to; 0 does not check.
	total, sum int64
	// onlyPort says that the balances are those of the first port.
	onlyPort bool
	emitted  time.Time
	rng      *rand.Rand
}

func newCollector(r *cdc.Reader, tables copies) *collector {
	c := &collector{reader: r, due: make(chan struct{}, 1), tables: tables, every: 50, rng: rand.New(rand.NewPCG(1, 2))}
	for _, m := range tables {
		for _, row := range m {
			c.total += balance(row)
		}
	}
	return c
}

func (c *collector) Emit(_ context.Context, port int, b *columnar.Batch) error {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer b.Release()
	c.batches++
	c.emitted = time.Now()
	c.rows += int64(b.Rows())
	for len(c.tables) <= port { // a copy that begins with nothing
		c.tables = append(c.tables, map[string]string{})
	}
	for i := range b.Rows() {
		var text strings.Builder
		id := b.Cols[0].ValueStr(i)
		rest := b.Cols[1:]
		if c.whole {
			id, rest = "", b.Cols
		}
		for j, col := range rest {
			if j > 0 {
				text.WriteByte('|')
			}
			text.WriteString(col.ValueStr(i))
		}
		row := text.String()
		if c.whole {
			// Without a key the whole row is the key, and its value how often it stands there.
			if err := c.count(port, row, b.Kind(i)); err != nil {
				return err
			}
			continue
		}
		have, present := c.tables[port][id]
		if b.Kind(i).Retracts() {
			if !present || have != row && !c.upsert {
				return fmt.Errorf("port %d: %s of id %s with %q, but the copy holds %q (%v)", port, b.Kind(i), id, row, have, present)
			}
			delete(c.tables[port], id)
			if port == 0 || !c.onlyPort {
				c.total -= balance(have)
			}
			if b.Kind(i) == columnar.UpdateBefore && (i+1 == b.Rows() || b.Kind(i+1) != columnar.UpdateAfter || b.Cols[0].ValueStr(i+1) != id) {
				return fmt.Errorf("port %d: -U of id %s without its +U", port, id)
			}
			continue
		}
		if present {
			return fmt.Errorf("port %d: %s of id %s with %q, but the copy holds %q", port, b.Kind(i), id, row, have)
		}
		c.tables[port][id] = row
		if port == 0 || !c.onlyPort {
			c.total += balance(row)
		}
	}
	return nil
}

// count keeps how often a row stands in a table without a key.
func (c *collector) count(port int, row string, kind columnar.RowKind) error {
	n, err := strconv.Atoi("0" + c.tables[port][row])
	if err != nil {
		return err
	}
	if kind.Retracts() {
		n--
	} else {
		n++
	}
	switch {
	case n < 0:
		return fmt.Errorf("port %d: %s of %q, which the copy does not hold", port, kind, row)
	case n == 0:
		delete(c.tables[port], row)
	default:
		c.tables[port][row] = strconv.Itoa(n)
	}
	return nil
}

func (c *collector) BarrierDue() bool { return true }

func (c *collector) Due() <-chan struct{} { return c.due }

func (c *collector) Edge(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edges++
	if c.sum != 0 && c.status.Complete {
		c.complete++
		if err := c.checkSum(); err != nil {
			return err
		}
	}
	if c.edges%c.every == 0 {
		st, err := c.reader.SnapshotState(ctx, dataflow.CheckpointID(c.edges))
		if err != nil {
			return err
		}
		c.status.Complete = st.Properties[cdc.PropComplete] == "true"
		c.points = append(c.points, checkpoint{st, c.tables.clone()})
		if c.durable {
			c.reader.Completed(dataflow.CheckpointID(c.edges))
		}
	}
	if c.stopAt > 0 && c.edges >= c.stopAt {
		return dataflow.ErrStopped
	}
	return nil
}

func (c *collector) checkSum() error {
	if c.total != c.sum {
		return fmt.Errorf("edge %d: the balances add up to %d instead of %d", c.edges, c.total, c.sum)
	}
	return nil
}

// balance reads the first column of a row's text, 0 if it is no number.
func balance(row string) int64 {
	text, _, _ := strings.Cut(row, "|")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (c *collector) InTransaction(int64) {}

// Cut and Change are for tables that are followed, which these tests have none of.
func (c *collector) Cut(context.Context) <-chan error { return nil }

func (c *collector) Change(context.Context, int, *dataflow.Change) error {
	return errors.New("a table changed that is not followed")
}

func (c *collector) Report(s dataflow.SourceStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	complete := c.status.Complete
	c.status = s
	c.status.Complete = complete && s.Complete || s.Complete
}

// size is the number of rows in all copies.
func (c *collector) size() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.tables {
		n += len(m)
	}
	return n
}

// idle reports whether nothing came for a while.
func (c *collector) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.emitted) > 200*time.Millisecond
}

func (c *collector) report() dataflow.SourceStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// last gives a random checkpoint of the run and its state.
func (c *collector) pick(t *testing.T) (json.RawMessage, copies) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.points) == 0 {
		return nil, nil
	}
	p := c.points[c.rng.IntN(len(c.points))]
	return p.state.Data, p.copies.clone()
}

// eventually waits until ok, or fails.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", limit, what)
		}
	}
}
