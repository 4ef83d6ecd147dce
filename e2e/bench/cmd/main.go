// Command cmd measures leat and the machine; see package bench. make bench runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"leat/e2e/bench"
	"leat/e2e/bench/files"
	"leat/internal/cachedir"
	"leat/internal/mysqld"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 3 && args[0] == "limit" {
		return bench.RunLimit(ctx, args[1], args[2])
	}
	if len(args) == 2 && args[0] == "files" {
		return files.Serve(ctx, args[1], os.Stdin, os.Stdout)
	}
	if len(args) == 3 && args[0] == "lake" {
		return bench.RunLakeStep(ctx, args[1], args[2], os.Stdin, os.Stdout)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := bench.Config{Log: log, Every: "10s", W3Int: "1s"}
	out, only, extra := "", "", ""
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&cfg.Leat, "leat", "bin/leat", "the built program")
	f.StringVar(&out, "out", "", "append the JSON lines to this file too")
	f.StringVar(&only, "only", "W1,W2,W3,START,MANY,SPREAD,limits,FLUSH,READ,COMPACT,QUERY,FILES", "what to measure")
	f.IntVar(&cfg.Runs, "runs", 1, "runs of each workload")
	f.Int64Var(&cfg.W1, "w1", 5_000_000, "rows of W1")
	f.Int64Var(&cfg.W2, "w2", 2_000_000, "changes of W2")
	f.DurationVar(&cfg.W3, "w3", 60*time.Second, "length of W3")
	f.IntVar(&cfg.Rate, "rate", 2000, "changes per second of W3")
	f.IntVar(&cfg.Tables, "tables", 2000, "tables of MANY")
	f.IntVar(&cfg.Spread, "spread", 2_500_000, "changes of the first half of SPREAD")
	f.IntVar(&cfg.Busy, "spread-busy", 8_000_000, "changes of its second half")
	f.StringVar(&cfg.Every, "interval", "10s", "checkpoint interval of W1 and W2")
	f.StringVar(&cfg.W3Int, "w3-interval", "1s", "checkpoint interval of W3")
	f.IntVar(&cfg.Table.Buckets, "bucket", 4, "buckets of the table")
	f.StringVar(&cfg.Table.Format, "format", "parquet", "file format of the table")
	f.StringVar(&cfg.Table.Changelog, "changelog", "none", "changelog producer of the table")
	f.StringVar(&extra, "table-options", "", "further table options, as 'k' = 'v', separated by ';'")
	f.Int64Var(&cfg.LakeRows, "lake-rows", 5_000_000, "rows of FLUSH, READ, COMPACT and QUERY")
	f.IntVar(&cfg.Rounds, "rounds", 5, "how often FLUSH, READ, COMPACT and QUERY are measured in turn with what they are compared to")
	data := files.Config{Log: log}
	f.Int64Var(&data.Orders, "files-orders", 5_000_000, "rows of the orders in FILES")
	f.Int64Var(&data.Wide, "files-wide", 250_000, "rows of the table of 120 columns in FILES")
	f.IntVar(&data.Warmup, "files-warmup", 12, "rounds of FILES before those that count")
	f.IntVar(&data.Rounds, "files-rounds", 5, "rounds of FILES that count")
	f.BoolVar(&cfg.Verify, "verify", true, "compare lake and source by Paimon's own reader")
	if err := f.Parse(args); err != nil {
		return err
	}
	cfg.Only = strings.Split(only, ",")
	if extra != "" {
		cfg.Table.Extra = strings.Split(extra, ";")
	}
	cache, err := cachedir.Dir()
	if err != nil {
		return err
	}
	if cfg.Self, err = os.Executable(); err != nil {
		return err
	}
	if cfg.Leat, err = filepath.Abs(cfg.Leat); err != nil {
		return err
	}
	cfg.WorkDir = filepath.Join(cache, "bench-work")
	if err := os.MkdirAll(cfg.WorkDir, 0o755); err != nil {
		return err
	}
	var w io.Writer = os.Stdout
	if out != "" {
		file, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		w = io.MultiWriter(os.Stdout, file)
	}
	cfg.Out = json.NewEncoder(w)
	cfg.Facts = facts(ctx)
	if slices.Contains(cfg.Only, "FILES") {
		data.Self, data.WorkDir, data.Out, data.Facts = cfg.Self, filepath.Join(cfg.WorkDir, "files"), cfg.Out, cfg.Facts
		if err := files.Run(ctx, data); err != nil {
			return err
		}
	}
	noServer := append([]string{"FILES"}, bench.LakeWorkloads...)
	lerr := bench.RunLake(ctx, cfg)
	if lerr != nil || !slices.ContainsFunc(cfg.Only, func(w string) bool { return !slices.Contains(noServer, w) }) {
		return lerr
	}
	// The data stay in the cache folder: the next sitting need not make them again.
	srv, err := mysqld.Start(ctx, mysqld.Options{
		DataDir: filepath.Join(cache, "bench-mysql"), Flags: []string{"--innodb-buffer-pool-size=1G"},
		Progress: func(l string) { log.Info("mysql", "step", l) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Stop()) }()
	cfg.Facts["mysql"] = srv.Version
	return bench.Run(ctx, srv, cfg)
}

// facts says on what a line was measured.
func facts(ctx context.Context) map[string]any {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	cpu := "unknown"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	load := ""
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
	}
	return map[string]any{
		"commit": strings.TrimSpace(string(commit)), "go": runtime.Version(),
		"cpus": runtime.NumCPU(), "cpu": cpu, "load": load,
	}
}
