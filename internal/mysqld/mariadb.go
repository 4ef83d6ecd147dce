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
	"strings"
)

// bootstrap fills the data folder of a MariaDB as mariadb-install-db does, which
// itself needs the packages installed.
func bootstrap(ctx context.Context, in *Install, dataDir string, flags []string) error {
	if err := os.MkdirAll(filepath.Join(dataDir, "data"), 0o755); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	sql := []io.Reader{strings.NewReader("CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n")}
	prefix := "mysql_"
	if in.AtLeast(11, 0, 0) {
		prefix = "mariadb_"
	}
	for _, name := range []string{prefix + "system_tables.sql", prefix + "performance_tables.sql", prefix + "system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql", prefix + "sys_schema.sql"} {
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
