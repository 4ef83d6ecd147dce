package mergetree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/lakehouse/spec"
)

// KeySet is a sorted list of normalised keys in one piece of memory.
type KeySet struct {
	// short holds the keys of a codec that is Short, arena and offs those of another.
	short []uint64
	arena []byte
	offs  []int
	bytes bool
}

// Len is the number of keys.
func (s *KeySet) Len() int {
	if s.bytes {
		return max(0, len(s.offs)-1)
	}
	return len(s.short)
}

// Bytes is the memory of the keys.
func (s *KeySet) Bytes() int64 { return int64(8*len(s.short) + len(s.arena) + 8*len(s.offs)) }

func (s *KeySet) at(i int) []byte { return s.arena[s.offs[i]:s.offs[i+1]] }

// compare orders key i of s and key j of o.
func (s *KeySet) compare(i int, o *KeySet, j int) int {
	if s.bytes {
		return bytes.Compare(s.at(i), o.at(j))
	}
	return cmp.Compare(s.short[i], o.short[j])
}

// add appends rows first, first+step, … of the codec's batch, which has n.
func (s *KeySet) add(codec *KeyCodec, cols []arrow.Array, n, step int) {
	codec.Bind(cols)
	if codec.Short {
		all := make([]uint64, n)
		codec.Shorts(all)
		for i := 0; i < n; i += step {
			s.short = append(s.short, all[i])
		}
		return
	}
	s.bytes = true
	if len(s.offs) == 0 {
		s.offs = append(s.offs, 0)
	}
	for i := 0; i < n; i += step {
		s.arena = codec.Append(s.arena, i)
		s.offs = append(s.offs, len(s.arena))
	}
}

// sorted puts the keys in order, each once.
func (s *KeySet) sorted() *KeySet {
	if !s.bytes {
		slices.Sort(s.short)
		s.short = slices.Compact(s.short)
		return s
	}
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(s.at(a), s.at(b)) })
	out := &KeySet{bytes: true, arena: make([]byte, 0, len(s.arena)), offs: append(make([]int, 0, len(s.offs)), 0)}
	for n, i := range order {
		if n > 0 && bytes.Equal(s.at(i), s.at(order[n-1])) {
			continue
		}
		out.arena = append(out.arena, s.at(i)...)
		out.offs = append(out.offs, len(out.arena))
	}
	return out
}

// search gives the first key from lo on that is above key j of o.
func (s *KeySet) search(lo int, o *KeySet, j int) int {
	return lo + sort.Search(s.Len()-lo, func(i int) bool { return s.compare(lo+i, o, j) > 0 })
}

// maxLookupKeys bounds the keys that are looked up one by one; a compaction of
// more reads the files whole, for which no key is kept.
const maxLookupKeys = 1 << 18

// wanted gives the keys of the level-0 files of a section; nil where they are too many.
func (c *compaction) wanted(ctx context.Context, section []Run) (*KeySet, error) {
	var files []Run
	var rows int64
	for _, r := range section {
		for i := range r.Files {
			if f := &r.Files[i]; f.Level == 0 {
				rows += f.RowCount
				files = append(files, Run{Files: r.Files[i : i+1]})
			}
		}
	}
	if rows > maxLookupKeys {
		return nil, nil //nolint:nilnil // they are not looked up one by one
	}
	codec, err := c.layout.Codec()
	if err != nil {
		return nil, err
	}
	s := &KeySet{bytes: !codec.Short}
	for _, r := range files {
		if err := s.read(codec, &runReader{ctx: ctx, open: c.opts.Keys, files: r.Files}); err != nil {
			return nil, err
		}
	}
	return s.sorted(), nil
}

// read adds the keys of r, which it closes.
func (s *KeySet) read(codec *KeyCodec, r RowReader) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(codec, rows.Values, rows.Len(), 1)
		rows.Release()
	}
}

// finder gives what opens the files of others: a lookup of the keys of section's
// level-0 files where that is worth it, nil where all are read whole.
func (c *compaction) finder(ctx context.Context, section, others []Run) (Opener, error) {
	if c.opts.Find == nil || len(others) == 0 {
		return nil, nil //nolint:nilnil // as the comment says
	}
	keys, err := c.wanted(ctx, section)
	if err != nil || keys == nil {
		return nil, err
	}
	return func(ctx context.Context, f *spec.DataFileMeta) (RowReader, error) {
		if r, err := c.opts.Find(ctx, f, keys); err != nil || r != nil {
			return r, err
		}
		return c.open(ctx, f)
	}, nil
}
