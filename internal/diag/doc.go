// Package diag holds the one error form that people read.
//
// Everything a user can cause or cure is a *Error: it says where (script
// position, table, option), what, why and what to do. Code below the edge wraps
// plainly with fmt.Errorf("reading …: %w", err) and turns into an *Error where a
// person's next step is known. The front end collects all errors of a script in
// a List. Render prints both in the form
//
//	orders.sql:14:25: error LEAT-2107: table orders_src: option 'scan.startup.mode': 'earlyest' is not a mode
//	  14 |   'scan.startup.mode' = 'earlyest',
//	     |                         ^^^^^^^^^^
//	  do: write 'earliest-offset'
//
// Start with error.go.
package diag
