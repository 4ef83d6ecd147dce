package local

import (
	"fmt"
	"os"
)

// Output makes or empties the file at path for what another process prints, which
// takes a descriptor. Only the user may read it.
func Output(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", path, err)
	}
	return f, nil
}
