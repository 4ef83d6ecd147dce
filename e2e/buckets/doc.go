// Package buckets tests, table by table, that Paimon's Java library and PyPaimon
// read what leat writes in every bucket mode, and that Java and leat go on where
// the other stopped.
package buckets
