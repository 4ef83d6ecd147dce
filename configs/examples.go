package configs

import _ "embed"

// OrdersSQL is the example script that `leat demo` runs: the guide's primary-key
// template over a MySQL table of orders.
//
//go:embed examples/orders.sql
var OrdersSQL string
