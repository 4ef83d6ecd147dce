package lakehouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// Numbers of deletion vector files: a version byte, then a block for each data
// file, of 32-bit or 64-bit positions.
const (
	vectorVersion = 1
	vectorMagic32 = 1581511376
	vectorMagic64 = 1681511377
	// maxVectorRow bounds positions to what a data file can hold.
	maxVectorRow = 1 << 33
)

// vectors are the deleted rows of data files, by file name.
type vectors map[string]rowSet

// encodeVectors gives the content of a deletion vector file and the ranges in it.
func encodeVectors(v vectors, wide bool) ([]byte, []spec.DeletionVectorMeta) {
	out := []byte{vectorVersion}
	ranges := []spec.DeletionVectorMeta{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		set := v[name]
		at := len(out)
		out = append(out, 0, 0, 0, 0)
		if wide {
			out = appendRoaring64(binary.LittleEndian.AppendUint32(out, vectorMagic64), set)
		} else {
			out = appendRoaring(binary.BigEndian.AppendUint32(out, vectorMagic32), set)
		}
		size := len(out) - at - 4
		binary.BigEndian.PutUint32(out[at:], uint32(size))
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[at+4:]))
		length, count := size, set.count()
		if wide {
			length += 8
		}
		ranges = append(ranges, spec.DeletionVectorMeta{DataFile: name, Offset: int32(at), Length: int32(length), Cardinality: &count})
	}
	return out, ranges
}

func appendRoaring64(dst []byte, set rowSet) []byte {
	const words = 1 << 32 / 64
	dst = binary.LittleEndian.AppendUint64(dst, uint64((len(set)+words-1)/words))
	for key := 0; key*words < len(set); key++ {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(key))
		dst = appendRoaring(dst, set[key*words:min((key+1)*words, len(set))])
	}
	return dst
}

// decodeVector reads the block of one data file, which has rows rows.
func decodeVector(file []byte, m *spec.DeletionVectorMeta, rows int64) (rowSet, error) {
	if m.Offset < 1 || int(m.Offset)+4 > len(file) {
		return nil, fmt.Errorf("no deletion vector at byte %d", m.Offset)
	}
	block := file[m.Offset:]
	size := int(binary.BigEndian.Uint32(block))
	if size < 4 || size > len(block)-8 {
		return nil, fmt.Errorf("a deletion vector of %d bytes at byte %d", size, m.Offset)
	}
	body := block[4 : 4+size]
	if sum := binary.BigEndian.Uint32(block[4+size:]); sum != crc32.ChecksumIEEE(body) {
		return nil, fmt.Errorf("the deletion vector at byte %d has another checksum", m.Offset)
	}
	var set rowSet
	switch {
	case binary.BigEndian.Uint32(body) == vectorMagic32:
		_, err := readRoaring(body[4:], 0, rows, &set)
		return set, err
	case binary.LittleEndian.Uint32(body) == vectorMagic64:
		err := readRoaring64(body[4:], rows, &set)
		return set, err
	default:
		return nil, fmt.Errorf("the deletion vector at byte %d is of an unknown kind", m.Offset)
	}
}

func readRoaring64(b []byte, rows int64, set *rowSet) error {
	r := &roaringReader{b: b}
	n := binary.LittleEndian.Uint64(r.take(8))
	for range n {
		key := int64(r.u32())
		if r.err != nil || key > rows>>32 { // before it is shifted: a large key would turn negative
			return errRoaring
		}
		var err error
		if r.b, err = readRoaring(r.b, key<<32, rows, set); err != nil {
			return err
		}
	}
	return r.err
}

// vectorRef says where the deletion vector of a data file stands.
type vectorRef struct {
	index *spec.IndexFileMeta
	meta  spec.DeletionVectorMeta
	// rows bounds the positions: those that the data file has, if it is known.
	rows int64
}

