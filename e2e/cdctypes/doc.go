// Package cdctypes tests the row decoder of cdc/mysqlrow against a real MySQL:
// every supported type times its edge values, read once by SELECT and once from
// the binlog. Both must give the values that the table of cases names.
package cdctypes
