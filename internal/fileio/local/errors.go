package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"leat/internal/diag"
	"leat/internal/fileio"
)

var (
	errIsDir  = errors.New("it is a folder")
	errNotDir = errors.New("it is a file, not a folder")
)

// wrap says what was done to which file, marks the two outcomes that callers
// branch on and gives a remedy where a person has one.
func wrap(doing, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: %w", doing, name, fileio.ErrNotExist)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %s: %w", doing, name, fileio.ErrExist)
	}
	if hint, retry := remedy(name, err); hint != "" {
		// The path error's own text repeats operation and name.
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeLakeIO, Msg: doing + " " + name, Hint: hint, Retry: retry, Cause: err,
		}
	}
	return fmt.Errorf("%s %s: %w", doing, name, err)
}

// remedy gives the next step of a person and whether waiting may help.
func remedy(name string, err error) (hint string, retry bool) {
	dir := filepath.Dir(name)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "free space on the disk of " + dir, true
	case errors.Is(err, syscall.EDQUOT):
		return "raise the disk quota or free space below " + dir, true
	case errors.Is(err, syscall.EROFS):
		return "the disk of " + dir + " is mounted read-only: remount it writable or choose another folder", false
	case errors.Is(err, fs.ErrPermission):
		return "give this user the right to read and write " + dir, false
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n)", true
	case errors.Is(err, syscall.EIO):
		return "check the disk of " + dir + " (kernel log)", true
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "choose a shorter folder or table name", false
	}
	return "", false
}

func noLinks(name string, err error) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeLakeIO, Msg: "creating " + name + ": this file system has no hard links, without which two writers could overwrite each other",
		Hint: "choose a folder on a Linux disk (ext4, xfs, btrfs, zfs, tmpfs)", Cause: err,
	}
}
