package cdc

import (
	"errors"
	"net"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/diag"
)

// backoff is the pause before try number n.
func backoff(n int) time.Duration {
	return min(200*time.Millisecond<<min(n, 8), 10*time.Second)
}

// transient reports errors that a new connection or a second try may cure.
func transient(err error) bool {
	if errors.Is(err, errLost) || errors.Is(err, mysql.ErrBadConn) {
		return true
	}
	var ne net.Error
	if errors.As(err, &ne) {
		return true
	}
	switch errorCode(err) {
	case mysql.ER_SERVER_SHUTDOWN, mysql.ER_QUERY_INTERRUPTED, mysql.ER_LOCK_WAIT_TIMEOUT, mysql.ER_LOCK_DEADLOCK,
		mysql.ER_TABLE_DEF_CHANGED, mysql.ER_CON_COUNT_ERROR, 3169 /* ER_SESSION_WAS_KILLED */, 1927, 4031:
		return true
	}
	return diag.Retryable(err)
}
