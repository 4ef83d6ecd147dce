package cdc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// openXA finds the XA transactions that were prepared before the place from which a
// job starts and end behind it: their rows stand in a part of the log that the job
// does not read. Each is kept with the place before its rows, from which they are
// read once it is committed.
//
// The log is read from the start of the file of the place, and of earlier files as
// long as the server lists prepared transactions that were not found.
//
// missing are those that the server listed before the place was chosen: one that is
// prepared later is behind it, and would be looked for in all files in vain.
func (r *Reader) openXA(ctx context.Context, n *conn, missing map[string]bool) (xaTransactions, error) {
	open := xaTransactions{}
	if used, err := n.usesXA(); err != nil || !used && len(missing) == 0 {
		return open, err
	}
	files, err := n.logFiles()
	if err != nil {
		return nil, err
	}
	end, err := n.endOfLog(r.server)
	if err != nil {
		return nil, err
	}
	if r.pos.File != "" {
		end = mark{file: r.pos.File, offset: r.pos.Offset}
	}
	for i, f := range slices.Backward(files) {
		if compareFiles(f.name, end.file) > 0 {
			continue
		}
		found, err := r.preparedIn(ctx, n, f.name, end, missing)
		if err != nil {
			return nil, err
		}
		for id, rows := range found {
			if _, known := open[id]; !known { // by a later file
				open[id] = rows
			}
		}
		if len(missing) == 0 || i == 0 {
			break
		}
		end = mark{file: f.name, offset: 4}
	}
	for id := range missing {
		r.log.Warn("an XA transaction is prepared whose rows are in no binlog file any more: if it is committed, the job ends", "xid", id)
	}
	for id, rows := range open {
		if rows == nil {
			delete(open, id)
			continue
		}
		r.log.Info("an XA transaction is open at the start: its rows are read once it is committed", "xid", id, "after", rows.from.String())
	}
	return open, nil
}

// preparedIn gives the XA transactions of one file before end: nil for one that has
// ended, else with the place before its rows. All that it sees are missing no more.
func (r *Reader) preparedIn(ctx context.Context, n *conn, file string, end mark, missing map[string]bool) (xaTransactions, error) {
	at := Position{ServerUUID: r.server.uuid, File: file, Offset: 4}
	if r.server.gtids {
		set, err := n.previousGTIDs(r.server, file)
		if err != nil {
			return nil, err
		}
		at.GTID = set
	}
	found := xaTransactions{}
	if end.reached(file, 4) {
		return found, nil
	}
	err := r.each(ctx, file, func(e *event) bool {
		switch {
		case e.kind != evCommit && e.kind != evAdvance:
			return false
		case e.file != file:
			return true
		}
		if e.xa != nil {
			delete(missing, e.xa.id)
		}
		passed := r.pos.File != "" || r.pos.GTID == nil || e.id.gno == 0 || r.pos.GTID.Has(e.id)
		if e.kind == evCommit && e.xa != nil && passed {
			found[e.xa.id] = nil
			if e.xa.rows != nil {
				from := at.clone()
				found[e.xa.id] = &xaRows{from: &from}
			}
		}
		if e.kind == evCommit && at.GTID != nil && e.id.gno != 0 {
			at.GTID.Add(e.id)
		}
		at.Offset = e.offset
		return end.reached(e.file, e.offset)
	})
	return found, err
}

// usesXA reports whether anybody has prepared a transaction since the server began.
func (n *conn) usesXA() (bool, error) {
	t, err := n.query("SHOW GLOBAL STATUS LIKE 'Com_xa_prepare'")
	if err != nil || len(t.rows) == 0 || len(t.rows[0]) < 2 {
		return false, err
	}
	return t.rows[0][1] != "0", nil
}

// listedXA gives the prepared transactions that the server lists, by their ids as the
// log writes them; none where the account may not see them.
func (n *conn) listedXA(s *server) (map[string]bool, error) {
	list := "XA RECOVER CONVERT XID"
	if s.mariadb {
		list = "XA RECOVER"
	}
	out := map[string]bool{}
	t, err := n.query(list)
	if denied(err) || errorCode(err) == mysql.ER_XAER_RMERR {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, row := range t.rows { // format, length of the first part, of the second, both parts
		global := number(row[1])
		if s.mariadb {
			out[fmt.Sprintf("%s %d %x", row[0], global, row[3])] = true
			continue
		}
		if hex := strings.ToLower(strings.TrimPrefix(row[3], "0x")); int64(len(hex)) >= 2*global {
			out[fmt.Sprintf("X'%s',X'%s',%s", hex[:2*global], hex[2*global:], row[0])] = true
		}
	}
	return out, nil
}
