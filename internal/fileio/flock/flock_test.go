package flock_test

import (
	"errors"
	"path/filepath"
	"testing"

	"leat/internal/fileio/flock"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "lock")
	long, err := flock.Acquire(path, []byte("the first, with a long text"))
	if err != nil {
		t.Fatal(err)
	}
	var held *flock.HeldError
	if _, err := flock.Acquire(path, []byte("x")); !errors.As(err, &held) || string(held.Holder) != "the first, with a long text" {
		t.Fatalf("a second holder got %v", err)
	}
	if err := long.Release(); err != nil {
		t.Fatal(err)
	}
	short, err := flock.Acquire(path, []byte("next"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Acquire(path, nil); !errors.As(err, &held) || string(held.Holder) != "next" {
		t.Fatalf("a third holder got %v", err)
	}
	if err := short.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	if _, err := flock.Acquire("/dev/null/lock", nil); err == nil {
		t.Fatal("a lock below a device")
	}
}