// vectorRefs gives where the deletion vectors of data files stand at s, by file
// name; of tells which buckets, nil all.
func (t *Table) vectorRefs(ctx context.Context, s *spec.Snapshot, of func(bucketID) bool) (map[string]vectorRef, error) {
	if s == nil || s.IndexManifest == nil {
		return nil, nil //nolint:nilnil // nothing is deleted by vectors
	}
	entries, err := t.manifests.Index(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	out := map[string]vectorRef{}
	for i := range entries {
		e := &entries[i]
		if e.File.Type != spec.DeletionVectorsIndex || of != nil && !of(idOf(e.Partition, e.Bucket)) {
			continue
		}
		for _, m := range e.File.Vectors {
			out[m.DataFile] = vectorRef{index: &e.File, meta: m, rows: maxVectorRow}
		}
	}
	return out, nil
}

// readVector reads one deletion vector.
func (t *Table) readVector(ctx context.Context, r *vectorRef) (rowSet, error) {
	path := t.paths.IndexPath(r.index)
	b, err := t.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading index file %s: %w", path, err)
	}
	set, err := decodeVector(b, &r.meta, r.rows)
	if err != nil {
		return nil, corrupt(path, err)
	}
	return set, nil
}

// bucketVectors is what a writer knows of the deletion vectors of a bucket.
type bucketVectors struct {
	sets vectors
	// files hold them: one at most in a table with a primary key.
	files []spec.IndexFileMeta
}

// has reports whether rows of a data file are deleted; nil has none.
func (v *bucketVectors) has(file string) bool { return v != nil && len(v.sets[file]) > 0 }

// vectorsOf reads the deletion vectors of some buckets at s.
func (t *Table) vectorsOf(ctx context.Context, s *spec.Snapshot, of func(bucketID) bool) (map[bucketID]*bucketVectors, error) {
	out := map[bucketID]*bucketVectors{}
	if s == nil || s.IndexManifest == nil {
		return out, nil
	}
	entries, err := t.manifests.Index(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	for i := range entries {
		e := &entries[i]
		id := idOf(e.Partition, e.Bucket)
		if e.File.Type != spec.DeletionVectorsIndex || !of(id) {
			continue
		}
		v := out[id]
		if v == nil {
			v = &bucketVectors{sets: vectors{}}
			out[id] = v
		}
		v.files = append(v.files, e.File)
		for _, m := range e.File.Vectors {
			if v.sets[m.DataFile], err = t.readVector(ctx, &vectorRef{index: &e.File, meta: m, rows: maxVectorRow}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// writeVectors writes the deletion vectors of a bucket after a compaction that
// marked rows and replaced files, and notes in c which file comes and which leaves.
func (t *Table) writeVectors(ctx context.Context, cfg WriteConfig, old *bucketVectors, marks vectors, c *mergetree.Change) (*bucketVectors, error) {
	now := &bucketVectors{sets: maps.Clone(old.sets), files: old.files}
	if now.sets == nil {
		now.sets = vectors{}
	}
	changed := len(marks) > 0
	for i := range c.Before {
		name := c.Before[i].FileName
		stays := slices.ContainsFunc(c.After, func(f spec.DataFileMeta) bool { return f.FileName == name })
		if _, ok := now.sets[name]; ok && !stays {
			delete(now.sets, name)
			changed = true
		}
	}
	if !changed {
		return now, nil
	}
	maps.Copy(now.sets, marks)
	c.GoneIndex = append(c.GoneIndex, old.files...)
	if now.files = nil; len(now.sets) == 0 {
		return now, nil
	}
	content, ranges := encodeVectors(now.sets, t.Options.Bitmap64)
	f := spec.IndexFileMeta{
		Type: spec.DeletionVectorsIndex, FileName: spec.IndexFileName(cfg.Attempt, cfg.Pool.names.Add(1)-1),
		FileSize: int64(len(content)), RowCount: int64(len(ranges)), Vectors: ranges,
	}
	path := t.paths.IndexPath(&f)
	if err := t.FS.CreateExclusive(ctx, path, content); err != nil {
		return nil, fmt.Errorf("writing index file %s: %w", path, err)
	}
	c.NewIndex, now.files = append(c.NewIndex, f), []spec.IndexFileMeta{f}
	return now, nil
}
