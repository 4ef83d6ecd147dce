package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"leat/e2e"
	"leat/internal/cachedir"
)

// contentHash names a tree by its content.
func contentHash(tree fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n%s", p, len(b), b)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hashing sources: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// need says what is missing on this machine.
func need(program, packages string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not on PATH; do: make setup, or apt-get install %s", program, packages)
	}
	return nil
}

// BuildOracle builds the Java project unless it is built and gives its jar.
func BuildOracle(ctx context.Context) (jar string, err error) {
	if err := errors.Join(need("java", "openjdk-17-jdk-headless"), need("javac", "openjdk-17-jdk-headless"), need("mvn", "maven")); err != nil {
		return "", err
	}
	src, err := fs.Sub(e2e.Oracle, "oracle")
	if err != nil {
		return "", fmt.Errorf("finding the oracle's sources: %w", err)
	}
	hash, err := contentHash(src)
	if err != nil {
		return "", err
	}
	dir, err := cachedir.Ensure(ctx, "oracle-"+hash, func(dir string) error {
		if err := os.CopyFS(dir, src); err != nil {
			return fmt.Errorf("unpacking the oracle's sources: %w", err)
		}
		cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-ntp", "package")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the oracle with Maven: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "target", "oracle.jar"), nil
}

// MakeVenv makes the Python environment unless it is there and gives its python
// and the reading script.
func MakeVenv(ctx context.Context) (python, script string, err error) {
	if err := need("python3", "python3 python3-venv"); err != nil {
		return "", "", err
	}
	src, err := fs.Sub(e2e.PyPaimon, "pypaimon")
	if err != nil {
		return "", "", fmt.Errorf("finding the script: %w", err)
	}
	hash, err := contentHash(src)
	if err != nil {
		return "", "", err
	}
	dir, err := cachedir.Ensure(ctx, "pypaimon-"+hash, func(dir string) error {
		if err := os.CopyFS(dir, src); err != nil {
			return fmt.Errorf("unpacking the script: %w", err)
		}
		venv := filepath.Join(dir, "venv")
		for _, args := range [][]string{
			{"python3", "-m", "venv", venv},
			{filepath.Join(venv, "bin", "pip"), "install", "--disable-pip-version-check", "-q", "-r", filepath.Join(dir, "requirements.txt")},
		} {
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("making a Python environment (apt-get install python3-venv): %v: %w\n%s", args, err, out)
			}
		}
		return nil
	})
	if err != nil {
		return "", "", err
	}
	return filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "pypaimon_rows.py"), nil
}
