// Package lake writes tables of every merge engine, changelog producer and
// kind of deletion with the lakehouse package and lets the Java library and
// PyPaimon read, continue and compact them, and the other way round; tables in
// every format of files and in mixtures of formats likewise. There is
// no job and no source here: histories are given row by row.
package lake
