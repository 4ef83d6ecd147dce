package cdc

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"leat/internal/diag"
)

// server is what leat knows of the server it reads.
type server struct {
	addr    string
	version string
	uuid    string
	mariadb bool
	// gtids says that every transaction has a GTID.
	gtids bool
	// logStatus is the statement that gives the end of the binlog.
	logStatus string
	// offset is what the zone of the server adds to UTC now.
	offset time.Duration
	zone   string
	vars   map[string]string
}

// serverVars are the variables that decide how the server is read.
var serverVars = []string{
	"version", "version_comment", "server_uuid", "gtid_mode", "log_bin", "binlog_format", "binlog_row_image",
	"binlog_row_value_options", "binlog_row_metadata", "binlog_expire_logs_seconds", "lower_case_table_names",
	"server_id", "time_zone", "system_time_zone", "innodb_native_foreign_keys",
	"server_uid", "hostname", "port", "expire_logs_days",
}

// inspect reads the variables of the server.
func (n *conn) inspect() (*server, error) {
	t, err := n.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('" + strings.Join(serverVars, "', '") + "')")
	if err != nil {
		return nil, err
	}
	s := &server{addr: n.addr, vars: map[string]string{}}
	for _, r := range t.rows {
		s.vars[strings.ToLower(r[0])] = r[1]
	}
	s.version, s.uuid = s.vars["version"], s.vars["server_uuid"]
	s.mariadb = strings.Contains(strings.ToLower(s.version+s.vars["version_comment"]), "mariadb")
	s.gtids = s.mariadb || s.vars["gtid_mode"] == "ON"
	if s.mariadb {
		s.uuid = s.identify()
	}
	s.logStatus = "SHOW MASTER STATUS"
	if !s.mariadb && versionAtLeast(s.version, 8, 2) {
		s.logStatus = "SHOW BINARY LOG STATUS"
	}
	secs, err := n.value("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())")
	if err != nil {
		return nil, err
	}
	// The two clocks of one statement may fall on either side of a second.
	s.offset = (time.Duration(number(secs)) * time.Second).Round(time.Minute)
	if s.zone = s.vars["time_zone"]; s.zone == "SYSTEM" {
		s.zone = s.vars["system_time_zone"]
	}
	return s, nil
}

// folds reports whether names that differ in case are one table, and the log may
// hold another spelling than users write.
func (s *server) folds() bool { return s.vars["lower_case_table_names"] != "0" }

// tableKey is the map key of a table.
func (s *server) tableKey(schema, name string) string {
	if s.folds() {
		schema, name = strings.ToLower(schema), strings.ToLower(name)
	}
	return schema + "\x00" + name
}

