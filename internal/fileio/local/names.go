package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// freshDirs are folders made here whose own names are not durable yet. Whoever puts
// a file below one sees to that too: the one who made it may not have come to it.
type freshDirs struct {
	mu   sync.Mutex
	dirs map[string]bool
}

// fresh is shared as the disks are.
var fresh = &freshDirs{dirs: map[string]bool{}}

// names are what has to last with a file: the names in dirs, among them those of
// the folders made.
type names struct {
	dirs, made []string
}

// above gives what has to last for the names in dir.
func (f *freshDirs) above(dir string) names {
	n := names{dirs: []string{dir}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirs) == 0 {
		return n
	}
	for {
		parent := filepath.Dir(dir)
		if parent == dir {
			return n
		}
		if f.dirs[dir] {
			n.dirs, n.made = append(n.dirs, parent), append(n.made, dir)
		}
		dir = parent
	}
}

func (f *freshDirs) add(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs[dir] = true
}

// settled takes note that the folders made by now are durable.
func (f *freshDirs) settled(made []string) {
	if len(made) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range made {
		delete(f.dirs, d)
	}
}

// and joins what has to last.
func (n names) and(o names) names {
	for _, d := range o.dirs {
		if !slices.Contains(n.dirs, d) {
			n.dirs = append(n.dirs, d)
		}
	}
	n.made = append(n.made, o.made...)
	return n
}

// syncWith makes files and names durable.
func syncWith(n names, files ...*os.File) error {
	err := shared.sync(files, n.dirs...)
	if err == nil {
		fresh.settled(n.made)
	}
	return err
}

// makeDirs makes dir and its parents, which are not durable then.
func makeDirs(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case err == nil && st.IsDir():
		return nil
	case err == nil:
		return wrap("making folder", dir, errNotDir)
	case !errors.Is(err, fs.ErrNotExist):
		return wrap("making folder", dir, err)
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDirs(parent); err != nil {
			return err
		}
	}
	// It is known as fresh before anybody can find it.
	fresh.add(dir)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		fresh.settled([]string{dir})
		return wrap("making folder", dir, err)
	}
	return nil
}
