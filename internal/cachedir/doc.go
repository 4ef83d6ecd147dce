// Package cachedir is the folder for what leat fetches or builds once and uses
// again: an unpacked MySQL, the readers of the end-to-end tests, tools.
//
// It is $LEAT_CACHE, else leat below the user's cache folder. Nothing in it
// cannot be had again. Ensure makes an entry at most once, also when several
// processes ask at the same time. Not for data of jobs. Start with cachedir.go.
package cachedir
