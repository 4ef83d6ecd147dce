// Package fileiotest is the suite that every fileio.FS passes: what the
// contract in fileio/fs.go promises, one subtest a promise. Run(t, open) calls
// open once a subtest for an empty FS and the folder to work in. Start with suite.go.
package fileiotest
