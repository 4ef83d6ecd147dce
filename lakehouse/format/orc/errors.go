package orc

import (
	"errors"
	"fmt"
)

// CorruptError says that a file is damaged, or made to look like ORC.
type CorruptError struct {
	// Path is the path given to OpenReader.
	Path string
	// Offset is the byte of the file near which the damage was seen.
	Offset int64
	// Reason says what is wrong.
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt ORC file %s near byte %d: %s", e.Path, e.Offset, e.Reason)
}

// UnsupportedError says that a file is sound as far as seen, but uses
// something that this package does not read or write.
type UnsupportedError struct {
	Path string
	// Feature names it, such as "compression LZO".
	Feature string
}

func (e *UnsupportedError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("ORC: %s is not supported", e.Feature)
	}
	return fmt.Sprintf("ORC file %s: %s is not supported", e.Path, e.Feature)
}

// corruptf makes a CorruptError whose path is filled in by the Reader.
func corruptf(offset int64, format string, args ...any) error {
	return &CorruptError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// explain puts the path into err and says what was being done.
func explain(err error, path, doing string) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) && corrupt.Path == "" {
		corrupt.Path = path
	}
	var unsupported *UnsupportedError
	if errors.As(err, &unsupported) && unsupported.Path == "" {
		unsupported.Path = path
	}
	return fmt.Errorf("reading ORC file %s: %s: %w", path, doing, err)
}
