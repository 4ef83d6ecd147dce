package mergetree

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"leat/lakehouse/spec"
)

// smallFile is the share of the target size below which a file is merged with its neighbours.
const smallFile = 0.7

// CompactOptions say what a compaction does besides merging.
type CompactOptions struct {
	// Changes, if set, has the changes that the compaction means written to Changelog.
	Changes   *ChangeOptions
	Changelog Files
	// Lookup makes rows whole: those of level 0 are merged with the rows of
	// Others, the bucket's files outside of the unit. It is how changes are found
	// against rows above level 0, and how deletion vectors are.
	Lookup bool
	Others []spec.DataFileMeta
	// Find, if set, gives the rows of a file of Others with these keys, or nil if
	// the file is to be read whole. Keys opens files with the key columns alone.
	Find func(ctx context.Context, f *spec.DataFileMeta, keys *KeySet) (RowReader, error)
	Keys Opener
	// Replaced is told of the rows of Others that the compaction's rows take the place of.
	Replaced func(f *spec.DataFileMeta, position int64)
}

// Compact does a unit of compaction: files whose keys overlap are merged, small
// ones joined, large ones without company keep their content and only change
// the level. The result names files that leave and files that come; an upgraded
// file is in both.
func Compact(ctx context.Context, l *Layout, order *KeyOrder, u Unit, files Files, open Opener, o CompactOptions) (*Change, error) {
	c := &compaction{layout: l, order: order, unit: u, files: files, open: open, opts: o, change: &Change{}}
	small := int64(float64(files.TargetSize) * smallFile)
	for _, section := range Sections(u.Files, order) {
		if len(section) > 1 || c.mustRead(section) {
			c.todo = append(c.todo, section)
			continue
		}
		for _, f := range section[0].Files {
			if f.FileSize < small {
				c.todo = append(c.todo, []Run{{Files: []spec.DataFileMeta{f}}})
				continue
			}
			if err := c.rewrite(ctx); err != nil {
				return c.undo(ctx, err)
			}
			if err := c.upgrade(ctx, f); err != nil {
				return c.undo(ctx, err)
			}
		}
	}
	if err := c.rewrite(ctx); err != nil {
		return c.undo(ctx, err)
	}
	return c.change, nil
}

type compaction struct {
	layout *Layout
	order  *KeyOrder
	unit   Unit
	files  Files
	open   Opener
	opts   CompactOptions
	// todo are neighbouring sections that wait to be merged into one stream of files.
	todo   [][]Run
	change *Change
	made   []string
}

// mustRead reports that a section's rows have to be looked at, though nothing is to merge.
func (c *compaction) mustRead(section []Run) bool {
	for _, r := range section {
		for i := range r.Files {
			f := &r.Files[i]
			switch {
			case c.unit.Rewrite, c.opts.Lookup && f.Level == 0:
				return true
			case c.opts.Changes != nil && c.opts.Changes.TopLevel > 0 && f.Level != c.opts.Changes.TopLevel:
				return true
			}
		}
	}
	return false
}

// others gives the runs of files outside of the unit that hold keys of a section.
func (c *compaction) others(section []Run) []Run {
	var lo, hi spec.BinaryRow
	level0 := false
	for _, r := range section {
		for i := range r.Files {
			f := &r.Files[i]
			if f.Level > 0 {
				continue
			}
			if !level0 || c.order.Compare(f.MinKey, lo) < 0 {
				lo = f.MinKey
			}
			if !level0 || c.order.Compare(f.MaxKey, hi) > 0 {
				hi = f.MaxKey
			}
			level0 = true
		}
	}
	if !level0 {
		return nil
	}
	var files []spec.DataFileMeta
	for _, f := range c.opts.Others {
		if f.Level > 0 && c.order.Compare(f.MinKey, hi) <= 0 && c.order.Compare(f.MaxKey, lo) >= 0 {
			files = append(files, f)
		}
	}
	return Runs(files, c.order)
}

// undo removes the files made so far.
func (c *compaction) undo(ctx context.Context, err error) (*Change, error) {
	for _, name := range c.made {
		_ = c.files.FS.Remove(context.WithoutCancel(ctx), c.files.FS.Join(c.files.Dir, name))
	}
	return nil, err
}

// upgrade moves a file to the output level; only deletes that need not be kept make it be written anew.
func (c *compaction) upgrade(ctx context.Context, f spec.DataFileMeta) error {
	if c.unit.MaxLevel && f.DeleteRowCount != nil && *f.DeleteRowCount > 0 {
		return c.merge(ctx, [][]Run{{{Files: []spec.DataFileMeta{f}}}})
	}
	if f.Level != c.unit.Output {
		c.change.Before = append(c.change.Before, f)
		f.Level = c.unit.Output
		c.change.After = append(c.change.After, f)
	}
	return nil
}

