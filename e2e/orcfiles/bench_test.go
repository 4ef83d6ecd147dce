package orcfiles

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"leat/e2e/judge"
	"leat/internal/fileio/local"
	"leat/lakehouse/format/orc"
)

// BenchmarkBesideOthers writes and reads one file, and has Java in a warmed
// loop and pyarrow read it and write its rows anew, all with zstd.
func BenchmarkBesideOthers(b *testing.B) {
	const n = 500_000
	fields := flatFields()[:17]
	cols := rows(fields, n, 3)
	path := filepath.Join(b.TempDir(), "f.orc")
	b.Run("leat/write", func(b *testing.B) {
		for b.Loop() {
			write(b, path, fields, cols, orc.Options{})
		}
		b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/n, "B/row")
	})
	b.Run("leat/read", func(b *testing.B) {
		for b.Loop() {
			f, err := local.New().Open(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			r, err := orc.OpenReader(f, path, fields, orc.ReadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			got := 0
			for {
				cols, k, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				got += k
				for _, c := range cols {
					c.Release()
				}
			}
			if err := r.Close(); err != nil || got != n {
				b.Fatal(got, err)
			}
		}
		b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
	})
	others := map[string]func() string{
		"java": func() string { return java(b, "UTC", tool, "bench", path, "8")[0] },
		"pyarrow": func() string {
			py, _, err := judge.MakeVenv(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			out, err := exec.CommandContext(b.Context(), py, "-c", arrowBench, path).Output()
			if err != nil {
				b.Fatal(err)
			}
			return string(out)
		},
	}
	for name, run := range others {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f := strings.Fields(run())
				for i, unit := range []string{"read-rows/s", "write-rows/s", "B/row"} {
					v, err := strconv.ParseFloat(f[i], 64)
					if err != nil {
						b.Fatal(err)
					}
					if i == 2 {
						v /= n
					}
					b.ReportMetric(v, unit)
				}
			}
		})
	}
}

const arrowBench = `
import os, sys, tempfile, time, pyarrow as pa, pyarrow.orc as orc
pa.set_cpu_count(1)
read = written = size = 0
with tempfile.TemporaryDirectory() as d:
    for _ in range(4):
        t = time.perf_counter(); table = orc.read_table(sys.argv[1]); read = max(read, table.num_rows / (time.perf_counter() - t))
        t = time.perf_counter(); orc.write_table(table, d + "/f.orc", compression="zstd"); written = max(written, table.num_rows / (time.perf_counter() - t))
    size = os.path.getsize(d + "/f.orc")
print(read, written, size)
`
