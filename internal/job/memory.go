package job

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"leat/configs"
	"leat/planner"
)

// besideBuffers is what a job needs beside its write buffers: decoding, encoding,
// channels, chunks of the snapshot, the program itself.
const besideBuffers = 160 << 20

// besideTable is what a table that changes needs beside its rows: many small batches
// and files in the making, what is known of its files. Where hundreds change at once,
// the collector would take a quarter of the time without that room. Of thousands, few
// do: atMostTables bounds it.
const (
	besideTable  = 768 << 10
	atMostTables = 144 << 20
)

// limitMemory asks the garbage collector to keep the process near its write
// buffers plus what lies beside them and its tables; GOMEMLIMIT, if set, wins. Measured: a
// backlog then peaks at 353 MB in place of 562 MB at the same CPU time.
func limitMemory(r *planner.Result) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := configs.MemoryLimit.Get(r.Settings) + besideBuffers
	if r.Plan != nil {
		limit += min(int64(len(r.Plan.Sinks))*besideTable, atMostTables)
	}
	debug.SetMemoryLimit(limit)
}

// memoryUse reads the resident set and its peak in bytes; zeros where the
// system does not tell.
func memoryUse() (now, peak int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			continue
		}
		switch f[0] {
		case "VmRSS:":
			now = kb << 10
		case "VmHWM:":
			peak = kb << 10
		}
	}
	return now, peak
}
