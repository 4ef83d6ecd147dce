package mysqld

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"leat/internal/cachedir"
)

var mariadbForm = regexp.MustCompile(`Ver ([0-9]+\.[0-9]+\.[0-9]+)-MariaDB`)

// FetchMariaDB gives the MariaDB 10.11 in dir ("" for a folder of the cache) and
// fetches it from Debian's packages first if it is not there.
func FetchMariaDB(ctx context.Context, dir string, progress func(line string)) (*Install, error) {
	if dir == "" {
		base, err := cachedir.Dir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(base, "mariadb")
	}
	unlock, err := cachedir.Lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := runFetch(ctx, dir, progress, "MYSQL_SUITE=bookworm", "MYSQL_PKGS=mariadb-server-core mariadb-client-core"); err != nil {
		return nil, err
	}
	share := filepath.Join(dir, "root/usr/share/mysql")
	in := &Install{
		Program: filepath.Join(dir, "bin", "mysqld"), MariaDB: true,
		Args: []string{"--lc-messages-dir=" + share, "--character-sets-dir=" + filepath.Join(share, "charsets"), "--plugin-dir=" + filepath.Join(dir, "root/usr/lib/mysql/plugin")},
		sql:  share,
	}
	out, err := exec.CommandContext(ctx, in.Program, "--no-defaults", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("running %s --version: %w (remove %s to fetch it again)", in.Program, err, dir)
	}
	m := mariadbForm.FindSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("%s is not MariaDB: %s (remove %s to fetch it again)", in.Program, bytes.TrimSpace(out), dir)
	}
	in.Version = string(m[1])
	return in, nil
}

// bootstrap fills the data folder of a MariaDB as mariadb-install-db does, which
// itself needs the packages installed.
func bootstrap(ctx context.Context, in *Install, dataDir string, flags []string) error {
	if err := os.MkdirAll(filepath.Join(dataDir, "data"), 0o755); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	sql := []io.Reader{strings.NewReader("CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n")}
	for _, name := range []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql", "mysql_sys_schema.sql"} {
		b, err := os.ReadFile(filepath.Join(in.sql, name))
		if err != nil {
			return fmt.Errorf("initialising MariaDB: %w", err)
		}
		sql = append(sql, bytes.NewReader(b))
	}
	args := append(baseArgs(in, dataDir), "--bootstrap", "--skip-log-bin", "--max-allowed-packet=8M", "--enforce-storage-engine=")
	cmd := exec.CommandContext(ctx, in.Program, append(args, flags...)...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = io.MultiReader(sql...), &out, &out
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("initialising MariaDB in %s: %w\n%s%s", dataDir, err, out.Bytes(), logTail(dataDir)))
	}
	return nil
}
