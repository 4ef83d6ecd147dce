package cdc

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/diag"
)

// conn is one session on the server. It is used by one goroutine at a time.
type conn struct {
	*client.Conn
	addr string
	// rd reads packets behind the client's back, with a large buffer: see rows.
	rd *bufio.Reader
	// release ends the watch over the context the connection was made with.
	release func() bool
}

// packetBuffer is the read buffer of a connection that streams rows or events, in bytes.
const packetBuffer = 256 << 10

// connect opens a session. It ends, and its calls fail, when ctx is done.
func (c *Config) connect(ctx context.Context) (*conn, error) {
	first, second := c.TLS, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		second = nil
	}
	if c.other != nil && c.other.Load() {
		first, second = second, first
	}
	n, err := c.open(ctx, first)
	if err == nil || !c.TLSAsNeeded || !wantsOther(err, first != nil) {
		return n, err
	}
	n, retry := c.open(ctx, second)
	if retry != nil {
		return nil, err // of what the user asked for
	}
	if c.other != nil && !c.other.Swap(!c.other.Load()) && second != nil && c.Log != nil {
		c.Log.Warn("the account needs TLS, which is used without a check of the server's certificate", "server", n.addr, "remedy", "'jdbc.properties.sslMode' = 'VERIFY_IDENTITY'")
	}
	return n, nil
}

// wantsOther reports whether the server may take the account with TLS after it
// refused it without, or the other way round.
func wantsOther(err error, withTLS bool) bool {
	var e *diag.Error
	if withTLS {
		return strings.Contains(err.Error(), "TLS") || strings.Contains(err.Error(), "SSL")
	}
	return errors.As(err, &e) && e.Code == diag.CodeSourceAuth
}

// open opens a session, encrypted if tlsConfig is not nil.
func (c *Config) open(ctx context.Context, tlsConfig *tls.Config) (*conn, error) {
	addr := net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
	timeout := c.ConnectTimeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	dialCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The deadline covers the handshake as well as the dial, and so does an end of
	// ctx: whatever listens there may never say a word.
	release := func() bool { return true }
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		nc, err := d.DialContext(dialCtx, network, address)
		if err == nil {
			err = nc.SetDeadline(time.Now().Add(timeout))
			release = context.AfterFunc(ctx, func() { _ = nc.Close() })
		}
		return nc, err
	}
	cc, err := client.ConnectWithDialer(dialCtx, "", addr, c.User, c.Password, "", dial, func(cc *client.Conn) error {
		// Rows are read by our own reader, which expects the classic end packets.
		cc.UnsetCapability(mysql.CLIENT_DEPRECATE_EOF)
		cc.UnsetCapability(mysql.CLIENT_QUERY_ATTRIBUTES)
		cc.SetAttributes(map[string]string{"program_name": "leat"})
		if tlsConfig != nil {
			cc.SetTLSConfig(tlsConfig)
		}
		return nil
	})
	release()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.connectError(addr, err)
	}
	for _, sql := range sessionSettings(cc.GetServerVersion()) {
		if _, err := cc.Execute(sql); err != nil {
			return nil, errors.Join(c.connectError(addr, err), cc.Close())
		}
	}
	if err := cc.SetDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	n := &conn{Conn: cc, addr: addr, rd: bufio.NewReaderSize(cc.Conn.Conn, packetBuffer)}
	// Only the socket: the rest belongs to the goroutine that uses the session.
	socket := cc.Conn.Conn
	n.release = context.AfterFunc(ctx, func() { _ = socket.Close() })
	return n, nil
}

// sessionSettings are statements that make a session independent of what the
// server gives to new ones: limits that cut results short or end them, modes that
// change what a statement or a value means, and how long a session may idle.
func sessionSettings(version string) []string {
	settings := []string{
		"sql_mode = ''", "sql_select_limit = 18446744073709551615", "sql_big_selects = 1", "autocommit = 1", "completion_type = 0",
		"wait_timeout = 28800",
	}
	if isMariaDB(version) {
		settings = append(settings, "max_statement_time = 0")
	} else {
		// The comment is for servers that know the variable.
		settings = append(settings, "max_execution_time = 0 /*!80030 , SESSION show_gipk_in_create_table_and_information_schema = 1 */")
	}
	return []string{
		// The collation of the handshake is not known to every server, and some do not
		// listen to it: names and labels would come in their character set.
		"SET NAMES utf8mb4",
		"SET SESSION " + strings.Join(settings, ", SESSION "),
	}
}

// close ends the session without waiting for the server.
func (n *conn) close() {
	if n == nil {
		return
	}
	n.release()
	_ = n.Close()
}

// secureTransportRequired is ER_SECURE_TRANSPORT_REQUIRED.
const secureTransportRequired = 3159

