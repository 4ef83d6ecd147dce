package harness

import (
	"fmt"
	"strings"
)

// Settings gives SET statements: name and checkpoint interval of the job, and
// further pairs of key and value.
func Settings(name, interval string, more ...string) string {
	var b strings.Builder
	all := append([]string{"pipeline.name", name, "execution.checkpointing.interval", interval}, more...)
	for i := 0; i+1 < len(all); i += 2 {
		fmt.Fprintf(&b, "SET '%s' = '%s';\n", all[i], all[i+1])
	}
	return b.String()
}

// MySQLTable declares a source table of the server of SourceEnv; options are
// pairs of key and value.
func MySQLTable(name, columns, remote string, options ...string) string {
	return fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) WITH (%s);\n", name, columns, Options(append([]string{
		"connector", "mysql-cdc", "hostname", "${MYSQL_HOST}", "port", "${MYSQL_PORT}", "username", "${MYSQL_USER}", "password", "${MYSQL_PASSWORD}",
		"database-name", "${MYSQL_DATABASE}", "table-name", remote, "server-time-zone", "UTC",
	}, options...)...))
}

// LakeDatabase opens the catalog lake at ${WAREHOUSE} and makes database d current.
const LakeDatabase = `CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS d;
USE d;
`

// LakeTable creates a table in the lake; tail is what follows the columns, such as PARTITIONED BY (dt).
func LakeTable(name, columns, tail string, options ...string) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s) %s WITH (%s);\n", name, columns, tail, Options(options...))
}

// Options writes pairs of key and value as the inside of WITH.
func Options(pairs ...string) string {
	var list []string
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("'%s' = '%s'", pairs[i], pairs[i+1]))
	}
	return strings.Join(list, ", ")
}

// KeepAll are table options that keep every snapshot.
func KeepAll() []string {
	return []string{"snapshot.num-retained.min", "1000000", "snapshot.num-retained.max", "1000000", "snapshot.time-retained", "48h"}
}
