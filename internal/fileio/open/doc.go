// Package open picks the file system for a warehouse or checkpoint location as
// users write it: a folder, a relative folder or a file:// URL. Other schemes
// give an error that says so. Start with open.go.
package open
