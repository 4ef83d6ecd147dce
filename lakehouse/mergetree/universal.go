package mergetree

import (
	"cmp"
	"slices"
	"time"

	"leat/lakehouse/spec"
)

// UniversalOptions are the table options that decide which runs are compacted.
type UniversalOptions struct {
	// Trigger is num-sorted-run.compaction-trigger, StopTrigger num-sorted-run.stop-trigger.
	Trigger, StopTrigger int
	// Levels is num-levels.
	Levels int
	// MaxSizeAmp is compaction.max-size-amplification-percent, SizeRatio compaction.size-ratio.
	MaxSizeAmp, SizeRatio int
	// FullInterval is compaction.optimization-interval, 0 for none.
	FullInterval time.Duration
	// SizeThreshold is compaction.total-size-threshold in bytes, 0 for none.
	SizeThreshold int64
	// OffPeak enlarges SizeRatio at quiet hours.
	OffPeak OffPeak
	// ForceUpLevel0 is compaction.force-up-level-0: all of level 0 is compacted
	// whenever there is something and nothing else is due.
	ForceUpLevel0 bool
	// ForceRewrite is compaction.force-rewrite-all-files: a compaction writes every
	// file anew, and a full one takes files that are in the deepest level already.
	ForceRewrite bool
}

// OffPeak is the options compaction.offpeak.*: from hour Start to before hour
// End of local time, over midnight if End is smaller, Ratio is added to the size
// ratio. Equal hours mean never.
type OffPeak struct{ Start, End, Ratio int }

func (o OffPeak) ratio(now time.Time) int {
	h := now.Hour()
	switch {
	case o.Start < 0 || o.End < 0 || o.Start == o.End:
	case o.Start < o.End && (h < o.Start || h >= o.End):
	case o.Start > o.End && h < o.Start && h >= o.End:
	default:
		return o.Ratio
	}
	return 0
}

// Run is one sorted run: files of one level whose key ranges do not overlap, in key order.
type Run struct {
	Level int32
	Files []spec.DataFileMeta
}

// Size sums the file sizes.
func (r *Run) Size() int64 {
	var n int64
	for i := range r.Files {
		n += r.Files[i].FileSize
	}
	return n
}

// Runs arranges the files of a bucket as sorted runs, the youngest first: every
// level-0 file by itself, then each level above as one.
func Runs(files []spec.DataFileMeta, keys *KeyOrder) []Run {
	var runs []Run
	levels := map[int32][]spec.DataFileMeta{}
	for _, f := range files {
		if f.Level == 0 {
			runs = append(runs, Run{Files: []spec.DataFileMeta{f}})
			continue
		}
		levels[f.Level] = append(levels[f.Level], f)
	}
	slices.SortFunc(runs, func(a, b Run) int { return compareLevel0(&a.Files[0], &b.Files[0]) })
	upper := make([]int32, 0, len(levels))
	for l := range levels {
		upper = append(upper, l)
	}
	slices.Sort(upper)
	for _, l := range upper {
		fs := levels[l]
		slices.SortFunc(fs, func(a, b spec.DataFileMeta) int { return keys.Compare(a.MinKey, b.MinKey) })
		runs = append(runs, Run{Level: l, Files: fs})
	}
	return runs
}

// compareLevel0 puts the file with the younger changes first.
func compareLevel0(a, b *spec.DataFileMeta) int {
	return cmp.Or(
		cmp.Compare(b.MaxSequenceNumber, a.MaxSequenceNumber),
		cmp.Compare(a.MinSequenceNumber, b.MinSequenceNumber),
		cmp.Compare(timeOf(a), timeOf(b)),
		cmp.Compare(a.FileName, b.FileName),
	)
}

func timeOf(f *spec.DataFileMeta) int64 {
	if f.CreationTimeMillis == nil {
		return 0
	}
	return *f.CreationTimeMillis
}

// Unit is what one compaction does: merge Files into level Output.
type Unit struct {
	Output int32
	Files  []spec.DataFileMeta
	// MaxLevel says that Output is the deepest level, DropDelete that nothing
	// older than Files can lie below, so that deletes need not be kept.
	MaxLevel, DropDelete bool
	// Rewrite says that every file is to be written anew.
	Rewrite bool
}

// Universal picks the runs to compact, as Paimon's UniversalCompaction does.
type Universal struct {
	opts UniversalOptions
	// lastFull is when this writer last picked a full compaction for FullInterval.
	lastFull time.Time
	// ratio is the size ratio of the hour.
	ratio int
}

// NewUniversal makes the strategy of one bucket.
func NewUniversal(o UniversalOptions) *Universal { return &Universal{opts: o} }

// maxLevel is the deepest level, that of the options or of the files.
func (u *Universal) maxLevel(runs []Run) int32 {
	top := int32(u.opts.Levels - 1)
	for i := range runs {
		top = max(top, runs[i].Level)
	}
	return top
}

