package local

import (
	"os"
	"slices"
	"strings"
)

// Wrap is wrap, for tests of the error texts.
var Wrap = wrap

// Sync waits in the group commit of the process.
func Sync(files []*os.File, dirs ...string) error { return shared.sync(files, dirs...) }

// Fresh gives the folders below dir whose own names are not durable yet.
func Fresh(dir string) []string {
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	var out []string
	for d := range fresh.dirs {
		if strings.HasPrefix(d, dir+"/") {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return out
}
