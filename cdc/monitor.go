package cdc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"leat/internal/dataflow"
)

// monitor asks the server once a second how far its log is, and reports, so that
// lag is true while the stream is busy, idle, or waits for the sink.
type monitor struct {
	cfg    *Config
	server atomic.Pointer[server]
	// publish is called after each look.
	publish func()
	guard   *guard
	// back says that the log of the server ended before where it did once: it was
	// reset, and the stream may wait for ever at the end of a log that is no more.
	back atomic.Bool

	mu  sync.Mutex
	end *logEnd
	// ends are the ends of the log seen and not read yet, oldest first; readAt is the
	// time of the server at which the newest one that was read was the end.
	ends   []logEnd
	readAt int64
}

// logEnd is the end of the log at one moment.
type logEnd struct {
	mark
	files []logFile
	// millis is the clock of the server, asked ours before it was looked at.
	millis int64
	asked  time.Time
}

// How often the files of the log are listed while the newest one stays the same,
// after which time without an answer the end of the log counts as unknown, and
// how many ends are kept.
const (
	listEvery = 10 * time.Second
	endStale  = 5 * time.Second
	maxEnds   = 4096
)

func (m *monitor) run(ctx context.Context) {
	var n *conn
	defer func() { n.close() }()
	for {
		if s := m.server.Load(); s != nil {
			var err error
			if n == nil {
				n, err = m.cfg.connect(ctx)
			}
			if err == nil {
				err = m.look(ctx, n, s)
			}
			if err != nil {
				n.close()
				n = nil
			}
			if ctx.Err() == nil {
				m.publish()
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

func (m *monitor) look(ctx context.Context, n *conn, s *server) error {
	m.mu.Lock()
	last := m.end
	m.mu.Unlock()
	e := logEnd{asked: time.Now()}
	var err error
	if e.mark, err = n.endOfLog(s); err != nil {
		return err
	}
	ms, err := n.value("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)")
	if err != nil {
		return err
	}
	e.millis = number(ms)
	if last != nil && last.uuid == e.uuid && e.compare(last.file, last.offset) > 0 {
		m.back.Store(true)
	}
	if last != nil && last.uuid == e.uuid && last.file == e.file && e.asked.Sub(m.guard.listed) < listEvery {
		e.files = last.files
	} else {
		if e.files, err = n.logFiles(); err != nil {
			return err
		}
		m.guard.listed = e.asked
		if err := m.guard.look(ctx, n, s, &e); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end = &e
	if k := len(m.ends) - 1; k >= 0 && m.ends[k].uuid != e.uuid {
		m.ends = nil
	} else if k >= 0 && m.ends[k].mark == e.mark {
		m.ends[k].millis = e.millis
		return nil
	}
	if len(m.ends) >= maxEnds { // every second one will do
		for i := range maxEnds / 2 {
			m.ends[i] = m.ends[2*i+1]
		}
		m.ends = m.ends[:maxEnds/2]
	}
	m.ends = append(m.ends, e)
	return nil
}

// behind gives the bytes of log after a place; -1 if unknown.
func (e *logEnd) behind(uuid, file string, offset uint64) int64 {
	if e == nil || e.uuid != uuid || file == "" || time.Since(e.asked) > endStale {
		return -1
	}
	var n int64
	for _, f := range e.files {
		size := f.size
		if f.name == e.file {
			size = int64(e.offset)
		}
		switch c := compareFiles(f.name, file); {
		case c == 0:
			n += max(0, size-int64(offset))
		case c > 0:
			n += size
		}
	}
	return n
}

// lag gives how far a place is behind the end of the log, in bytes (-1 if unknown)
// and as the time since when all that is read was all there is. millis is when
// the last transaction before the place was committed.
func (m *monitor) lag(uuid, file string, offset uint64, millis int64) (bytes int64, lag time.Duration, asked time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	read := 0
	for read < len(m.ends) && m.ends[read].uuid == uuid && file != "" && m.ends[read].reached(file, offset) {
		m.readAt = max(m.readAt, m.ends[read].millis)
		read++
	}
	if read == len(m.ends) {
		read = max(0, read-1) // the log may not have moved since
	}
	m.ends = m.ends[read:]
	if bytes = m.end.behind(uuid, file, offset); bytes == 0 {
		return 0, 0, m.end.asked
	}
	since := max(m.readAt, millis)
	if m.end == nil || since == 0 {
		return bytes, 0, time.Time{}
	}
	now := m.end.millis + time.Since(m.end.asked).Milliseconds()
	return bytes, max(0, time.Duration(now-since)*time.Millisecond), time.Time{}
}

// progress is what the stream knew of itself when it last had the time to tell.
type progress struct {
	status dataflow.SourceStatus
	uuid   string
	file   string
	offset uint64
	millis int64
}

// report publishes progress.
func (r *Reader) report() {
	s := r.run
	p := progress{
		status: dataflow.SourceStatus{
			Phase: "stream", Rows: s.rows, SnapshotDone: s.snapRows, SnapshotTotal: max(s.snapTotal, s.snapRows),
			Complete: r.complete(), Position: r.pos.String(), Tables: r.tableStates(),
		},
		uuid: r.pos.ServerUUID, file: r.pos.File, offset: r.pos.Offset, millis: r.pos.TimeMillis,
	}
	if s.snap != nil {
		p.status.Phase = "snapshot"
	} else {
		p.status.SnapshotTotal = s.snapRows
	}
	p.status.CaughtUp = p.status.Complete && r.beyond(&r.startNow)
	s.told.Store(&p)
	s.publish()
}

// publish reports what the stream told, with the lag of now. The monitor calls it
// too, as the stream tells nothing while the sink does not take its rows.
func (s *runState) publish() {
	p := s.told.Load()
	if p == nil {
		return
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	st := p.status
	var asked time.Time
	st.LagBytes, st.Lag, asked = s.mon.lag(p.uuid, p.file, p.offset, p.millis)
	if st.CaughtUp && st.LagBytes == 0 && asked.After(s.readAsOf) {
		s.readAsOf = asked
	}
	st.ReadAsOf = s.readAsOf
	st.NeededLog, st.PurgeAt, st.Retention = s.mon.guard.state()
	s.out.Report(st)
}
