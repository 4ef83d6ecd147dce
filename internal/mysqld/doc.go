// Package mysqld finds or fetches a MySQL server and runs throw-away instances
// of it, for the demo, the end-to-end tests and the benchmarks.
//
// Find looks for a mysqld 8 or 9 on PATH; Fetch unpacks one from Debian's
// packages into a folder (nothing is installed); Get does the one or the other.
// Start runs a server on 127.0.0.1 with GTIDs and a full row binlog, user root
// without password; Stop ends it. A server never outlives the process that
// started it, even if that process is killed. Only processes started here are
// ever signalled.
//
// FetchRelease gives other releases of MySQL and MariaDB. LEAT_MYSQL and LEAT_MARIADB, set
// to one of Releases, choose which one Get and FetchMariaDB give, so that any test runs on it:
//
//	LEAT_MYSQL=8.0.31 LEAT_MARIADB=mariadb-11.8 go test ./e2e/cdcsource
//
// Start with install.go; release.go knows the releases, server.go runs servers, datadir.go makes their data folders, guard.go
// ends those left behind, fetch.sh is the fetching script; mariadb.go does the same for MariaDB.
package mysqld
