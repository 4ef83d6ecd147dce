package cdc

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"leat/internal/dataflow"
)

// guard knows which files of the log a restart would need, and when the server
// may remove the oldest of them: its time of keeping runs from when the file was
// closed, which is when the next one was begun.
type guard struct {
	log *slog.Logger
	// created finds out when a file was begun, in seconds since 1970.
	created func(ctx context.Context, file string) (int64, error)
	// listed is when the files were last listed.
	listed time.Time
	begun  map[string]int64
	// level is the share of the time of keeping that was last warned of.
	level int

	mu sync.Mutex
	// states are the oldest places that states of checkpoints under way need, needed
	// is that of the last one in the log.
	states    map[dataflow.CheckpointID]mark
	needed    mark
	purgeAt   time.Time
	retention time.Duration
}

func newGuard(r *Reader) *guard {
	return &guard{log: r.log, created: r.created, begun: map[string]int64{}, states: map[dataflow.CheckpointID]mark{}, needed: r.oldestNeeded()}
}

// oldestNeeded is the oldest place in the log that a state of now needs.
func (r *Reader) oldestNeeded() mark {
	m := mark{uuid: r.pos.ServerUUID, file: r.pos.File, offset: r.pos.Offset}
	if b := r.behind; b != nil && b.pos.ServerUUID == m.uuid && b.pos.File != "" && (m.file == "" || m.compare(b.pos.File, b.pos.Offset) < 0) {
		m.file, m.offset = b.pos.File, b.pos.Offset
	}
	for _, x := range r.pos.prepared {
		if x.from != nil && x.from.ServerUUID == m.uuid && x.from.File != "" && (m.file == "" || m.compare(x.from.File, x.from.Offset) < 0) {
			m.file, m.offset = x.from.File, x.from.Offset
		}
	}
	return m
}

// keep notes what the state of a checkpoint needs.
func (g *guard) keep(id dataflow.CheckpointID, m mark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.states[id] = m
}

// completed says that the state of a checkpoint is in the log.
func (g *guard) completed(id dataflow.CheckpointID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m, ok := g.states[id]; ok {
		g.needed = m
	}
	for k := range g.states {
		if k <= id {
			delete(g.states, k)
		}
	}
}

// Completed says that the state of a checkpoint is in the log.
func (r *Reader) Completed(id dataflow.CheckpointID) {
	if g := r.guard.Load(); g != nil {
		g.completed(id)
	}
}

func (g *guard) state() (file string, purgeAt time.Time, retention time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.needed.file, g.purgeAt, g.retention
}

// retention reads how long the server keeps its log, 0 for ever.
func (n *conn) retention() (time.Duration, error) {
	t, err := n.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_expire_logs_seconds', 'binlog_expire_logs_auto_purge', 'expire_logs_days')")
	if err != nil {
		return 0, err
	}
	vars := map[string]string{}
	for _, r := range t.rows {
		vars[r[0]] = r[1]
	}
	if vars["binlog_expire_logs_auto_purge"] == "OFF" {
		return 0, nil
	}
	if s := number(vars["binlog_expire_logs_seconds"]); s > 0 {
		return time.Duration(s) * time.Second, nil
	}
	days, err := time.ParseDuration(vars["expire_logs_days"] + "s") // MariaDB allows fractions
	if err != nil {
		return 0, nil //nolint:nilerr // the server has no such variable
	}
	return days * 24 * 60 * 60, nil
}

// look finds out when the oldest file that is needed may go, and warns.
func (g *guard) look(ctx context.Context, n *conn, s *server, end *logEnd) error {
	keeps, err := n.retention()
	if err != nil {
		return err
	}
	g.mu.Lock()
	needed := g.needed
	g.mu.Unlock()
	var purgeAt time.Time
	if needed.uuid == s.uuid && needed.file != "" && len(end.files) > 0 {
		i := slices.IndexFunc(end.files, func(f logFile) bool { return f.name == needed.file })
		switch {
		case i < 0 && compareFiles(end.files[0].name, needed.file) > 0:
			g.purged(needed.file, s)
			g.mu.Lock()
			g.purgeAt, g.retention = time.UnixMilli(end.millis), keeps
			g.mu.Unlock()
			return nil
		case i >= 0 && i+1 < len(end.files) && keeps > 0:
			closed, err := g.begin(ctx, end.files[i+1].name)
			if err != nil {
				return err
			}
			purgeAt = time.Unix(closed, 0).Add(keeps)
		}
	}
	g.mu.Lock()
	g.purgeAt, g.retention = purgeAt, keeps
	g.mu.Unlock()
	g.warn(needed.file, purgeAt, keeps, time.UnixMilli(end.millis))
	return nil
}

// begin tells when a file was begun; it asks the server once a file.
func (g *guard) begin(ctx context.Context, file string) (int64, error) {
	if at, ok := g.begun[file]; ok {
		return at, nil
	}
	at, err := g.created(ctx, file)
	if err == nil {
		clear(g.begun) // one is asked for at a time
		g.begun[file] = at
	}
	return at, err
}

const tooLate = 100

func (g *guard) purged(file string, s *server) {
	if g.level >= tooLate {
		return
	}
	g.level = tooLate
	g.log.Warn("the binlog that the last checkpoint needs is purged: the job goes on as long as it runs, and after a restart its tables may have to be read anew",
		"server", s.addr, "file", file, "remedy", "see that checkpoints complete again before the job ends; raise binlog_expire_logs_seconds")
}

// warn warns when half of the time of keeping is left, and again at a quarter and
// an eighth, and when it is over.
func (g *guard) warn(file string, purgeAt time.Time, keeps time.Duration, now time.Time) {
	if purgeAt.IsZero() {
		g.level = 0
		return
	}
	if g.level == tooLate {
		g.level = 0 // it was so for an earlier checkpoint
	}
	left, level := purgeAt.Sub(now), 0
	for share := keeps / 2; level < 3 && left < share; share /= 2 {
		level++
	}
	if left <= 0 {
		level = 4
	}
	if level > g.level || level == 0 {
		if level > 0 {
			g.log.Warn("the server may purge binlog that the job still needs, as the last checkpoint is that far behind",
				"file", file, "purged_in", max(0, left).Round(time.Second).String(), "kept_for", keeps.String(),
				"remedy", "SET GLOBAL binlog_expire_logs_seconds to more, and see what holds the job up")
		}
		g.level = level
	}
}
