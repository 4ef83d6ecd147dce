package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, Go version and the libraries that matter",
		Example: "  leat version",
		Args:    exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			_, err := fmt.Fprintf(out, "leat %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil {
				return fmt.Errorf("printing: %w", err)
			}
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return nil
			}
			for _, d := range info.Deps {
				switch d.Path {
				case "github.com/apache/arrow-go/v18", "github.com/go-mysql-org/go-mysql", "github.com/twmb/avro":
					if _, err := fmt.Fprintf(out, "  %s %s\n", d.Path, d.Version); err != nil {
						return fmt.Errorf("printing: %w", err)
					}
				}
			}
			return nil
		},
	}
}
