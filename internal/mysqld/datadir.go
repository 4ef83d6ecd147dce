package mysqld

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"leat/internal/cachedir"
)

// layoutFlags can only be chosen when a data folder is initialised.
var layoutFlags = []string{"--lower-case-table-names", "--lower_case_table_names", "--innodb-page-size", "--innodb-data-file-path", "--character-set-server", "--collation-server"}

// initialise fills an empty data folder: root without password. Initialising
// takes seconds of waiting for the disk, so it is done once a version, in the
// cache folder, and copied from there.
func initialise(ctx context.Context, in *Install, dataDir string, flags []string) error {
	mark, template := "mysql.ibd", "mysql-data-"
	if in.MariaDB {
		mark, template = filepath.Join("mysql", "db.frm"), "mariadb-data-"
	}
	if _, err := os.Stat(filepath.Join(dataDir, "data", mark)); err == nil {
		return nil
	}
	var layout []string
	for _, f := range flags {
		for _, l := range layoutFlags {
			if f == l || strings.HasPrefix(f, l+"=") {
				layout = append(layout, f)
			}
		}
	}
	if len(layout) > 0 {
		return makeDataDir(ctx, in, dataDir, layout)
	}
	made, err := cachedir.Ensure(ctx, template+in.Version, func(dir string) error {
		if err := makeDataDir(ctx, in, dir, nil); err != nil {
			return err
		}
		if in.MariaDB {
			return nil
		}
		// The server's identity: every copy gets one of its own.
		return os.Remove(filepath.Join(dir, "data", "auto.cnf"))
	})
	if err != nil {
		return err
	}
	data := filepath.Join(dataDir, "data")
	half := data + ".copying"
	err = errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o755))
	if err == nil {
		err = os.CopyFS(half, os.DirFS(filepath.Join(made, "data")))
	}
	if err == nil {
		err = os.Rename(half, data)
	}
	if err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	return nil
}

func makeDataDir(ctx context.Context, in *Install, dataDir string, flags []string) error {
	if in.MariaDB {
		return bootstrap(ctx, in, dataDir, flags)
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	redo := "--innodb-redo-log-capacity=16M"
	if !in.AtLeast(8, 0, 30) {
		redo = "--innodb-log-file-size=8M"
	}
	args := append(baseArgs(in, dataDir), "--initialize-insecure", "--skip-log-bin", redo)
	cmd := exec.CommandContext(ctx, in.Program, append(args, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initialising MySQL in %s: %w\n%s%s", dataDir, err, out.Bytes(), logTail(dataDir))
	}
	return nil
}
