package cdc

import (
	"context"
	"sync/atomic"
	"time"

	"leat/internal/dataflow"
)

// monitor asks the server once a second how far its log is, so that lag is true
// even while the stream is busy or idle.
type monitor struct {
	cfg    *Config
	server atomic.Pointer[server]
	end    atomic.Pointer[logEnd]
}

// logEnd is the end of the log at one moment.
type logEnd struct {
	uuid  string
	files []logFile
	// millis is the clock of the server, asked ours before it was looked at.
	millis int64
	asked  time.Time
}

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
				err = m.look(n, s)
			}
			if err != nil {
				n.close()
				n = nil
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

func (m *monitor) look(n *conn, s *server) error {
	asked := time.Now()
	files, err := n.logFiles()
	if err != nil {
		return err
	}
	ms, err := n.value("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)")
	if err != nil {
		return err
	}
	m.end.Store(&logEnd{uuid: s.uuid, files: files, millis: number(ms), asked: asked})
	return nil
}

// behind gives the bytes of log after a place; -1 if unknown.
func (e *logEnd) behind(uuid, file string, offset uint64) int64 {
	if e == nil || e.uuid != uuid || file == "" {
		return -1
	}
	var n int64
	for _, f := range e.files {
		switch c := compareFiles(f.name, file); {
		case c == 0:
			n += max(0, f.size-int64(offset))
		case c > 0:
			n += f.size
		}
	}
	return n
}

// report publishes progress.
func (r *Reader) report() {
	s := r.run
	st := dataflow.SourceStatus{
		Phase: "stream", Rows: s.rows, SnapshotDone: s.snapRows, SnapshotTotal: max(s.snapTotal, s.snapRows),
		LagBytes: -1, Complete: r.complete(), Position: r.pos.String(),
	}
	if s.snap != nil {
		st.Phase = "snapshot"
	} else {
		st.SnapshotTotal = s.snapRows
	}
	end := s.mon.end.Load()
	st.LagBytes = end.behind(r.pos.ServerUUID, r.pos.File, r.pos.Offset)
	if end != nil && st.LagBytes != 0 && r.pos.TimeMillis > 0 {
		st.Lag = max(0, time.Duration(end.millis-r.pos.TimeMillis)*time.Millisecond)
	}
	st.CaughtUp = st.Complete && r.beyond(&r.startNow)
	if st.CaughtUp && st.LagBytes == 0 {
		s.readAsOf = end.asked
	}
	st.ReadAsOf = s.readAsOf
	s.out.Report(st)
}
