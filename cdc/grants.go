package cdc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// grantErrors checks the privileges of the account by trying what leat does.
func (n *conn) grantErrors(user string, s *server) error {
	if s.vars["log_bin"] != "ON" {
		return nil
	}
	account := "'" + user + "'@'%'"
	if current, err := n.value("SELECT CURRENT_USER()"); err == nil {
		if name, host, ok := strings.Cut(current, "@"); ok {
			account = "'" + name + "'@'" + host + "'"
		}
	}
	var errs diag.List
	missing := func(privilege string) {
		errs = append(errs, &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceGrant,
			Msg:  fmt.Sprintf("MySQL at %s: user %s lacks the privilege %s", n.addr, account, privilege),
			Hint: fmt.Sprintf("GRANT %s ON *.* TO %s", privilege, account),
		})
	}
	if _, err := n.endOfLog(s); denied(err) {
		if s.mariadb {
			missing("BINLOG MONITOR")
		} else {
			missing("REPLICATION CLIENT")
		}
	} else if err != nil {
		return err
	}
	grants, err := n.query("SHOW GRANTS")
	if err != nil {
		return err
	}
	if !hasGrant(grants, "REPLICATION SLAVE") && !n.roleGrants("REPLICATION SLAVE") {
		missing("REPLICATION SLAVE")
	}
	return errs.Err()
}

// hasGrant looks for a global privilege in the output of SHOW GRANTS.
func hasGrant(t resultTable, privilege string) bool {
	for _, r := range t.rows {
		g := strings.ToUpper(r[0])
		head, _, ok := strings.Cut(strings.TrimPrefix(g, "GRANT "), " ON *.* TO")
		if !ok {
			continue
		}
		list := strings.Split(head, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		if slices.Contains(list, privilege) || slices.Contains(list, "ALL PRIVILEGES") {
			return true
		}
	}
	return false
}

// roleGrants looks for a privilege that comes by an active role.
func (n *conn) roleGrants(privilege string) bool {
	roles, err := n.value("SELECT CURRENT_ROLE()")
	if err != nil || roles == "NONE" || roles == "" {
		return false
	}
	t, err := n.query("SHOW GRANTS FOR CURRENT_USER() USING " + roles)
	return err == nil && hasGrant(t, privilege)
}

// denied reports errors that mean a missing privilege.
func denied(err error) bool {
	switch errorCode(err) {
	case mysql.ER_SPECIFIC_ACCESS_DENIED_ERROR, mysql.ER_TABLEACCESS_DENIED_ERROR, mysql.ER_ACCESS_DENIED_ERROR,
		mysql.ER_DBACCESS_DENIED_ERROR, mysql.ER_COLUMNACCESS_DENIED_ERROR:
		return true
	}
	return false
}

// noteCascades warns of the foreign keys of a table that came.
func (r *Reader) noteCascades(n *conn, t *table) error {
	if !r.cascadesHidden() {
		return nil
	}
	all, err := n.cascades(r.server, []string{t.def.Database})
	if err != nil {
		return err
	}
	if names := all[r.server.tableKey(t.def.Database, t.def.Name)]; len(names) > 0 {
		r.warnCascades(t, names)
	}
	return nil
}

func (r *Reader) warnCascades(t *table, names []string) {
	r.log.Warn("rows changed by foreign keys with ON DELETE or ON UPDATE CASCADE or SET NULL are not in the binlog of this server and stay as they are in the lake; "+
		"delete and update the rows by statements of their own, or use MySQL 9.6 or newer without innodb_native_foreign_keys", "table", t.id(), "constraints", names)
}

func (t *table) grantSelect(n *conn, privilege string) error {
	on := mysqlrow.QuoteName(t.def.Database) + ".*"
	return t.at(-1, &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceGrant,
		Msg:  fmt.Sprintf("MySQL at %s: the user lacks the privilege %s on %s", n.addr, privilege, t.id()),
		Hint: fmt.Sprintf("GRANT %s ON %s TO the user", privilege, on),
	})
}
