package cachedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// completeFile marks an entry whose making came to its end.
const completeFile = ".complete"

// Dir gives the cache folder and makes it if it is missing.
func Dir() (string, error) {
	dir := os.Getenv("LEAT_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (LEAT_CACHE sets one): %w", err)
		}
		dir = filepath.Join(base, "leat")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder (LEAT_CACHE sets another): %w", err)
	}
	return dir, nil
}

// Ensure gives the folder of the entry called name. If it is not complete yet,
// build fills it (its content so far is removed first) while other processes wait.
func Ensure(ctx context.Context, name string, build func(dir string) error) (string, error) {
	base, err := Dir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, name)
	unlock, err := Lock(ctx, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, completeFile)); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("clearing %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w", dir, err)
	}
	if err := build(dir); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, completeFile), nil, 0o644); err != nil {
		return "", fmt.Errorf("completing %s: %w", dir, err)
	}
	return dir, nil
}

// Lock takes the lock file beside path and waits for it as long as ctx allows.
// The lock ends with unlock or with the process.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			// Closing the file gives the lock back; there is nothing to do about a failing close.
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, ctx.Err()), f.Close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
