// Package cases runs small inputs that show a kind of failure people meet when
// they carry MySQL tables into a lake. Each folder of testdata is one:
//
//	case.yaml        what it is, the steps, and the form of each column
//	source.sql       statements; each line "-- @name" begins a named part, the
//	                 first one sets up, job-started changes data under the job
//	job.sql          the script; without it every table of "sync" is carried as
//	                 it is, with the types that the source's columns have
//	expected.ndjson  the right final rows, read by Paimon's Java library
//
// The form says how a value is compared, whatever type the lake's column has:
// bits as hex, dates and times with the digits of the source, JSON and
// geometries as what they mean. See forms_test.go.
package cases
