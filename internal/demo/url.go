package demo

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"leat/internal/diag"
)

// mysqlURL is mysql://user:password@host:port/database.
type mysqlURL struct {
	host, user, password, database string
	port                           int
}

func parseURL(text string) (mysqlURL, error) {
	bad := func(why string) error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "--mysql: " + why, Hint: "write mysql://user:password@host:3306/database"}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Hostname() == "" {
		return mysqlURL{}, bad("this is not a MySQL URL")
	}
	m := mysqlURL{host: u.Hostname(), port: 3306, user: "root", database: "leat_demo"}
	if p := u.Port(); p != "" {
		if m.port, err = strconv.Atoi(p); err != nil {
			return mysqlURL{}, bad("the port is not a number")
		}
	}
	if u.User != nil {
		m.user = u.User.Username()
		m.password, _ = u.User.Password()
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		m.database = db
	}
	return m, nil
}

func (m mysqlURL) reachError(err error) error {
	return &diag.Error{Domain: diag.External, Code: diag.CodeSourceReach, Msg: fmt.Sprintf("MySQL at %s:%d does not let us in", m.host, m.port), Hint: "check host, port, user and password of --mysql", Cause: err}
}
