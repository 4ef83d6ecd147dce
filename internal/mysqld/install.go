package mysqld

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"leat/internal/cachedir"
	"leat/internal/diag"
)

//go:embed fetch.sh
var fetchScript []byte

// Install is a MySQL server program that can be started.
type Install struct {
	// Program is the path of mysqld, Version its version such as 9.7.4.
	Program string
	Version string
	// Args are the options this program needs to find its own files.
	Args []string
	// MariaDB says that it is MariaDB; sql is where its scripts are.
	MariaDB bool
	sql     string
}

// ErrNotFound says that no usable mysqld is on PATH.
var ErrNotFound = errors.New("no mysqld 8 or 9 on PATH")

var versionForm = regexp.MustCompile(`Ver ([89]\.[0-9]+\.[0-9]+)`)

// Find looks for a mysqld 8 or 9 on PATH; MariaDB's does not count.
func Find(ctx context.Context) (*Install, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		program := filepath.Join(dir, "mysqld")
		if st, err := os.Stat(program); err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
			continue
		}
		if v, err := version(ctx, program); err == nil {
			return &Install{Program: program, Version: v}, nil
		}
	}
	return nil, ErrNotFound
}

func version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--no-defaults", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("running %s --version: %w", program, err)
	}
	m := versionForm.FindSubmatch(out)
	if m == nil || bytes.Contains(out, []byte("MariaDB")) {
		return "", fmt.Errorf("%s is not MySQL 8 or 9: %s", program, bytes.TrimSpace(out))
	}
	return string(m[1]), nil
}

// DefaultDir is where Get keeps a fetched server.
func DefaultDir() (string, error) {
	base, err := cachedir.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "mysql"), nil
}

// Get gives the release that LEAT_MYSQL names, else the mysqld on PATH, else the
// one in dir ("" for DefaultDir), which is fetched if it is not there yet.
// progress gets a line per step; nil drops them.
func Get(ctx context.Context, dir string, progress func(line string)) (*Install, error) {
	if name := os.Getenv("LEAT_MYSQL"); name != "" {
		return FetchRelease(ctx, name, progress)
	}
	in, err := Find(ctx)
	if err == nil {
		return in, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return Fetch(ctx, dir, progress)
}

// Fetch gives the server in dir ("" for DefaultDir) and fetches it first if it
// is not there. Several processes may fetch into one dir: one works, the others wait.
func Fetch(ctx context.Context, dir string, progress func(line string)) (*Install, error) {
	return fetch(ctx, dir, releases[newest], progress)
}

func runFetch(ctx context.Context, dir string, progress func(string), env ...string) error {
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "bash", "-s", "--", dir)
	cmd.Stdin = bytes.NewReader(fetchScript)
	cmd.Env = append(os.Environ(), env...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("fetching MySQL: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("fetching MySQL: %w", err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if progress != nil {
			progress(lines.Text())
		}
	}
	// Lines too long for the scanner must not block the script.
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		return &diag.Error{
			Domain: diag.External, Msg: "fetching a server from public packages", Cause: err,
			Notes: strings.Split(strings.TrimSpace(failure.String()), "\n"),
			Hint:  "install MySQL 8 or 9 so that mysqld is on PATH, or name a Debian mirror in MYSQL_APT_URI",
		}
	}
	return nil
}
