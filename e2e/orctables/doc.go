// Package orctables runs jobs into tables whose files are ORC, by the program
// itself: the table definition of the production guide as it stands, fed from
// MySQL, and read by Java and PyPaimon. How formats of files mix, level by level
// and with Java as the other writer, package lake shows.
package orctables
