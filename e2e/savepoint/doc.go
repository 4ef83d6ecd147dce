// Package savepoint tests savepoints with a MySQL server under load: taken in the
// snapshot and in the stream, restored on another state directory, and gone back
// to while the program is killed at random moments. Java reads the tables.
package savepoint
