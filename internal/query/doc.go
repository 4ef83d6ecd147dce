// Package query answers SELECT over the tables of a warehouse: columns, filters
// by compiled expressions and a limit, at any snapshot, tag or branch, over
// system tables too. It reads natively and knows no SQL: the planner binds.
//
// Open finds what a name with its options stands for and gives its columns; Run
// gives the rows of a Select batch by batch, Write prints them in the one JSON
// form of a value, as lines, as one document or as a table.
//
// Start with source.go; travel.go resolves time travel, value.go is the form of values.
package query
