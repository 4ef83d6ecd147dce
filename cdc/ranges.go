package cdc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"leat/cdc/mysqlrow"
)

// keyRange is the chunk keys from lo to hi, both included.
type keyRange struct{ lo, hi mysqlrow.IntKey }

const lastKey = mysqlrow.IntKey(math.MaxUint64)

// rangeSet is the ranges of a table that were emitted: everything up to a low
// edge, and what lies above it in order. Ranges never overlap.
type rangeSet struct {
	// all says that nothing is outstanding.
	all bool
	// edge is the first key that is not part of the contiguous low part.
	edge mysqlrow.IntKey
	list []keyRange
}

// has reports whether k was emitted.
func (s *rangeSet) has(k mysqlrow.IntKey) bool {
	if s.all || k < s.edge {
		return true
	}
	for i := range s.list {
		if k >= s.list[i].lo && k <= s.list[i].hi {
			return true
		}
	}
	return false
}

// add puts in r, which is not part of the set yet.
func (s *rangeSet) add(r keyRange) {
	s.list = append(s.list, r)
	slices.SortFunc(s.list, func(a, b keyRange) int { return cmp.Compare(a.lo, b.lo) })
	for len(s.list) > 0 && s.list[0].lo <= s.edge {
		hi := s.list[0].hi
		s.list = s.list[1:]
		if hi == lastKey {
			s.all = true
			s.list = nil
			return
		}
		s.edge = hi + 1
	}
}

// gap gives the first range at or above from that is not emitted; ok is false if there is none.
func (s *rangeSet) gap(from mysqlrow.IntKey) (r keyRange, ok bool) {
	if s.all {
		return keyRange{}, false
	}
	from = max(from, s.edge)
	for _, d := range s.list {
		if from < d.lo {
			return keyRange{from, d.lo - 1}, true
		}
		if from <= d.hi {
			if d.hi == lastKey {
				return keyRange{}, false
			}
			from = d.hi + 1
		}
	}
	return keyRange{from, lastKey}, true
}

// rangeState is the stored form of a rangeSet. Keys are unsigned decimal text:
// JSON numbers would lose digits.
type rangeState struct {
	Done   bool        `json:"done,omitempty"`
	Edge   string      `json:"edge,omitempty"`
	Ranges [][2]string `json:"ranges,omitempty"`
}

func (s rangeSet) state() rangeState {
	if s.all {
		return rangeState{Done: true}
	}
	out := rangeState{Edge: strconv.FormatUint(uint64(s.edge), 10)}
	for _, r := range s.list {
		out.Ranges = append(out.Ranges, [2]string{strconv.FormatUint(uint64(r.lo), 10), strconv.FormatUint(uint64(r.hi), 10)})
	}
	return out
}

func (r rangeState) set() (rangeSet, error) {
	if r.Done {
		return rangeSet{all: true}, nil
	}
	var s rangeSet
	var err error
	read := func(text string) mysqlrow.IntKey {
		n, e := strconv.ParseUint(text, 10, 64)
		if e != nil && err == nil {
			err = fmt.Errorf("reading the snapshot ranges of a state: %w", e)
		}
		return mysqlrow.IntKey(n)
	}
	if r.Edge != "" {
		s.edge = read(r.Edge)
	}
	for _, x := range r.Ranges {
		s.list = append(s.list, keyRange{read(x[0]), read(x[1])})
	}
	return s, err
}

// MarshalJSON and UnmarshalJSON keep the set in its stored form.
func (s rangeSet) MarshalJSON() ([]byte, error) { return json.Marshal(s.state()) }

// UnmarshalJSON reads the stored form.
func (s *rangeSet) UnmarshalJSON(b []byte) error {
	var r rangeState
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	set, err := r.set()
	*s = set
	return err
}
