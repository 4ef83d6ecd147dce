package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"leat/internal/dataflow"
	"leat/internal/job"
)

// progress shows how a job is doing: one line that is rewritten on a terminal,
// else a plain line every five seconds.
type progress struct {
	mu   sync.Mutex
	w    io.Writer
	tty  bool
	open bool // a progress line without its end of line stands on the terminal
	rows int64
	at   time.Time
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, tty: ok && term.IsTerminal(int(f.Fd())), at: time.Now()}
}

// print writes a line of its own.
func (p *progress) print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, line)
}

func (p *progress) clear() {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}

func (p *progress) listener() dataflow.Listener {
	return dataflow.Listener{
		CheckpointFailed: func(e dataflow.CheckpointFailed) {
			p.print(fmt.Sprintf("checkpoint %d failed (%d in a row, %d tolerated): %v", e.ID, e.InARow, e.Tolerated, e.Err))
		},
		CommitRetry: func(e dataflow.CommitRetry) {
			p.print(fmt.Sprintf("commit of checkpoint %d to %s is tried again in %s: %v", e.ID, e.UID, e.In, e.Err))
		},
	}
}

// follow shows the progress of j until the function it gives is called, which
// leaves a last line.
func (p *progress) follow(j *job.Job) (stop func()) {
	every := 5 * time.Second
	if p.tty {
		every = 500 * time.Millisecond
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.show(j.Status())
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		p.print(p.line(j.Status()))
	}
}

func (p *progress) show(s job.Status) {
	line := p.line(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tty {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprint(p.w, "\r"+line+"\x1b[K")
	p.open = true
}

// manySinks is up to how many tables the line shows the snapshot of each.
const manySinks = 4

// line is the state in one line: rows, rate, snapshot, lag, checkpoint, snapshot ids, memory.
func (p *progress) line(s job.Status) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	var rows int64
	for i := range s.Stats.Sources {
		rows += s.Stats.Sources[i].Rows
	}
	now := time.Now()
	rate := 0.0
	if !p.at.IsZero() && rows >= p.rows {
		rate = float64(rows-p.rows) / now.Sub(p.at).Seconds()
	}
	p.rows, p.at = rows, now
	fmt.Fprintf(&b, "%s %s rows, %s rows/s", strings.ToLower(string(s.State)), short(float64(rows)), short(rate))
	for i := range s.Stats.Sources {
		b.WriteString(sourceText(&s.Stats.Sources[i]))
	}
	c := s.Stats.Checkpoints
	if c.LastID > 0 {
		fmt.Fprintf(&b, ", checkpoint %d", c.LastID)
		if !c.LastTime.IsZero() {
			fmt.Fprintf(&b, " (%s ago)", time.Since(c.LastTime).Round(100*time.Millisecond))
		}
	}
	if n := len(s.Stats.Sinks); n > manySinks {
		fmt.Fprintf(&b, ", %d tables", n)
	} else {
		for i := range s.Stats.Sinks {
			if n := s.Stats.Sinks[i].Snapshot; n > 0 {
				fmt.Fprintf(&b, ", snapshot %d", n)
			}
		}
	}
	if s.Memory > 0 {
		fmt.Fprintf(&b, ", %d MB", s.Memory>>20)
	}
	return b.String()
}

func sourceText(s *dataflow.SourceStats) string {
	st := s.Status
	switch {
	case st.Phase == "snapshot" && st.SnapshotTotal > 0:
		return fmt.Sprintf(", snapshot %.0f %%", min(100, 100*float64(st.SnapshotDone)/float64(st.SnapshotTotal)))
	case s.TransactionRows > 100_000:
		return fmt.Sprintf(", in a transaction of %s rows so far", short(float64(s.TransactionRows)))
	default:
		text := fmt.Sprintf(", lag %s", st.Lag.Round(time.Millisecond))
		if left := time.Until(st.PurgeAt); !st.PurgeAt.IsZero() && left < st.Retention/2 {
			text += fmt.Sprintf(", needed binlog may be purged in %s", max(0, left).Round(time.Second))
		}
		return text
	}
}

// short prints a count with three digits: 1.23M.
func short(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2fG", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}
