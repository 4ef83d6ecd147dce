package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the path of the leat program under test, set by Main.
var program string

// Main builds the program unless LEAT_BIN names it, runs the tests and gives the exit code.
func Main(m *testing.M) int {
	program = os.Getenv("LEAT_BIN")
	if program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "leat-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "leat")
	// Not CommandContext: the tests have no context yet.
	if out, err := exec.Command("go", "build", "-o", program, "leat/cmd/leat").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building leat: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
