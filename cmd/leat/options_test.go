package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOptionsPage holds docs/options.md at what the program declares; with
// UPDATE_SCRIPTS set it is written anew.
func TestOptionsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/options.md"
	var b bytes.Buffer
	if err := writeOptions(&b, collectOptions(""), "markdown"); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(page, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.String(), string(have)); d != "" {
		t.Errorf("docs/options.md is not what the options say: run UPDATE_SCRIPTS=1 go test ./cmd/leat -run TestOptionsPage (-want +got)\n%s", d)
	}
}