// connectError says why no session could be opened.
func (c *Config) connectError(addr string, err error) error {
	var my *mysql.MyError
	var told *diag.Error
	if errors.As(err, &told) { // by a check of Config.TLS
		e := *told
		e.Msg = "MySQL at " + addr + ": " + e.Msg
		return &e
	}
	if errors.As(err, &my) {
		switch my.Code {
		case mysql.ER_ACCESS_DENIED_ERROR, mysql.ER_ACCESS_DENIED_NO_PASSWORD_ERROR, mysql.ER_DBACCESS_DENIED_ERROR:
			return &diag.Error{
				Domain: diag.External, Code: diag.CodeSourceAuth,
				Msg:  fmt.Sprintf("MySQL at %s refuses user '%s': %s", addr, c.User, my.Message),
				Hint: "check 'username' and 'password', and from which hosts the user may connect",
			}
		case secureTransportRequired:
			return &diag.Error{
				Domain: diag.External, Code: diag.CodeSourceAuth,
				Msg:  fmt.Sprintf("MySQL at %s takes only encrypted connections: %s", addr, my.Message),
				Hint: "set 'jdbc.properties.sslMode' = 'REQUIRED'",
			}
		case mysql.ER_CON_COUNT_ERROR:
			return &diag.Error{
				Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
				Msg:  fmt.Sprintf("MySQL at %s has no free connection: %s", addr, my.Message),
				Hint: "raise max_connections at the server, or close other sessions",
			}
		}
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
		Msg:   "no connection to MySQL at " + addr,
		Cause: errors.New(firstLine(err)),
		Hint:  "check 'hostname' and 'port', that the server runs, and that no firewall stands between",
	}
}

// firstLine is the text of err without the stack that some libraries append.
func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// exec runs a statement and drops its result.
func (n *conn) exec(sql string) error {
	r, err := n.Execute(sql)
	if err != nil {
		return n.failed(sql, err)
	}
	r.Close()
	return nil
}

// failed is the error of a statement, which says whether the statement may
// succeed later, as one whose connection broke.
func (n *conn) failed(sql string, err error) error {
	err = fmt.Errorf("running %s: %w", clip(sql), trimError(err))
	if !transient(err) {
		return err
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceReach, Retry: true,
		Msg: "a statement that may succeed later failed at MySQL at " + n.addr, Cause: err, Hint: "check that the server runs",
	}
}

// table is a small result: the text of each cell, "" for NULL.
type resultTable struct {
	names []string
	rows  [][]string
}

// col gives the index of a column of the result by its name, without case; -1 if there is none.
func (t resultTable) col(name string) int {
	for i, n := range t.names {
		if strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

// query runs a statement with a small result.
func (n *conn) query(sql string) (resultTable, error) {
	r, err := n.Execute(sql)
	if err != nil {
		return resultTable{}, n.failed(sql, err)
	}
	defer r.Close()
	var t resultTable
	if r.Resultset == nil {
		return t, nil
	}
	for _, f := range r.Fields {
		t.names = append(t.names, string(f.Name))
	}
	for i := range r.RowNumber() {
		row := make([]string, r.ColumnNumber())
		for j := range row {
			text, err := r.GetString(i, j)
			if err != nil {
				return resultTable{}, fmt.Errorf("reading the result of %s: %w", clip(sql), err)
			}
			row[j] = strings.Clone(text) // the library reuses the memory behind it
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// value runs a statement whose result is one cell.
func (n *conn) value(sql string) (string, error) {
	t, err := n.query(sql)
	if err != nil {
		return "", err
	}
	if len(t.rows) == 0 || len(t.rows[0]) == 0 {
		return "", fmt.Errorf("running %s: no result", clip(sql))
	}
	return t.rows[0][0], nil
}

// rows runs a SELECT and hands each row packet of the text protocol to fn, which
// must not keep it. It reads the socket through its own buffer: row packets are
// then slices of that buffer, without a copy.
func (n *conn) rows(sql string, fn func(packet []byte) error) error {
	n.ResetSequence()
	cmd := make([]byte, 5, 5+len(sql))
	cmd[4] = mysql.COM_QUERY
	if err := n.WritePacket(append(cmd, sql...)); err != nil {
		return fmt.Errorf("running %s: %w", clip(sql), trimError(err))
	}
	pr := packetReader{rd: n.rd}
	head, err := pr.next()
	if err != nil {
		return fmt.Errorf("running %s: %w", clip(sql), err)
	}
	if head[0] == mysql.ERR_HEADER {
		return fmt.Errorf("running %s: %w", clip(sql), n.HandleErrorPacket(head))
	}
	// Column definitions, up to the first end packet, are what the plan knows already.
	for ended := 0; ended < 2; {
		p, err := pr.next()
		switch {
		case err != nil:
			return fmt.Errorf("reading the rows of %s: %w", clip(sql), err)
		case p[0] == mysql.EOF_HEADER && len(p) < 9:
			ended++
		case p[0] == mysql.ERR_HEADER:
			return fmt.Errorf("reading the rows of %s: %w", clip(sql), n.HandleErrorPacket(p))
		case ended == 1:
			if err := fn(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// clip shortens a statement for a message.
func clip(sql string) string {
	sql = strings.Join(strings.Fields(sql), " ")
	if len(sql) > 120 {
		sql = sql[:117] + "…"
	}
	return sql
}

// trimError drops the stack trace that the client library puts into texts, and
// keeps the error's kind.
func trimError(err error) error {
	var my *mysql.MyError
	if errors.As(err, &my) {
		return my
	}
	if errors.Is(err, mysql.ErrBadConn) {
		return fmt.Errorf("%w: %s", mysql.ErrBadConn, firstLine(err))
	}
	return err
}

// errorCode is the MySQL error number in err's chain, 0 if there is none.
func errorCode(err error) uint16 {
	var my *mysql.MyError
	if errors.As(err, &my) {
		return my.Code
	}
	return 0
}
