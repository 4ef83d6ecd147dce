package print

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
)

// The options of a print table.
var (
	Options       = configs.NewSet("print table")
	Identifier    = configs.String(Options, "print-identifier", "", "Text in front of every line.", configs.Optional())
	StandardError = configs.Bool(Options, "standard-error", false, "Write to standard error.")
	Parallelism   = configs.Int(Options, "sink.parallelism", 1, "Parallel writers.",
		configs.NoMeaningHere("one writer prints all rows"))
)

// Connector makes printing sinks.
type Connector struct {
	out, err *stream
}

var _ connect.StatementWriter = (*Connector)(nil)

// New makes the connector of the process's own output.
func New() *Connector { return NewTo(os.Stdout, os.Stderr) }

// NewTo makes a connector that prints to given writers.
func NewTo(out, err io.Writer) *Connector {
	return &Connector{out: &stream{w: out}, err: &stream{w: err}}
}

// Name is "print".
func (*Connector) Name() string { return "print" }

// Options declares the keys.
func (*Connector) Options() *configs.Set { return Options }

// CheckTable accepts every table.
func (*Connector) CheckTable(*connect.Table) error { return nil }

// SinkMode is All: every image of a change is printed.
func (*Connector) SinkMode(*connect.Table) connect.ChangelogMode { return connect.All }

// NewSink makes a sink.
func (c *Connector) NewSink(spec connect.SinkSpec) (dataflow.Sink, error) {
	s := &sink{to: c.out, id: Identifier.Get(spec.Table.Options)}
	if StandardError.Get(spec.Table.Options) {
		s.to = c.err
	}
	return s, nil
}

// WriteStatement prints the rows.
func (c *Connector) WriteStatement(ctx context.Context, st connect.Statement, give func(take func(*columnar.Batch) error) error) (int64, error) {
	s, err := c.NewSink(connect.SinkSpec{Table: st.Table})
	if err != nil {
		return 0, err
	}
	w, err := s.NewWriter(ctx, 0, 1)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	err = give(func(b *columnar.Batch) error {
		rows += int64(b.Rows())
		b.Retain() // Write lets go of it
		return w.Write(ctx, b)
	})
	return rows, err
}

// stream is an output shared by all writers of the process; each Write comes in one piece.
type stream struct {
	mu sync.Mutex
	w  io.Writer
}

type sink struct {
	to *stream
	id string
}

func (*sink) Recover(context.Context, *dataflow.SinkRecovery) error { return nil }

func (s *sink) NewWriter(_ context.Context, subtask, n int) (dataflow.SinkWriter, error) {
	w := &writer{to: s.to}
	switch {
	case n > 1 && s.id != "":
		w.prefix = s.id + ":" + strconv.Itoa(subtask+1) + "> "
	case n > 1:
		w.prefix = strconv.Itoa(subtask+1) + "> "
	case s.id != "":
		w.prefix = s.id + "> "
	}
	return w, nil
}

func (*sink) Observe(context.Context) (json.RawMessage, error) { return nil, nil }

func (*sink) Commit(context.Context, []dataflow.Epoch) error { return nil }

func (*sink) Close() error { return nil }

type writer struct {
	to     *stream
	prefix string
	buf    []byte
}

// Write prints the rows of b.
func (w *writer) Write(_ context.Context, b *columnar.Batch) error {
	defer b.Release()
	w.buf = w.buf[:0]
	for i := range b.Rows() {
		w.buf = append(w.buf, w.prefix...)
		w.buf = appendRow(w.buf, b, i)
		w.buf = append(w.buf, '\n')
	}
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	if _, err := w.to.w.Write(w.buf); err != nil {
		return fmt.Errorf("printing rows: %w", err)
	}
	return nil
}

// Prepare has nothing to keep: the lines are out.
func (*writer) Prepare(context.Context, dataflow.CheckpointID) (dataflow.Prepared, error) {
	return printed{}, nil
}

func (*writer) Close() error { return nil }

type printed struct{}

func (printed) Wait(context.Context) (json.RawMessage, error) { return nil, nil }
