// Package badinput tests what leat says and leaves alone when it is asked for
// what cannot be: the form of errors, exit codes, and that nothing was changed.
package badinput