// versionAtLeast compares the first two numbers of a version such as 8.0.36-debian.
func versionAtLeast(version string, major, minor int) bool {
	p := strings.SplitN(version, ".", 3)
	if len(p) < 2 {
		return false
	}
	a, err := strconv.Atoi(p[0])
	if err != nil {
		return false
	}
	b, err := strconv.Atoi(p[1])
	if err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// endOfLog reads where the binlog ends.
func (n *conn) endOfLog(s *server) (mark, error) {
	t, err := n.query(s.logStatus)
	if err != nil {
		return mark{}, err
	}
	file, pos := t.col("File"), t.col("Position")
	if len(t.rows) == 0 || file < 0 || pos < 0 {
		return mark{}, fmt.Errorf("running %s: no result", s.logStatus)
	}
	return mark{uuid: s.uuid, file: t.rows[0][file], offset: uint64(number(t.rows[0][pos]))}, nil
}

// executedSet is the transactions that the server's log holds or held.
func (n *conn) executedSet(s *server) (*GTIDSet, error) {
	variable := "gtid_executed"
	if s.mariadb {
		variable = "gtid_binlog_pos"
	}
	text, err := n.value("SELECT @@GLOBAL." + variable)
	if err != nil {
		return nil, err
	}
	return parseGTIDs(text, s.mariadb)
}

// purgedSet is the transactions that the server's log does not hold any more.
func (n *conn) purgedSet(s *server) (*GTIDSet, error) {
	if s.mariadb {
		return n.mariaPurged(s)
	}
	text, err := n.value("SELECT @@GLOBAL.gtid_purged")
	if err != nil {
		return nil, err
	}
	return parseGTIDs(text, false)
}

// logFile is a row of SHOW BINARY LOGS.
type logFile struct {
	name string
	size int64
}

func (n *conn) logFiles() ([]logFile, error) {
	t, err := n.query("SHOW BINARY LOGS")
	if err != nil {
		return nil, err
	}
	out := make([]logFile, 0, len(t.rows))
	for _, r := range t.rows {
		if len(r) >= 2 {
			out = append(out, logFile{r[0], number(r[1])})
		}
	}
	return out, nil
}

// now is the position at the end of the log.
func (n *conn) now(s *server) (Position, error) {
	p := Position{ServerUUID: s.uuid}
	if s.gtids && !s.mariadb {
		set, err := n.executedSet(s)
		if err != nil {
			return p, err
		}
		p.GTID = set
	}
	end, err := n.endOfLog(s)
	if err != nil {
		return p, err
	}
	p.File, p.Offset = end.file, end.offset
	if s.mariadb {
		if p, err = n.mariaPosition(s, end); err != nil {
			return p, err
		}
	}
	ms, err := n.value("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)")
	if err != nil {
		return p, err
	}
	p.TimeMillis = number(ms)
	return p, nil
}

// resumable checks that the server can continue from pos: that it is the same
// history, and that the log from there on still exists.
func (n *conn) resumable(ctx context.Context, s *server, pos Position) error {
	if pos.GTID == nil {
		return n.resumableFile(s, pos)
	}
	if !s.gtids {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceIdentity,
			Msg:  fmt.Sprintf("the job follows GTIDs, and MySQL at %s has gtid_mode=%s now", n.addr, s.vars["gtid_mode"]),
			Hint: "SET GLOBAL gtid_mode = ON at the server, or read anew with --fresh --replace",
		}
	}
	executed, err := n.executed(ctx, s, pos)
	if err != nil {
		return err
	}
	if !executed.Contains(pos.GTID) {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceIdentity,
			Msg:   fmt.Sprintf("MySQL at %s (%s) lacks transactions that the job has read", n.addr, s.uuid),
			Notes: []string{"missing: " + pos.GTID.minus(executed)},
			Hint:  "connect to the server or replica that has them; a server whose log was reset, or that was restored from a backup, is another history: read it with --fresh --replace",
		}
	}
	purged, err := n.purgedSet(s)
	if err != nil {
		return err
	}
	if !pos.GTID.Contains(purged) {
		return purgedError(n.addr, "purged but not read: "+purged.minus(pos.GTID))
	}
	return nil
}

// catchUpWait is how long a server that took over may take to get what the one
// before had.
const catchUpWait = 30 * time.Second

// patience is catchUpWait for a replica; any other server will not get more by itself.
func (n *conn) patience(s *server) time.Duration {
	show := "SHOW SLAVE STATUS"
	if versionAtLeast(s.version, 8, 4) {
		show = "SHOW REPLICA STATUS"
	}
	if t, err := n.query(show); err != nil || len(t.rows) == 0 {
		return 0
	}
	return catchUpWait
}

// executed reads gtid_executed. A replica that took over is given some time to
// apply what it received.
func (n *conn) executed(ctx context.Context, s *server, pos Position) (*GTIDSet, error) {
	for deadline := time.Now().Add(n.patience(s)); ; {
		set, err := n.executedSet(s)
		if err != nil || set.Contains(pos.GTID) || s.uuid == pos.ServerUUID || time.Now().After(deadline) {
			return set, err
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (n *conn) resumableFile(s *server, pos Position) error {
	if pos.ServerUUID != "" && pos.ServerUUID != s.uuid {
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceIdentity,
			Msg:  fmt.Sprintf("MySQL at %s is another server than before (%s instead of %s), and without GTIDs a position holds for one server", n.addr, s.uuid, pos.ServerUUID),
			Hint: "connect to the server of before, or read this one anew with --fresh --replace; gtid_mode=ON makes a failover possible",
		}
	}
	files, err := n.logFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.name == pos.File {
			return nil
		}
	}
	return purgedError(n.addr, "needed: "+pos.File)
}

func purgedError(addr, note string) error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourcePurged,
		Msg:   fmt.Sprintf("MySQL at %s has purged binlog that the job still needs", addr),
		Notes: []string{note, "rows deleted in the gap would stay in the lake, so the job cannot just go on"},
		Hint:  "take a new snapshot of the tables with --fresh --replace; to prevent it raise binlog_expire_logs_seconds above the longest stop",
	}
}

// awaitGTIDs polls gtid_executed until it holds want, and gives it. A commit
// reaches the log, and so the stream, a moment before that variable.
func (n *conn) awaitGTIDs(ctx context.Context, s *server, want *GTIDSet) (*GTIDSet, error) {
	deadline := time.Now().Add(time.Minute)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		set, err := n.executedSet(s)
		if err != nil {
			return nil, err
		}
		if set.Contains(want) {
			return set, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("waiting for gtid_executed: it lacks %s for a minute", want.minus(set))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
