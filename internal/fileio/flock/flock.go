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

// Append adds to what the holder wrote about itself.
func (l *Lock) Append(text []byte) error {
	if _, err := l.f.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("writing %s: %w", l.f.Name(), err)
	}
	if _, err := l.f.Write(text); err != nil {
		return fmt.Errorf("writing %s: %w", l.f.Name(), err)
	}
	return nil
}

// Remove removes the file and gives the lock back.
func (l *Lock) Remove() error {
	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
}

// AcquireFolder locks a folder, made if it is missing, and waits for it: it is
// for what takes a moment. Nothing is written.
func AcquireFolder(path string) (*Lock, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("making folder %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening folder: %w", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return &Lock{f: f}, nil
}

// Held reports whether somebody, this process included, holds the lock of the
// file at path; a missing file is not held.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening lock file: %w", err)
	}
	defer f.Close()
	switch err := lock(f); {
	case err == nil:
		return false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	default:
		return false, fmt.Errorf("locking %s: %w", path, err)
	}
}

// Release gives the lock back.
func (l *Lock) Release() error {
	if err := l.f.Close(); err != nil {
		return fmt.Errorf("releasing lock: %w", err)
	}
	return nil
}