// Pick gives the next compaction of runs (youngest first); ok is false if none is due.
func (u *Universal) Pick(runs []Run, now time.Time) (unit Unit, ok bool) {
	return u.unit(runs, u.pick(runs, now), now)
}

// Lift is Pick, but takes all of level 0 if nothing else is due
// (ForceUpLevel0Compaction.java). What Pick takes has all of level 0 too.
func (u *Universal) Lift(runs []Run, now time.Time) (unit Unit, ok bool) {
	level0 := 0
	for level0 < len(runs) && runs[level0].Level == 0 {
		level0++
	}
	n := u.pick(runs, now)
	if n == 0 && level0 > 0 {
		n = u.bySizeRatio(runs, level0)
	}
	return u.unit(runs, n, now)
}

// next is Pick, or Lift where the options say so.
func (u *Universal) next(runs []Run, now time.Time) (unit Unit, ok bool) {
	if u.opts.ForceUpLevel0 {
		return u.Lift(runs, now)
	}
	return u.Pick(runs, now)
}

// unit makes the compaction of the n youngest runs, none for 0.
func (u *Universal) unit(runs []Run, n int, now time.Time) (unit Unit, ok bool) {
	if n == 0 {
		return Unit{}, false
	}
	top := u.maxLevel(runs)
	n, unit.Output = outputLevel(runs, n, top)
	if n == len(runs) {
		u.lastFull = now
	}
	for i := range runs[:n] {
		unit.Files = append(unit.Files, runs[i].Files...)
	}
	u.seal(&unit, runs, top)
	return unit, len(unit.Files) != 1 || unit.Files[0].Level != unit.Output
}

// pick gives the number of youngest runs to compact, 0 for none.
func (u *Universal) pick(runs []Run, now time.Time) int {
	o := &u.opts
	u.ratio = o.SizeRatio + o.OffPeak.ratio(now)
	var total int64
	for i := range runs {
		total += runs[i].Size()
	}
	if len(runs) > 1 {
		if o.FullInterval > 0 && (u.lastFull.IsZero() || now.Sub(u.lastFull) >= o.FullInterval) {
			return len(runs)
		}
		if o.SizeThreshold > 0 && total < o.SizeThreshold {
			return len(runs)
		}
	}
	if len(runs) < o.Trigger || len(runs) < 2 {
		return 0
	}
	oldest := runs[len(runs)-1].Size()
	if (total-oldest)*100 > int64(o.MaxSizeAmp)*oldest {
		return len(runs)
	}
	if n := u.bySizeRatio(runs, 1); n > 1 {
		return n
	}
	if len(runs) > o.Trigger {
		return u.bySizeRatio(runs, len(runs)-o.Trigger+1)
	}
	return 0
}

// bySizeRatio starts with the n youngest runs and adds the next as long as the
// candidates together, enlarged by the ratio, are at least as large.
func (u *Universal) bySizeRatio(runs []Run, n int) int {
	var candidate int64
	for i := range runs[:n] {
		candidate += runs[i].Size()
	}
	for n < len(runs) {
		next := runs[n].Size()
		if candidate*int64(100+u.ratio)/100 < next {
			break
		}
		candidate += next
		n++
	}
	return n
}

// outputLevel gives where n picked runs go, and how many have to be picked so
// that the output is a run of its own.
func outputLevel(runs []Run, n int, top int32) (int, int32) {
	if n == len(runs) {
		return n, top
	}
	if out := runs[n].Level - 1; out > 0 {
		return n, out
	}
	// Below level 1 there is no room: go on to the first run that is not of level 0.
	for n < len(runs) {
		n++
		if l := runs[n-1].Level; l != 0 {
			if n == len(runs) {
				return n, top
			}
			return n, l
		}
	}
	return n, top
}

// Full gives the compaction of everything into the deepest level; ok is false if
// nothing is to do. Files that are there already stay, but for those that stale,
// which may be nil, says hold rows to leave out.
func (u *Universal) Full(runs []Run, stale func(f *spec.DataFileMeta) bool) (unit Unit, ok bool) {
	if len(runs) == 0 {
		return Unit{}, false
	}
	unit.Output = u.maxLevel(runs)
	inPlace := len(runs) == 1 && runs[0].Level == unit.Output
	for i := range runs {
		for _, f := range runs[i].Files {
			if !inPlace || u.opts.ForceRewrite || stale != nil && stale(&f) {
				unit.Files = append(unit.Files, f)
			}
		}
	}
	u.seal(&unit, runs, unit.Output)
	unit.Rewrite = unit.Rewrite || inPlace
	return unit, len(unit.Files) > 0
}

func (u *Universal) seal(unit *Unit, runs []Run, top int32) {
	unit.MaxLevel, unit.Rewrite = unit.Output == top, u.opts.ForceRewrite
	unit.DropDelete = unit.Output > 0 && unit.Output >= runs[len(runs)-1].Level
}
