package job

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"leat/planner"
)

// Identity names a job on this state directory: its name, its warehouse and its
// sinks. Those of a mirror do not count: tables may come and go at the source.
// The same identity resumes, another one starts fresh.
type Identity struct {
	Name string
	// Key is a folder name: the readable part of Name and a hash of everything.
	Key string
}

// IdentityOf gives the identity of a planned job.
func IdentityOf(r *planner.Result) Identity {
	h := sha256.New()
	part := func(s string) { h.Write([]byte(s)); h.Write([]byte{0}) }
	part(r.Plan.Name)
	part(r.Warehouse)
	for i := range r.Plan.Sinks {
		if r.Mirror {
			break
		}
		part(r.Plan.Sinks[i].UID)
		part(r.Plan.Sinks[i].Table.Location)
	}
	return Identity{Name: r.Plan.Name, Key: readable(r.Plan.Name) + "-" + hex.EncodeToString(h.Sum(nil))[:12]}
}

// readable keeps letters, digits, dots, dashes and underscores of name, 40 at most.
func readable(name string) string {
	s := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
		}
		return '-'
	}, name)
	return strings.Trim(s[:min(len(s), 40)], ".-")
}

// DefaultStateDir is $XDG_STATE_HOME/leat, or ~/.local/state/leat.
func DefaultStateDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "leat")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "leat")
}
