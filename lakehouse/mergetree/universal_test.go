package mergetree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

var intKey = []columnar.DataType{columnar.Of(columnar.Int).NotNull()}

func keyRow(v int64) spec.BinaryRow {
	w := spec.NewRowWriter(intKey)
	w.Reset()
	w.SetInt64(0, v)
	return w.Row().Clone()
}

// parseFile reads "name level=2 size=10 keys=1-5 seq=3-9 dels=1"; all but the name may be left out.
func parseFile(t *testing.T, line string) spec.DataFileMeta {
	t.Helper()
	words := strings.Fields(line)
	f := spec.DataFileMeta{FileName: words[0], FileSize: 1, MinKey: keyRow(0), MaxKey: keyRow(0)}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	for _, w := range words[1:] {
		key, val, _ := strings.Cut(w, "=")
		lo, hi, ranged := strings.Cut(val, "-")
		if !ranged {
			hi = lo
		}
		switch key {
		case "level":
			f.Level = int32(number(val))
		case "size":
			f.FileSize = number(val)
		case "keys":
			f.MinKey, f.MaxKey = keyRow(number(lo)), keyRow(number(hi))
		case "seq":
			f.MinSequenceNumber, f.MaxSequenceNumber = number(lo), number(hi)
		case "dels":
			n := number(val)
			f.DeleteRowCount = &n
		default:
			t.Fatalf("%s: unknown word %s", line, w)
		}
	}
	return f
}

func parseFiles(t *testing.T, input string) []spec.DataFileMeta {
	t.Helper()
	var out []spec.DataFileMeta
	for line := range strings.Lines(input) {
		out = append(out, parseFile(t, line))
	}
	return out
}

func names(files []spec.DataFileMeta) string {
	var n []string
	for i := range files {
		n = append(n, files[i].FileName)
	}
	return strings.Join(n, " ")
}

