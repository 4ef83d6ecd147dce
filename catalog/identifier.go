package catalog

import (
	"strings"

	"leat/internal/diag"
)

// Identifier names a table. Catalog is for messages only.
type Identifier struct {
	Catalog, Database, Table string
}

// String gives catalog.database.table, without the catalog where it is empty.
func (i Identifier) String() string {
	if i.Catalog == "" {
		return i.Database + "." + i.Table
	}
	return i.Catalog + "." + i.Database + "." + i.Table
}

// Check reports a database or table name that cannot be in a warehouse.
func (i Identifier) Check() error {
	if err := checkDatabaseName(i.Database); err != nil {
		return err
	}
	return checkTableName(i.Table)
}

// checkName refuses names that cannot be a directory of the warehouse. '$'
// separates branches and system tables in table names.
func checkName(what, name string, refused string) error {
	bad := ""
	switch {
	case strings.TrimSpace(name) == "":
		bad = "it is blank"
	case name == "." || name == "..":
		bad = "it means another directory"
	case strings.ContainsAny(name, refused+"/\\\x00"):
		bad = "it holds one of the characters " + refused + "/\\"
	case strings.HasPrefix(name, "."):
		bad = "a leading '.' hides the directory"
	default:
		return nil
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeTableShape, Msg: what + " name '" + name + "': " + bad,
		Hint: "choose a name of letters, digits and '_'",
	}
}

func checkTableName(name string) error { return checkName("table", name, "$") }

// checkDatabaseName leaves sys to the system tables and procedures of a catalog.
func checkDatabaseName(name string) error {
	if name == "sys" {
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Msg: "database sys holds the system tables and procedures of the catalog", Hint: "choose another name",
		}
	}
	return checkName("database", name, "")
}
