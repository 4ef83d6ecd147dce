// Package nested lets Java and PyPaimon read tables whose nested columns leat wrote.
package nested
