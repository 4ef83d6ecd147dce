package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/diag"
)

// connect opens the binlog connection in the background, after wait; the result
// comes through the dial channel. It starts after the last edge.
func (r *Reader) connect(ctx context.Context, wait time.Duration) {
	s, pos, first := r.run, r.pos.clone(), r.server
	s.wg.Go(func() {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		d, sv, err := r.open(ctx, pos, first)
		select {
		case s.dial <- dialed{d, sv, err}:
		case <-ctx.Done():
			if d != nil {
				d.conn.close()
			}
		}
	})
}

// open checks that the server can continue from pos, and asks for the log.
func (r *Reader) open(ctx context.Context, pos Position, before *server) (*dumper, *server, error) {
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer n.close()
	s, err := n.inspect()
	if err != nil {
		return nil, nil, err
	}
	if s.uuid != before.uuid && pos.GTID != nil {
		// The old file names mean nothing here.
		pos.File, pos.Offset = "", 0
	}
	if err := r.resumable(ctx, n, s, pos); err != nil {
		return nil, nil, r.concerned(err)
	}
	r.noteServerID(n, s)
	d, err := r.cfg.startDump(ctx, r.run.queue, r.byName, pos, s)
	return d, s, err
}

// checkReset ends the stream of a log that was reset meanwhile: the server does not.
func (r *Reader) checkReset(ctx context.Context) error {
	back := &r.run.mon.back
	if !back.Load() {
		return nil
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil //nolint:nilerr // a server that is away ends the stream, which looks then
	}
	defer n.close()
	err = r.resumable(ctx, n, r.server, r.pos)
	if err != nil && diag.DomainOf(err) != diag.Guard {
		return nil // it could not be found out: once more
	}
	back.Store(false)
	return err
}

// resumable checks that the server can continue from pos, and that its log is the
// one that the job has read: names of files, offsets and GTIDs are used again after
// RESET BINARY LOGS AND GTIDS.
func (r *Reader) resumable(ctx context.Context, n *conn, s *server, pos Position) error {
	if err := n.resumable(ctx, s, pos); err != nil {
		return err
	}
	if pos.File == "" || pos.Begun == 0 || pos.ServerUUID != s.uuid {
		return nil
	}
	files, err := n.logFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	at := slices.IndexFunc(files, func(f logFile) bool { return f.name == pos.File })
	if at < 0 {
		newest := files[len(files)-1].name
		base, _, _ := splitFile(newest)
		if then, _, ok := splitFile(pos.File); ok && base == then && compareFiles(newest, pos.File) < 0 {
			return resetError(n.addr, "the newest file of the log is "+newest+" now, and the job stood in "+pos.File)
		}
		return nil // purged, and not needed any more
	}
	begun, err := r.created(ctx, pos.File)
	if err != nil || begun == pos.Begun {
		return err
	}
	day := func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.DateTime) }
	return resetError(n.addr, fmt.Sprintf("%s was begun %s, and the file in which the job stood %s (UTC)", pos.File, day(begun), day(pos.Begun)))
}

func resetError(addr, note string) error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceIdentity,
		Msg:   fmt.Sprintf("the binlog of MySQL at %s was reset since the job read it: what happened between is not in it", addr),
		Notes: []string{note}, Hint: "take a new snapshot of the tables with --fresh --replace",
	}
}

// concerned adds the tables to an error that asks for a new snapshot of them.
func (r *Reader) concerned(err error) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Code == diag.CodeSourcePurged {
		names := make([]string, 0, len(r.cfg.Tables))
		for _, t := range r.cfg.Tables {
			names = append(names, t.Database+"."+t.Name)
		}
		const shown = 10
		if n := len(names) - shown; n > 0 {
			names = append(names[:shown], fmt.Sprintf("and %d more", n))
		}
		e.Notes = append(e.Notes, "tables: "+strings.Join(names, ", "))
	}
	return err
}

// noteServerID warns of another client of the binlog with the same server id:
// servers and their tools may take the two for one.
func (r *Reader) noteServerID(n *conn, s *server) {
	if host := r.sameServerID(n, s); host != "" {
		r.log.Warn("another client of the binlog uses the same server-id: give each job a 'server-id' of its own, or leave the option out",
			"server", n.addr, "server_id", r.cfg.ServerID, "client", host)
	}
}