// rewrite merges the sections collected so far; a lone file is upgraded instead.
func (c *compaction) rewrite(ctx context.Context) error {
	todo := c.todo
	c.todo = nil
	switch {
	case len(todo) == 0:
		return nil
	case len(todo) == 1 && len(todo[0]) == 1 && !c.mustRead(todo[0]):
		for _, f := range todo[0][0].Files {
			if err := c.upgrade(ctx, f); err != nil {
				return err
			}
		}
		return nil
	default:
		return c.merge(ctx, todo)
	}
}

func (c *compaction) merge(ctx context.Context, sections [][]Run) error {
	w, err := newFileWriter(c.layout, c.files, c.unit.Output, spec.SourceCompact, c.layout.Stats)
	if err != nil {
		return err
	}
	// The changes of a compaction are new rows of the table: their files count as appended.
	changes, err := newFileWriter(c.layout, c.opts.Changelog, c.unit.Output, spec.SourceAppend, c.layout.ChangelogStats)
	if err != nil {
		return err
	}
	defer func() {
		for i := range w.done {
			c.made = append(c.made, w.done[i].FileName)
		}
		for i := range changes.done {
			c.made = append(c.made, changes.done[i].FileName)
		}
		w.abort(ctx)
		changes.abort(ctx)
	}()
	for _, runs := range sections {
		if err := c.mergeSection(ctx, w, changes, runs); err != nil {
			return err
		}
		for _, r := range runs {
			c.change.Before = append(c.change.Before, r.Files...)
		}
	}
	if err := errors.Join(w.finish(ctx), changes.finish(ctx)); err != nil {
		return err
	}
	c.change.After = append(c.change.After, w.done...)
	c.change.Changelog = append(c.change.Changelog, changes.done...)
	return nil
}

func (c *compaction) mergeSection(ctx context.Context, w, changes *fileWriter, runs []Run) (err error) {
	o := MergeOptions{Engine: c.layout.Engine, DropDelete: c.unit.DropDelete, Changes: c.opts.Changes}
	var others []Run
	if c.opts.Lookup {
		others, o.Replaced = c.others(runs), c.opts.Replaced
		if o.OpenReference, err = c.finder(ctx, runs, others); err != nil {
			return err
		}
	}
	m, err := MergeRuns(ctx, c.layout.Columns, c.layout.Keys, runs, others, c.open, o)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := m.Close(); err == nil {
			err = cerr
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := m.next(chunkRows)
		if err != nil || rows == nil {
			return err
		}
		if err := w.write(ctx, rows); err != nil {
			return err
		}
		if o.Changes == nil {
			continue
		}
		if err := changes.write(ctx, &m.fold.changes.chunk); err != nil {
			return err
		}
	}
}

// Sections cuts files into groups whose key ranges do not overlap, in key
// order, each as the least number of sorted runs.
func Sections(files []spec.DataFileMeta, order *KeyOrder) [][]Run {
	fs := slices.Clone(files)
	slices.SortStableFunc(fs, func(a, b spec.DataFileMeta) int {
		return cmp.Or(order.Compare(a.MinKey, b.MinKey), order.Compare(a.MaxKey, b.MaxKey))
	})
	var out [][]Run
	var bound spec.BinaryRow
	from := 0
	for i := range fs {
		if i > from && order.Compare(fs[i].MinKey, bound) > 0 {
			out = append(out, sectionRuns(fs[from:i], order))
			from = i
		}
		if i == from || order.Compare(fs[i].MaxKey, bound) > 0 {
			bound = fs[i].MaxKey
		}
	}
	if from < len(fs) {
		out = append(out, sectionRuns(fs[from:], order))
	}
	return out
}

// sectionRuns puts each file, in order of its least key, behind the run that ends first.
func sectionRuns(fs []spec.DataFileMeta, order *KeyOrder) []Run {
	var runs []Run
	for _, f := range fs {
		best := -1
		for i := range runs {
			end := runs[i].Files[len(runs[i].Files)-1].MaxKey
			if order.Compare(end, f.MinKey) < 0 && (best < 0 || order.Compare(end, runs[best].Files[len(runs[best].Files)-1].MaxKey) < 0) {
				best = i
			}
		}
		if best < 0 {
			runs = append(runs, Run{Files: []spec.DataFileMeta{f}})
			continue
		}
		runs[best].Files = append(runs[best].Files, f)
	}
	return runs
}
