// Package formattest draws types and values for tests of file formats: every
// kind, nested to a depth, with nulls and values over the whole range.
//
// Start with Types, which draws columns, and Values, which fills them.
package formattest
