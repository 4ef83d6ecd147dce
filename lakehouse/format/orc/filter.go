package orc

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// Filter decides whether rows stored together may hold one that is wanted.
// It is asked for each stripe and then for each row group of those kept.
type Filter interface {
	// MayMatch is given the number of rows and a way to their statistics: stats
	// looks a top-level column up by name, and gives minimum and maximum in the
	// form of the field's type; false if the file knows nothing of it.
	MayMatch(rows int64, stats func(f columnar.Field) (ColumnStats, bool)) bool
}

// span is a range of rows of a stripe, whole row groups.
type span struct{ from, to int64 }

// trustsStats reports whether the statistics of the file are to be believed:
// those of the first Java writers are not (HIVE-8732).
func (r *Reader) trustsStats() bool { return r.footer.writer != 0 || r.ps.writerVersion >= 1 }

// lookup gives the function that a Filter asks, over one fileStat per type.
func (r *Reader) lookup(rows int64, statOf func(id int) *fileStat) func(columnar.Field) (ColumnStats, bool) {
	return func(f columnar.Field) (ColumnStats, bool) {
		n := r.root.child(f.Name)
		if n == nil {
			return ColumnStats{}, false
		}
		s := statOf(n.id)
		if s == nil || s.values > uint64(rows) || s.values == 0 && !s.hasNull || f.Type.IsNested() {
			return ColumnStats{}, false
		}
		return s.columnStats(rows, f.Type, memory.DefaultAllocator), true
	}
}

// keepStripe asks the filter about stripe i.
func (r *Reader) keepStripe(i int) (bool, error) {
	if r.opts.Filter == nil || !r.trustsStats() {
		return true, nil
	}
	if err := r.loadStripeStats(); err != nil {
		return false, err
	}
	if i >= len(r.stripeStats) {
		return true, nil
	}
	m := message{b: r.stripeStats[i]}
	var stats []fileStat
	for m.next() {
		if m.field == 1 && len(stats) < len(r.footer.types) {
			sub := m.sub()
			stats = append(stats, decodeStat(sub))
			m.done(sub)
		}
	}
	if m.err != nil {
		return false, corruptf(r.metadataAt, "the statistics of stripe %d: %v", i, m.err)
	}
	rows := int64(r.footer.stripes[i].rows)
	return r.opts.Filter.MayMatch(rows, r.lookup(rows, func(id int) *fileStat {
		if id < len(stats) {
			return &stats[id]
		}
		return nil
	})), nil
}

// loadStripeStats reads the Metadata section once, one message a stripe. A very
// long one is left alone: no stripe is passed over then.
func (r *Reader) loadStripeStats() error {
	if r.stripeStats != nil {
		return nil
	}
	r.stripeStats = [][]byte{}
	if r.ps.metadataLength > maxSection {
		return nil
	}
	b, err := r.section(r.metadataAt, int64(r.ps.metadataLength))
	if err != nil {
		return err
	}
	m := message{b: b}
	for m.next() {
		if m.field == 1 && len(r.stripeStats) < len(r.footer.stripes) {
			r.stripeStats = append(r.stripeStats, m.bytes())
		}
	}
	if m.err != nil {
		return corruptf(r.metadataAt, "the stripe statistics: %v", m.err)
	}
	return nil
}

// spans gives the rows of a stripe that the filter keeps, and loads the index
// that is needed to seek to them.
func (r *Reader) spans(s *stripe) ([]span, error) {
	all := []span{{0, int64(s.rows)}}
	n := r.groups(s.rows)
	if r.opts.Filter == nil || !r.trustsStats() || n == 1 || n > maxGroups {
		return all, nil
	}
	for _, id := range r.ids {
		entries, err := r.loadIndex(s, id)
		if err != nil {
			return nil, err
		}
		if len(entries) < n {
			// Without a whole index there is no way to seek.
			return all, nil
		}
	}
	var out []span
	var failed error
	stride := int64(r.footer.stride)
	for g := range n {
		from := int64(g) * stride
		to := min(from+stride, int64(s.rows))
		keep := r.opts.Filter.MayMatch(to-from, r.lookup(to-from, func(id int) *fileStat {
			entries, err := r.loadIndex(s, id)
			if err != nil {
				failed = err
				return nil
			}
			if g >= len(entries) {
				return nil
			}
			m := message{b: entries[g].stat}
			stat := decodeStat(&m)
			if m.err != nil {
				failed = corruptf(s.start, "the statistics of row group %d: %v", g, m.err)
			}
			return &stat
		}))
		switch {
		case failed != nil:
			return nil, failed
		case !keep:
		case len(out) > 0 && out[len(out)-1].to == from:
			out[len(out)-1].to = to
		default:
			out = append(out, span{from, to})
		}
	}
	return out, nil
}
