package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"leat/internal/diag"
)

// earliest is the start of the oldest log that the server still has.
func (n *conn) earliest(s *server) (Position, error) {
	p := Position{ServerUUID: s.uuid}
	if s.gtids {
		set, err := n.purgedSet(s)
		p.GTID = set
		return p, err
	}
	files, err := n.logFiles()
	if err != nil {
		return p, err
	}
	if len(files) == 0 {
		return p, errors.New("looking for the oldest binlog: the server lists none")
	}
	p.File, p.Offset = files[0].name, 4
	return p, nil
}

// givenPosition is the place that the user named. On a server with GTIDs the
// transactions before file:offset are gathered from the log, so that the job
// follows GTIDs from there.
func (r *Reader) givenPosition(ctx context.Context, n *conn) (Position, error) {
	st := r.cfg.Startup
	if st.GTIDs != "" {
		set, err := parseGTIDs(st.GTIDs, r.server.mariadb)
		switch {
		case err != nil:
			return Position{}, badStart("gtid-set", "it is not a GTID set", "write it as the server shows gtid_executed, or MariaDB gtid_binlog_pos")
		case !r.server.gtids:
			return Position{}, badStart("gtid-set", "MySQL at "+n.addr+" has no GTIDs (gtid_mode="+r.server.vars["gtid_mode"]+")", "give 'scan.startup.specific-offset.file' and '.pos'")
		}
		return Position{ServerUUID: r.server.uuid, GTID: set}, nil
	}
	files, err := n.logFiles()
	if err != nil {
		return Position{}, err
	}
	i := slices.IndexFunc(files, func(f logFile) bool { return f.name == st.File })
	if i < 0 {
		return Position{}, badStart("file", fmt.Sprintf("MySQL at %s has no binlog '%s'", n.addr, st.File), "name one of SHOW BINARY LOGS")
	}
	if st.Offset > uint64(files[i].size) {
		return Position{}, badStart("pos", fmt.Sprintf("%d is beyond the end of %s, which has %d bytes", st.Offset, st.File, files[i].size), "give the end of a transaction")
	}
	want := mark{file: st.File, offset: max(st.Offset, 4)}
	if !r.server.gtids {
		return Position{ServerUUID: r.server.uuid, File: want.file, Offset: want.offset}, nil
	}
	return r.scan(ctx, n, st.File, func(e *event) bool {
		return e.file != want.file || e.offset > want.offset
	}, want)
}

func badStart(key, msg, hint string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: "scan.startup.specific-offset." + key, Msg: msg, Hint: hint}
}

// positionAt is the place before the first transaction committed at millis or later.
func (r *Reader) positionAt(ctx context.Context, n *conn, millis int64) (Position, error) {
	if r.server.mariadb {
		millis -= millis % 1000 // its log tells seconds
	}
	files, err := n.logFiles()
	if err != nil {
		return Position{}, err
	}
	end, err := n.endOfLog(r.server)
	if err != nil {
		return Position{}, err
	}
	// The newest file that was begun before that time holds the place. When it was
	// begun is known in seconds, so one begun in the second of that time may have been too late.
	for i, f := range slices.Backward(files) {
		created, err := r.created(ctx, f.name)
		if err != nil {
			return Position{}, err
		}
		if created < millis/1000 || i == 0 {
			return r.scan(ctx, n, f.name, func(e *event) bool { return e.kind == evCommit && e.millis >= millis }, end)
		}
	}
	return Position{}, errors.New("looking for a time in the binlog: the server lists no log")
}

// created is when a binlog file was begun, in seconds since 1970.
func (r *Reader) created(ctx context.Context, file string) (int64, error) {
	var at int64
	err := r.each(ctx, file, func(e *event) bool {
		at = e.begun
		return at != 0
	})
	return at, err
}

// each reads the log from the start of file until fn says to stop. Rows are not read.
func (r *Reader) each(ctx context.Context, file string, fn func(*event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	q := newQueue(1 << 20)
	d, err := r.cfg.aside().startDump(ctx, q, nil, Position{File: file, Offset: 4}, r.server)
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	var events []event
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.ready:
		}
		events = q.take(events)
		for i := range events {
			if events[i].kind == evLost {
				return sourceError(d.conn.addr, events[i].err)
			}
			if fn(&events[i]) {
				return nil
			}
		}
	}
}

// scan gathers the position before the event at which stop says so, or at end.
func (r *Reader) scan(ctx context.Context, n *conn, file string, stop func(*event) bool, end mark) (Position, error) {
	p := Position{ServerUUID: r.server.uuid, File: file, Offset: 4}
	if r.server.gtids {
		set, err := n.previousGTIDs(r.server, file)
		if err != nil {
			return p, err
		}
		p.GTID = set
	}
	err := r.each(ctx, file, func(e *event) bool {
		if e.kind != evCommit && e.kind != evAdvance {
			return false
		}
		if stop(e) {
			return true
		}
		if e.kind == evCommit && p.GTID != nil && e.id.gno != 0 {
			p.GTID.Add(e.id)
		}
		p.File, p.Offset = e.file, e.offset
		if e.kind == evCommit {
			p.TimeMillis = e.millis
		}
		return end.reached(e.file, e.offset)
	})
	return p, err
}

// previousGTIDs is the set of transactions before a binlog file.
func (n *conn) previousGTIDs(s *server, file string) (*GTIDSet, error) {
	if s.mariadb {
		p, err := n.mariaPosition(s, mark{file: file, offset: 4})
		return p.GTID, err
	}
	t, err := n.query("SHOW BINLOG EVENTS IN '" + file + "' LIMIT 5")
	if err != nil {
		return nil, err
	}
	kind, info := t.col("Event_type"), t.col("Info")
	for _, row := range t.rows {
		if kind >= 0 && info >= 0 && row[kind] == "Previous_gtids" {
			return ParseGTIDSet(row[info])
		}
	}
	return nil, fmt.Errorf("reading the head of binlog %s: it names no GTIDs", file)
}