// sameServerID gives the host of another client of the binlog with our server id, "" if there is none.
func (r *Reader) sameServerID(n *conn, s *server) string {
	sql := "SHOW SLAVE HOSTS"
	if !s.mariadb && versionAtLeast(s.version, 8, 1) {
		sql = "SHOW REPLICAS"
	}
	t, err := n.query(sql)
	id, host := t.col("Server_Id"), t.col("Host")
	own := max(t.col("Replica_UUID"), t.col("Slave_UUID"))
	if err != nil || id < 0 || host < 0 || own < 0 {
		return "" // MariaDB does not tell a connection of ours from another client; it ends the older one
	}
	for _, row := range t.rows {
		if row[own] == r.cfg.replica.id() {
			continue // a connection of this job that is about to end, perhaps of its last run
		}
		if number(row[id]) == int64(r.cfg.ServerID) {
			return row[host]
		}
	}
	return ""
}

// dialed takes over a new connection.
func (r *Reader) dialed(ctx context.Context, d dialed) error {
	s := r.run
	if d.err != nil {
		return r.retry(ctx, d.err)
	}
	if d.server.uuid != r.pos.ServerUUID {
		if s.resuming {
			d.d.conn.close()
			return r.otherTransaction()
		}
		if r.pos.ServerUUID != "" {
			r.log.Info("source is another server of the same history", "before", r.pos.ServerUUID, "now", d.server.uuid)
		}
		r.pos.ServerUUID, r.pos.File, r.pos.Offset = d.server.uuid, "", 0
	}
	r.server, s.connected = d.server, true
	s.mon.server.Store(d.server)
	s.wg.Go(func() { d.d.run(ctx) })
	return nil
}

// lost follows the end of a connection: its events were all applied, and the
// next one starts after the last edge.
func (r *Reader) lost(ctx context.Context, err error) error {
	s := r.run
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errSpoiled) && s.open.active {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
			Msg: "a transaction of the binlog of " + r.server.addr + " came broken", Cause: err,
			Hint: "the job starts again from its last checkpoint; if it comes broken again, look whether the server can read its own log with mysqlbinlog --verify-binlog-checksum",
		}
	}
	s.skip, s.connected = 0, false
	s.resuming = s.open.active
	return r.retry(ctx, err)
}

// retry plans the next connection, or gives the error that ends the reading.
func (r *Reader) retry(ctx context.Context, err error) error {
	s := r.run
	var my *mysql.MyError
	switch {
	case !errors.As(err, &my):
	case strings.Contains(my.Message, "same server_uuid/server_id"): // whose number differs from server to server
		// Nothing is lost: the stream goes on after the last edge.
		if s.clashes++; s.clashes > max(r.cfg.MaxRetries, 1) {
			return clashError(r.server.addr, r.cfg.ServerID)
		}
		r.cfg.replica.set("") // a job that began with a savepoint of this one may have the same
		r.log.Warn("another client of the binlog took over the server-id; connecting again", "server_id", r.cfg.ServerID, "times", s.clashes)
		r.connect(ctx, backoff(s.clashes))
		return nil
	case my.Code == mysql.ER_MASTER_FATAL_ERROR_READING_BINLOG:
		return fatalLogError(r.server.addr, my.Message)
	}
	s.failures++
	if !transient(err) || s.failures > max(r.cfg.MaxRetries, 1) {
		return sourceError(r.server.addr, err)
	}
	r.log.Warn("the binlog connection broke; connecting again", "error", err, "position", r.pos.String(), "failures", s.failures)
	r.connect(ctx, backoff(s.failures-1))
	return nil
}

// sourceError makes an error of the stream one that people can act on. A broken
// connection may be cured by a restart of the job.
func sourceError(addr string, err error) error {
	var e *diag.Error
	var l diag.List
	if errors.As(err, &e) || errors.As(err, &l) {
		return err
	}
	if denied(err) {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceGrant,
			Msg: fmt.Sprintf("MySQL at %s: the account lost a privilege that it had when the job started", addr), Cause: err,
			Hint: "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* to it, then start the job again; nothing is lost",
		}
	}
	if !transient(err) {
		return fmt.Errorf("reading the binlog of %s: %w", addr, err)
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
		Msg: "the binlog connection to " + addr + " broke", Cause: err,
		Hint: "check that the server runs; 'connect.max-retries' says how often to try",
	}
}

// clashError tells of two clients that end each other's connections.
func clashError(addr string, id uint32) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
		Msg:  fmt.Sprintf("another client of the binlog of %s uses the server-id %d too, and each ends the connection of the other", addr, id),
		Hint: "give each job a 'server-id' of its own, or leave the option out",
	}
}

// fatalLogError reads the server's refusal to send the log.
func fatalLogError(addr, message string) error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourcePurged,
		Msg:  fmt.Sprintf("MySQL at %s cannot send the binlog from where the job stands: %s", addr, message),
		Hint: "if the log was purged, take a new snapshot of the tables with --fresh --replace; if another replica uses the same server id, set another 'server-id'",
	}
}
