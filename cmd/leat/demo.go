package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"leat/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	opt := demo.Options{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on a real MySQL, crash included, and compare source and lake",
		Long: `Start a MySQL (a mysqld 8 or 9 on PATH, else an unpacked one is fetched), make
orders and a live workload, run the example script, kill the job with SIGKILL in
mid-stream, let it resume, catch up, and print source and lake side by side.
Exit code 0 if they are equal, 4 if not.`,
		Example: "  leat demo\n  leat demo --mysql mysql://root:secret@127.0.0.1:3306/leat_demo",
		Args:    exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the leat program: %w", err)
			}
			opt.Program, opt.Out = program, cmd.OutOrStdout()
			return demo.Run(cmd.Context(), opt)
		},
	}
	c.Flags().StringVar(&opt.MySQL, "mysql", "", "URL of a server to use: mysql://user:password@host:port/database (table orders is made anew there)")
	c.Flags().StringVar(&opt.Dir, "dir", "", "folder for script, warehouse and state (default leat/demo in the cache folder)")
	c.Flags().Int64Var(&opt.Rows, "rows", 200_000, "orders before the workload begins")
	c.Flags().DurationVar(&opt.Busy, "busy", 10*time.Second, "how long the workload runs before and after the kill")
	return c
}
