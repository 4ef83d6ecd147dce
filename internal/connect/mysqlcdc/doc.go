// Package mysqlcdc is the connector 'mysql-cdc': it declares the options of
// Flink's connector of that name and makes a cdc.Reader from table definitions.
// It reads no MySQL itself.
//
// All tables of one server that start alike share one reader, and so one binlog
// connection. Start with connector.go; options.go lists the options.
package mysqlcdc
