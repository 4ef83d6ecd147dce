package cdc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// keyRange is the chunk keys above lo up to hi, hi included. An open edge is no limit.
type keyRange struct{ lo, hi mysqlrow.Edge }

// has reports whether the key with the given order form is in the range.
func (r *keyRange) has(key []byte) bool {
	return (r.lo.Open() || string(key) > r.lo.Order) && (r.hi.Open() || string(key) <= r.hi.Order)
}

// below reports whether a lies below b; an open lower edge lies below all others.
func below(a, b mysqlrow.Edge) bool {
	if a.Open() || b.Open() {
		return a.Open() && !b.Open()
	}
	return a.Order < b.Order
}

// rangeSet is the ranges of a table that were emitted: everything up to an
// edge, and what lies above it in order. Ranges never overlap.
type rangeSet struct {
	// all says that nothing is outstanding.
	all bool
	// edge ends the contiguous low part, which is empty if it is open.
	edge mysqlrow.Edge
	list []keyRange
}

// has reports whether the key with the given order form was emitted.
func (s *rangeSet) has(key []byte) bool {
	if s.all || !s.edge.Open() && string(key) <= s.edge.Order {
		return true
	}
	for i := range s.list {
		if s.list[i].has(key) {
			return true
		}
	}
	return false
}

// add puts in r, which is not part of the set yet.
func (s *rangeSet) add(r keyRange) {
	s.list = append(s.list, r)
	slices.SortFunc(s.list, func(a, b keyRange) int {
		if a.lo.Open() || b.lo.Open() {
			return cmp.Compare(len(a.lo.Texts), len(b.lo.Texts))
		}
		return cmp.Compare(a.lo.Order, b.lo.Order)
	})
	for len(s.list) > 0 && !below(s.edge, s.list[0].lo) {
		hi := s.list[0].hi
		s.list = s.list[1:]
		if hi.Open() {
			*s = rangeSet{all: true}
			return
		}
		s.edge = hi
	}
}

// gap gives the first range above from that is not emitted; ok is false if there is none.
func (s *rangeSet) gap(from mysqlrow.Edge) (r keyRange, ok bool) {
	if s.all {
		return keyRange{}, false
	}
	if below(from, s.edge) {
		from = s.edge
	}
	for _, d := range s.list {
		if below(from, d.lo) {
			return keyRange{from, d.lo}, true
		}
		if d.hi.Open() {
			return keyRange{}, false
		}
		if below(from, d.hi) {
			from = d.hi
		}
	}
	return keyRange{from, mysqlrow.Edge{}}, true
}

// rangeState is the stored form of a rangeSet: edges are the texts that the
// server prints, null where a range is open.
type rangeState struct {
	Done   bool          `json:"done,omitempty"`
	Upto   []string      `json:"upto,omitempty"`
	Ranges [][2][]string `json:"ranges,omitempty"`
	// Edge is what stood for Upto in states of version 1.
	Edge string `json:"edge,omitempty"`
}

func (s rangeSet) state() rangeState {
	if s.all {
		return rangeState{Done: true}
	}
	out := rangeState{Upto: s.edge.Texts}
	for _, r := range s.list {
		out.Ranges = append(out.Ranges, [2][]string{r.lo.Texts, r.hi.Texts})
	}
	return out
}

// earlierRanges refuses ranges of version 1, which were integers.
func earlierRanges() error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeJobState,
		Msg:  "the stored source state stands within a snapshot whose ranges an earlier version of this program wrote",
		Hint: "let that version end the snapshot, or start with --fresh --replace",
	}
}

// set reads the stored form; plan knows the columns of the edges.
func (r rangeState) set(plan *mysqlrow.Plan) (rangeSet, error) {
	if r.Done {
		return rangeSet{all: true}, nil
	}
	if r.Edge != "" && r.Edge != "0" {
		return rangeSet{}, earlierRanges()
	}
	var s rangeSet
	var err error
	read := func(texts []string) mysqlrow.Edge {
		if len(texts) == 0 {
			return mysqlrow.Edge{}
		}
		e, wrong := plan.ParseEdge(texts)
		if wrong != nil && err == nil {
			err = fmt.Errorf("reading the snapshot ranges of a state: %w", wrong)
		}
		return e
	}
	s.edge = read(r.Upto)
	for _, x := range r.Ranges {
		s.list = append(s.list, keyRange{read(x[0]), read(x[1])})
	}
	return s, err
}

// MarshalJSON writes the stored form.
func (s rangeSet) MarshalJSON() ([]byte, error) { return json.Marshal(s.state()) }
