package local

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// syncer makes files and names durable for whoever waits. Those that come while
// the disk is at work wait for it and go together, as one group commit: a few
// files each by itself, many with one call for their whole file system.
type syncer struct {
	mu      sync.Mutex
	waiting []*syncing
	// busy is how many goroutines confirm groups.
	busy int
	// whole is how long a call for a whole file system took last; it fades, as what
	// others write may.
	whole time.Duration
}

// shared is the one of the process: whoever writes, the disks are the same.
var shared = &syncer{}

const (
	// groupsAtOnce is how many groups may be under way: the more, the smaller they are.
	groupsAtOnce = 2
	// wholeFrom is how many files and folders of one file system are confirmed by a
	// call for all of it, which is less work from about five on. But it also waits for
	// what others have written: more than perFile for each is not worth it.
	wholeFrom = 16
	perFile   = 2 * time.Millisecond
	// largeFile has so many bytes that nobody else should wait for it.
	largeFile = 4 << 20
	// filesAtOnce bounds the files of a group that wait for the disk side by side.
	filesAtOnce = 16
)

// syncing is what one caller waits for: the content of files and the names in dirs.
type syncing struct {
	files []*os.File
	dirs  []string
	// under is locked until the disk has confirmed. A lock, other than a channel, may
	// be shared with the bubble of a test of time.
	under sync.Mutex

	mu  sync.Mutex
	err error
}

func (r *syncing) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// sync makes the content of files and the names in dirs durable.
func (s *syncer) sync(files []*os.File, dirs ...string) error {
	for _, f := range files {
		if st, err := f.Stat(); err == nil && st.Size() >= largeFile {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	r := &syncing{files: files, dirs: dirs}
	r.under.Lock()
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	if s.busy < groupsAtOnce {
		s.busy++
		go s.work()
	}
	s.mu.Unlock()
	r.under.Lock()
	return r.err
}

// work confirms groups until nobody waits.
func (s *syncer) work() {
	for {
		s.mu.Lock()
		group := s.waiting
		s.waiting = nil
		if len(group) == 0 {
			s.busy--
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.confirm(group)
		for _, r := range group {
			r.under.Unlock()
		}
	}
}

// target is a file or folder to confirm, with those who wait for it.
type target struct {
	file    *os.File
	folder  bool
	device  uint64
	waiting []*syncing
}

func (t *target) fail(err error) {
	if err == nil {
		return
	}
	for _, r := range t.waiting {
		r.fail(err)
	}
}

func (s *syncer) confirm(group []*syncing) {
	files, dirs := targetsOf(group)
	defer func() {
		for _, d := range dirs {
			d.fail(d.file.Close())
		}
	}()
	byDevice := map[uint64][]*target{}
	for _, t := range append(files, dirs...) {
		byDevice[t.device] = append(byDevice[t.device], t)
	}
	var single errgroup.Group
	single.SetLimit(filesAtOnce)
	for _, list := range byDevice {
		if len(list) >= wholeFrom && s.mayWhole(len(list)) && syncsWhole(list[0].file) {
			s.confirmWhole(list)
			continue
		}
		for _, t := range list {
			single.Go(func() error {
				t.fail(t.file.Sync())
				return nil
			})
		}
	}
	_ = single.Wait() // whoever waits has the error
}

// targetsOf gives the files, and the folders without repetition, which it opens.
func targetsOf(group []*syncing) (files, dirs []*target) {
	known := map[string]*target{}
	for _, r := range group {
		for _, f := range r.files {
			t := &target{file: f, waiting: []*syncing{r}}
			t.find()
			files = append(files, t)
		}
		for _, dir := range r.dirs {
			if t := known[dir]; t != nil {
				t.waiting = append(t.waiting, r)
				continue
			}
			f, err := os.Open(dir)
			if err != nil {
				r.fail(err)
				continue
			}
			t := &target{file: f, folder: true, waiting: []*syncing{r}}
			t.find()
			known[dir] = t
			dirs = append(dirs, t)
		}
	}
	return files, dirs
}

// find finds the file system of the target.
func (t *target) find() {
	st, err := t.file.Stat()
	if err != nil {
		t.fail(err)
		return
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		t.device = sys.Dev
	}
}

// mayWhole reports whether a call for a whole file system is worth it for n targets.
func (s *syncer) mayWhole(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole <= perFile*time.Duration(n) {
		return true
	}
	s.whole -= s.whole / 16
	return false
}

// syncsWhole reports whether the file system of f is one whose syncfs(2) is known to do
// for all files what fsync(2) does for one. That of FUSE does not reach the server
// behind it, and overlays may stand on anything.
func syncsWhole(f *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return false
	}
	switch st.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC:
		return true
	default:
		return false
	}
}

// confirmWhole confirms targets of one file system by one call. The call tells of
// what the disk failed to take since the file it is made with was opened, if it does at all (from
// Linux 5.8 on), so each file is asked for its own errors then, which costs no writing.
func (s *syncer) confirmWhole(list []*target) {
	begin := time.Now()
	err := unix.Syncfs(int(list[0].file.Fd()))
	for _, t := range list {
		t.fail(os.NewSyscallError("syncfs", err))
		if !t.folder {
			err := unix.SyncFileRange(int(t.file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
			t.fail(os.NewSyscallError("sync_file_range", err))
		}
	}
	s.mu.Lock()
	s.whole = time.Since(begin)
	s.mu.Unlock()
}
