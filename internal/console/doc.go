// Package console is the interactive face of `leat shell`: it reads statements
// with a line editor, completes and colours them, keeps their history and runs
// them one by one until the user leaves.
//
// It knows SQL only by its pieces (sqlfront.Pieces) and names only through Names;
// what a statement does is the work of the function it is given.
//
// Ctrl-C stops the running statement, not the console. On a terminal that cannot
// move its cursor (TERM=dumb) lines are read as they come, without editing.
//
// Start with console.go; command.go holds the commands that begin with a
// backslash, complete.go the completion, history.go what is remembered.
package console