// TestPick runs the scripts in testdata: which runs a compaction takes, and to which level.
//
//	options trigger=5 …        sets the table options
//	runs                        lists the sorted runs of the files, youngest first
//	pick [at=SECONDS]           gives the next compaction
//	full                        gives the compaction of everything
//	sections                    cuts files into sections of runs
//	append target=N min=N       gives the files of an append table to join
func TestPick(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		order := NewKeyOrder(intKey)
		o := UniversalOptions{Trigger: 5, StopTrigger: 8, Levels: 6, MaxSizeAmp: 200, SizeRatio: 1}
		u := NewUniversal(o)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "options":
				for _, a := range d.CmdArgs {
					n, err := strconv.Atoi(a.Vals[0])
					if err != nil {
						t.Fatal(err)
					}
					switch a.Key {
					case "trigger":
						o.Trigger, o.StopTrigger, o.Levels = n, n+3, n+1
					case "levels":
						o.Levels = n
					case "amp":
						o.MaxSizeAmp = n
					case "ratio":
						o.SizeRatio = n
					case "interval":
						o.FullInterval = time.Duration(n) * time.Second
					case "threshold":
						o.SizeThreshold = int64(n)
					default:
						t.Fatalf("unknown option %s", a.Key)
					}
				}
				u = NewUniversal(o)
				return ""
			case "runs":
				var b strings.Builder
				for _, r := range Runs(parseFiles(t, d.Input), order) {
					fmt.Fprintf(&b, "level %d, %d bytes: %s\n", r.Level, r.Size(), names(r.Files))
				}
				return b.String()
			case "pick", "full", "lift":
				at := 0
				if d.HasArg("at") {
					d.ScanArgs(t, "at", &at)
				}
				runs := Runs(parseFiles(t, d.Input), order)
				now := start.Add(time.Duration(at) * time.Second)
				stale := ""
				if d.HasArg("stale") {
					d.ScanArgs(t, "stale", &stale)
				}
				var unit Unit
				var ok bool
				switch d.Cmd {
				case "pick":
					unit, ok = u.Pick(runs, now)
				case "lift":
					unit, ok = u.Lift(runs, now)
				default:
					unit, ok = u.Full(runs, func(f *spec.DataFileMeta) bool { return f.FileName == stale })
				}
				if !ok {
					return "none\n"
				}
				s := fmt.Sprintf("to level %d: %s", unit.Output, names(unit.Files))
				if unit.DropDelete {
					s += " (drops deletes)"
				}
				if unit.Rewrite {
					s += " (all anew)"
				}
				return s + "\n"
			case "sections":
				var b strings.Builder
				for _, s := range Sections(parseFiles(t, d.Input), order) {
					var runs []string
					for _, r := range s {
						runs = append(runs, names(r.Files))
					}
					b.WriteString(strings.Join(runs, " | ") + "\n")
				}
				return b.String()
			case "append":
				var target, least int
				d.ScanArgs(t, "target", &target)
				d.ScanArgs(t, "min", &least)
				files := PickAppend(parseFiles(t, d.Input), int64(target), least)
				if files == nil {
					return "none\n"
				}
				return names(files) + "\n"
			default:
				t.Fatalf("unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

func TestTreeKeepsMessagesApart(t *testing.T) {
	t.Parallel()
	o := UniversalOptions{Trigger: 2, StopTrigger: 3, Levels: 3, MaxSizeAmp: 200, SizeRatio: 1}
	file := func(name string, level int32, seq int64) spec.DataFileMeta {
		return spec.DataFileMeta{FileName: name, Level: level, FileSize: 10, MinKey: keyRow(1), MaxKey: keyRow(9), MinSequenceNumber: seq, MaxSequenceNumber: seq}
	}
	tree := NewTree([]spec.DataFileMeta{file("old", 2, 4)}, NewKeyOrder(intKey), o, nil)
	if n := tree.Reserve(10); n != 5 {
		t.Errorf("first sequence number %d, want 5", n)
	}
	if _, ok := tree.Next(time.Time{}); ok {
		t.Error("one run is compacted")
	}
	tree.Prepare(1, []spec.DataFileMeta{file("a", 0, 5)})
	unit, ok := tree.Next(time.Time{})
	if !ok || names(unit.Files) != "a old" || unit.Output != 2 {
		t.Fatalf("compaction of %q to level %d, want a and old to 2", names(unit.Files), unit.Output)
	}
	if _, again := tree.Next(time.Time{}); again {
		t.Error("two compactions of one bucket at once")
	}
	// The epoch that is prepared meanwhile does not name the result yet.
	if c := tree.Prepare(2, []spec.DataFileMeta{file("b", 0, 6)}); len(c.Before) > 0 {
		t.Errorf("message 2 names %v", c)
	}
	if !tree.Finish(&Change{Before: unit.Files, After: []spec.DataFileMeta{file("c", 2, 5)}}) {
		t.Fatal("the result does not count")
	}
	c := tree.Prepare(3, nil)
	if names(c.Before) != "a old" || names(c.After) != "c" {
		t.Errorf("message 3 takes %q and brings %q", names(c.Before), names(c.After))
	}
	if got := names(tree.Live()); got != "b c" && got != "c b" {
		t.Errorf("live files %q, want b and c", got)
	}
	if tree.Quiet() {
		t.Error("quiet with uncommitted messages")
	}
	// Message 3 is dropped: what it named is back, what came since stays.
	tree.Committed(1)
	tree.Committed(2)
	tree.Committed(3)
	tree.Reload([]spec.DataFileMeta{file("old", 2, 4), file("a", 0, 5), file("b", 0, 6)})
	live := strings.Fields(names(tree.Live()))
	if slices.Sort(live); !slices.Equal(live, []string{"a", "b", "old"}) {
		t.Errorf("live files %v, want a, b and old", live)
	}
}

func TestStalledOnlyWhileACompactionHelps(t *testing.T) {
	t.Parallel()
	o := UniversalOptions{Trigger: 2, StopTrigger: 3, Levels: 3, MaxSizeAmp: 200, SizeRatio: 1}
	var files []spec.DataFileMeta
	for i := range 4 {
		files = append(files, spec.DataFileMeta{FileName: fmt.Sprint("f", i), FileSize: 10, MinKey: keyRow(1), MaxKey: keyRow(9), MaxSequenceNumber: int64(i)})
	}
	tree := NewTree(files, NewKeyOrder(intKey), o, nil)
	if tree.Stalled() {
		t.Error("stalled though nothing would end it")
	}
	unit, ok := tree.Next(time.Time{})
	if !ok || !tree.Stalled() {
		t.Fatalf("compaction %v, stalled %v, want both: 4 runs are more than 3", ok, tree.Stalled())
	}
	tree.Finish(&Change{Before: unit.Files, After: files[:1]})
	if tree.Stalled() {
		t.Error("stalled after the compaction")
	}
}

func TestResultOverGoneInputsIsVoid(t *testing.T) {
	t.Parallel()
	o := UniversalOptions{Trigger: 2, StopTrigger: 3, Levels: 3, MaxSizeAmp: 200, SizeRatio: 1}
	f := func(name string, level int32) spec.DataFileMeta {
		return spec.DataFileMeta{FileName: name, Level: level, FileSize: 10, MinKey: keyRow(1), MaxKey: keyRow(9)}
	}
	tree := NewTree([]spec.DataFileMeta{f("a", 0), f("b", 0)}, NewKeyOrder(intKey), o, nil)
	unit, ok := tree.Next(time.Time{})
	if !ok {
		t.Fatal("no compaction")
	}
	tree.Prepare(1, []spec.DataFileMeta{f("new", 0)})
	tree.Reload([]spec.DataFileMeta{f("theirs", 2)})
	if tree.Finish(&Change{Before: unit.Files, After: []spec.DataFileMeta{f("ours", 2)}}) {
		t.Error("a compaction of files that are gone counts")
	}
	if got := names(tree.Live()); got != "theirs new" {
		t.Errorf("live files %q, want theirs and new", got)
	}
}
