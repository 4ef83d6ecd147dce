package mergetree

import (
	"cmp"
	"slices"

	"leat/internal/columnar"
)

// OrderRuns puts runs in the order of their age and reports whether every row of
// a run is younger than all of the runs before it: then the order of the runs
// says which row of a key is the last, and no sequence number need be read.
func OrderRuns(runs []Run) ([]Run, bool) {
	out := slices.Clone(runs)
	span := func(r Run) (from, to int64) {
		for i := range r.Files {
			f := &r.Files[i]
			if i == 0 || f.MinSequenceNumber < from {
				from = f.MinSequenceNumber
			}
			if i == 0 || f.MaxSequenceNumber > to {
				to = f.MaxSequenceNumber
			}
		}
		return from, to
	}
	slices.SortStableFunc(out, func(a, b Run) int {
		x, _ := span(a)
		y, _ := span(b)
		return cmp.Compare(x, y)
	})
	for i := range max(0, len(out)-1) {
		_, end := span(out[i])
		if begin, _ := span(out[i+1]); begin <= end {
			return runs, false
		}
	}
	return out, true
}

// mergeYoungest is mergeKeyed of streams that have a key once: of two rows of a
// key that of b stays. It gives the number of rows in out.
func mergeYoungest(out, a, b []keyedRow) int {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].key < b[0].key {
		return copy(out, a) + copy(out[len(a):], b)
	}
	i, j, k := 0, 0, 0
	out = out[:len(a)+len(b)]
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		left, right := 0, 0
		if x.key <= y.key {
			left = 1
		}
		if y.key <= x.key {
			x.key = y.key
			right = 1
		}
		if right == 1 {
			x.at = y.at
		}
		out[k] = x
		k++
		i += left
		j += right
	}
	k += copy(out[k:], a[i:])
	return k + copy(out[k:], b[j:])
}

// youngest is merge for streams in the order of their age, which have a key once.
func (w *window) youngest() {
	if cap(w.to) < len(w.from) {
		w.to = make([]keyedRow, len(w.from), cap(w.from))
	}
	for len(w.cuts) > 1 {
		to, cuts, begin, n := w.to[:len(w.from)], w.cuts[:0], 0, 0
		for i := 0; i < len(w.cuts); i += 2 {
			mid := w.cuts[i]
			if i+1 == len(w.cuts) {
				n += copy(to[n:], w.from[begin:mid])
			} else {
				end := w.cuts[i+1]
				n += mergeYoungest(to[n:], w.from[begin:mid], w.from[mid:end])
				begin = end
			}
			cuts = append(cuts, n)
		}
		w.from, w.to, w.cuts = to[:n], w.from[:cap(w.from)], cuts
	}
	w.rows = w.from
}

// takeYoungest takes rows of the stretch, each the last of its key, until the chunk has n.
func (m *Merge) takeYoungest(n int) {
	rows := m.window.rows
	i := 0
	if !m.opts.DropDelete || !slices.ContainsFunc(m.live, func(r *Rows) bool { return !r.NoDeletes }) {
		i = min(len(rows), n-len(m.refs))
		for _, r := range rows[:i] {
			m.refs = append(m.refs, r.ref())
		}
	} else {
		for ; i < len(rows) && len(m.refs) < n; i++ {
			r := rows[i].ref()
			if !columnar.RowKind(m.live[r.batch].Kinds[r.row]).Retracts() {
				m.refs = append(m.refs, r)
			}
		}
	}
	m.window.rows = rows[i:]
}

// unread gives the chunk sequence numbers, which are 0, and the kinds if they are wanted.
func (m *Merge) unread() {
	n := len(m.refs)
	m.chunk.seq = scratch(&m.chunk.seq, n, false)
	m.chunk.kinds = scratch(&m.chunk.kinds, n, false)
	if m.opts.Kinds {
		for i, r := range m.refs {
			m.chunk.kinds[i] = m.live[r.batch].Kinds[r.row]
		}
	}
}
