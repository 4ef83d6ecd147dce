// Package archtest checks what the compiler does not: that imports point down
// the layers of docs/ARCHITECTURE.md, that only fileio touches disks, that files
// stay short, that every package says what it is, and that documents name files
// and symbols that exist. It has tests only. Start with arch_test.go.
package archtest
