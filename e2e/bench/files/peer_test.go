package files

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeMakesReadsAndWrites gives leat the tasks of a sitting.
func TestServeMakesReadsAndWrites(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "wide"} {
		prefix := filepath.Join(t.TempDir(), name)
		var tasks strings.Builder
		fmt.Fprintf(&tasks, "make 300 %s\n", prefix)
		for _, f := range formats {
			fmt.Fprintf(&tasks, "read %s %s.%s\nload %s %s.%s\nwrite %s %s-again.%s\nread %s %s-again.%s\n", f, prefix, f, f, prefix, f, f, prefix, f, f, prefix, f)
		}
		var out bytes.Buffer
		if err := Serve(t.Context(), name, strings.NewReader(tasks.String()), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "ok 300 ") {
				t.Errorf("%s: answer %q", name, line)
			}
		}
		if n := strings.Count(out.String(), "ok"); n != 9 {
			t.Errorf("%s: %d answers to 9 tasks", name, n)
		}
	}
}
