package mergetree

import (
	"math"
	"slices"
)

// keyedRow is a short key and where its row stands, batch above row.
type keyedRow struct{ key, at uint64 }

func (k keyedRow) ref() rowRef { return rowRef{batch: uint32(k.at >> 32), row: uint32(k.at)} }

// window merges streams with short keys a stretch at a time: all rows up to the
// least of the keys that the batches at hand end with. Merging two stretches
// after the other has no branch that depends on a key, where a loser tree has
// several a row that no processor foresees.
type window struct {
	// rows are what is left of the stretch, in key order.
	rows []keyedRow
	// from holds the rows of a stretch stream by stream, cuts where each ends.
	from, to []keyedRow
	cuts     []int
}

// fillWindow makes the next stretch; without rows the streams have ended.
func (m *Merge) fillWindow() error {
	bound, open := uint64(math.MaxUint64), false
	for _, c := range m.cursors {
		if !c.end && c.row >= c.rows.Len() {
			if err := m.load(c); err != nil {
				return err
			}
		}
		if !c.end {
			open = true
			bound = min(bound, c.short[c.rows.Len()-1])
		}
	}
	w := m.window
	w.rows, w.from, w.cuts = nil, w.from[:0], w.cuts[:0]
	if !open {
		return nil
	}
	for _, c := range m.cursors {
		if c.end {
			continue
		}
		keys := c.short[c.row:c.rows.Len()]
		n := len(keys)
		if keys[n-1] > bound {
			n, _ = slices.BinarySearchFunc(keys, bound, func(k, b uint64) int {
				if k <= b {
					return -1
				}
				return 1
			})
		}
		if n == 0 {
			continue
		}
		at := uint64(c.slot)<<32 | uint64(c.row)
		for i, k := range keys[:n] {
			w.from = append(w.from, keyedRow{k, at + uint64(i)})
		}
		c.row += n
		w.cuts = append(w.cuts, len(w.from))
	}
	if m.opts.Ordered {
		w.youngest()
	} else {
		w.merge()
	}
	return nil
}

// merge sorts the streams of a stretch into rows: neighbours become one until one is left.
func (w *window) merge() {
	if cap(w.to) < len(w.from) {
		w.to = make([]keyedRow, len(w.from), cap(w.from))
	}
	for len(w.cuts) > 1 {
		to, cuts, begin := w.to[:len(w.from)], w.cuts[:0], 0
		for i := 0; i < len(w.cuts); i += 2 {
			mid := w.cuts[i]
			if i+1 == len(w.cuts) {
				copy(to[begin:], w.from[begin:])
				cuts = append(cuts, mid)
				break
			}
			end := w.cuts[i+1]
			mergeKeyed(to[begin:end], w.from[begin:mid], w.from[mid:end])
			cuts, begin = append(cuts, end), end
		}
		w.from, w.to, w.cuts = to, w.from, cuts
	}
	w.rows = w.from
}

// mergeKeyed merges two sorted slices into out, which has room for both.
func mergeKeyed(out, a, b []keyedRow) {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].key <= b[0].key {
		copy(out[copy(out, a):], b)
		return
	}
	i, j, k := 0, 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		right := 0
		if y.key < x.key {
			x.key = y.key
			right = 1
		}
		if right == 1 {
			x.at = y.at
		}
		out[k] = x
		k++
		j += right
		i += 1 - right
	}
	copy(out[k+copy(out[k:], a[i:]):], b[j:])
}

// nextWindowed is next where keys are short and the youngest row of each wins.
func (m *Merge) nextWindowed(n int) (*chunk, error) {
	m.trim()
	m.refs, m.chunk.seq, m.chunk.kinds = m.refs[:0], m.chunk.seq[:0], m.chunk.kinds[:0]
	for len(m.refs) < n {
		if len(m.window.rows) == 0 {
			if err := m.fillWindow(); err != nil {
				return nil, err
			}
			if len(m.window.rows) == 0 {
				m.emit()
				break
			}
		}
		if m.opts.Ordered {
			m.takeYoungest(n)
		} else {
			m.resolveWindow(n)
		}
	}
	if len(m.refs) == 0 {
		return nil, nil
	}
	if m.opts.Ordered {
		m.unread()
	}
	return m.gather(), nil
}

// resolveWindow takes rows of the stretch until the chunk has n.
func (m *Merge) resolveWindow(n int) {
	rows := m.window.rows
	i := 0
	for ; i < len(rows) && len(m.refs) < n; i++ {
		r := rows[i].ref()
		batch := m.live[r.batch]
		seq := batch.Seq[r.row]
		if m.has {
			if m.lastKey.Prefix != rows[i].key {
				m.emit()
			} else if seq < m.seq {
				continue
			}
		}
		m.has, m.lastKey.Prefix = true, rows[i].key
		m.last, m.seq, m.kind = r, seq, batch.Kinds[r.row]
	}
	m.window.rows = rows[i:]
}
