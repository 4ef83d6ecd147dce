package mergetree

import (
	"cmp"
	"context"
	"slices"

	"leat/lakehouse/spec"
)

// smallFile is the share of the target size below which a file is merged with its neighbours.
const smallFile = 0.7

// Compact does a unit of compaction: files whose keys overlap are merged, small
// ones joined, large ones without company keep their content and only change
// the level. The result names files that leave and files that come; an upgraded
// file is in both.
func Compact(ctx context.Context, l *Layout, order *KeyOrder, u Unit, files Files, open Opener) (*Change, error) {
	c := &compaction{layout: l, order: order, unit: u, files: files, open: open, change: &Change{}}
	small := int64(float64(files.TargetSize) * smallFile)
	for _, section := range Sections(u.Files, order) {
		if len(section) > 1 {
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
	// todo are neighbouring sections that wait to be merged into one stream of files.
	todo   [][]Run
	change *Change
	made   []string
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
	case len(todo) == 1 && len(todo[0]) == 1:
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
	defer func() {
		for i := range w.done {
			c.made = append(c.made, w.done[i].FileName)
		}
		w.abort(ctx)
	}()
	for _, runs := range sections {
		if err := c.mergeSection(ctx, w, runs); err != nil {
			return err
		}
		for _, r := range runs {
			c.change.Before = append(c.change.Before, r.Files...)
		}
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	c.change.After = append(c.change.After, w.done...)
	return nil
}

func (c *compaction) mergeSection(ctx context.Context, w *fileWriter, runs []Run) (err error) {
	m, err := MergeRuns(ctx, c.layout.Columns, c.layout.Keys, runs, nil, c.open, MergeOptions{Engine: c.layout.Engine, DropDelete: c.unit.DropDelete})
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
