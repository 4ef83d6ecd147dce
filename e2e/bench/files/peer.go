package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
)

// peer is leat as an engine: it carries out the tasks that it reads.
type peer struct {
	table table
	rows  int64
	kept  [][]arrow.Array
	// pool gives the arrays of readers their memory, as it does for a table.
	pool *columnar.Pool
}

// Serve is the process of leat: a line of in is a task, as FileBench of
// e2e/oracle has it, and one more, "make ROWS DIR", which writes the table in
// both formats.
func Serve(ctx context.Context, tableName string, in io.Reader, out io.Writer) error {
	t, err := tableOf(tableName)
	if err != nil {
		return err
	}
	p := &peer{table: t, pool: columnar.NewPool()}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		start, cpu := time.Now(), cpuTime()
		rows, err := p.run(ctx, words)
		wall, cpu := time.Since(start), cpuTime()-cpu
		if err != nil {
			return fmt.Errorf("%v: %w", words, err)
		}
		if _, err := fmt.Fprintf(out, "ok %d %d %d\n", rows, wall.Nanoseconds(), cpu.Nanoseconds()); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
		runtime.GC()
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading tasks: %w", err)
	}
	return nil
}

// cpuTime is the processor time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (p *peer) run(ctx context.Context, task []string) (int64, error) {
	switch {
	case len(task) == 3 && task[0] == "make":
		rows, err := strconv.ParseInt(task[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a number of rows: %w", err)
		}
		return p.make(rows, task[2])
	case len(task) == 3 && task[0] == "read":
		return p.read(ctx, task[2], p.pool, func(cols []arrow.Array) {
			for _, c := range cols {
				c.Release()
			}
		})
	case len(task) == 3 && task[0] == "load":
		p.kept = nil
		rows, err := p.read(ctx, task[2], nil, func(cols []arrow.Array) { p.kept = append(p.kept, cols) })
		p.rows = rows
		return rows, err
	case len(task) == 3 && task[0] == "write":
		w, done, err := p.create(task[1], task[2])
		if err != nil {
			return 0, err
		}
		for _, cols := range p.kept {
			if err := w.WriteBatch(cols, cols[0].Len()); err != nil {
				return 0, err
			}
		}
		return p.rows, done()
	default:
		return 0, errors.New("no such task")
	}
}

func (p *peer) create(formatName, path string) (datafile.Writer, func() error, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	w, err := datafile.Create(buf, p.table.fields, datafile.Options{Format: formatName, Options: format.Options{Distinct: p.table.distinct}})
	if err != nil {
		return nil, nil, err
	}
	return w, func() error {
		_, err := w.Close()
		return errors.Join(err, buf.Flush(), f.Close())
	}, nil
}

// make writes the table as DIR.orc and DIR.parquet.
func (p *peer) make(rows int64, prefix string) (int64, error) {
	var writers []datafile.Writer
	var ends []func() error
	for _, name := range formats {
		w, done, err := p.create(name, prefix+"."+name)
		if err != nil {
			return 0, err
		}
		writers, ends = append(writers, w), append(ends, done)
	}
	err := p.table.batches(rows, func(cols []arrow.Array, n int) error {
		for _, w := range writers {
			if err := w.WriteBatch(cols, n); err != nil {
				return err
			}
		}
		return nil
	})
	for _, done := range ends {
		err = errors.Join(err, done())
	}
	return rows, err
}

func (p *peer) read(ctx context.Context, path string, mem memory.Allocator, each func([]arrow.Array)) (rows int64, err error) {
	f, err := local.New().Open(ctx, path)
	if err != nil {
		return 0, err
	}
	r, err := datafile.Open(f, path, p.table.fields, format.ReadOptions{Mem: mem})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		cols, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += int64(n)
		each(cols)
	}
}
