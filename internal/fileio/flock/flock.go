package flock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// HeldError says that another process, or another Lock of this one, holds the file.
type HeldError struct {
	Path string
	// Holder is what the holder wrote about itself; empty if it has not written yet.
	Holder []byte
}

// Error names the file.
func (e *HeldError) Error() string { return fmt.Sprintf("locking %s: it is locked", e.Path) }

// Lock is a held lock.
type Lock struct{ f *os.File }

// maxHolder bounds what is read of a holder's description.
const maxHolder = 4096

// Acquire locks path, made with its folder if it is missing, and writes holder
// into it. It does not wait: if the file is locked it returns a *HeldError.
func Acquire(path string, holder []byte) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := lock(f); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		b, rerr := io.ReadAll(io.LimitReader(f, maxHolder))
		if rerr != nil {
			return nil, fmt.Errorf("reading the holder of %s: %w", path, rerr)
		}
		return nil, &HeldError{Path: path, Holder: b}
	}
	if err := describe(f, holder); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", path, err), f.Close())
	}
	return &Lock{f: f}, nil
}

func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func describe(f *os.File, holder []byte) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(holder, 0)
	return err
}

// Release gives the lock back.
func (l *Lock) Release() error {
	if err := l.f.Close(); err != nil {
		return fmt.Errorf("releasing lock: %w", err)
	}
	return nil
}
