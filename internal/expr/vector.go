package expr

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// vector holds the values of one expression for the rows of a batch. Fixed
// width values live in raw and are seen through values; text and bytes are
// headers into the input column, a literal or an arena of the node.
// What stands in a row that is NULL is unspecified.
type vector struct {
	raw  []byte
	strs []string
	// valid says per row whether the value is not NULL; nil means all are valid.
	valid []bool
	// from and to bound the elements of ARRAY, MAP and MULTISET among those of kids:
	// elements; keys and values; elements and counts. The kids of ROW are its fields,
	// row by row.
	from, to []int32
	kids     []*vector
}

// fixed lists the Go forms of fixed width values: DATE and TIME are int32,
// timestamps int64.
type fixed interface {
	bool | int8 | int16 | int32 | int64 | float32 | float64 | decimal128.Num
}

// values sees the fixed width values of v.
func values[T fixed](v *vector) []T {
	if len(v.raw) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&v.raw[0])), len(v.raw)/int(unsafe.Sizeof(zero)))
}

// scratch is a vector whose memory is used again by every batch.
type scratch struct {
	vector
	words []uint64
	flags []bool
	text  []string
	// arena holds the bytes that strs of the current batch point into. Growing it
	// leaves older bytes where they are, so that earlier strings stay good.
	arena []byte
}

// grow gives room for n values of T and marks all as valid.
func grow[T fixed](s *scratch, n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if words := (size + 7) / 8; cap(s.words) < words {
		s.words = make([]uint64, words)
	} else {
		s.words = s.words[:words]
	}
	s.valid = nil
	if size == 0 {
		s.raw = nil
		return nil
	}
	s.raw = unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), size)
	return values[T](&s.vector)
}

// growText gives room for n strings, empties the arena and marks all as valid.
func (s *scratch) growText(n int) []string {
	if cap(s.text) < n {
		s.text = make([]string, n)
	}
	s.strs = s.text[:n]
	s.arena = s.arena[:0]
	s.valid = nil
	return s.strs
}

// growValid gives the validity of n rows for writing; its content is unspecified.
func (s *scratch) growValid(n int) []bool {
	if cap(s.flags) < n {
		s.flags = make([]bool, n)
	}
	s.valid = s.flags[:n]
	return s.valid
}

// setNull marks row i as NULL.
func (s *scratch) setNull(i, n int) {
	if s.valid == nil {
		valid := s.growValid(n)
		for j := range valid {
			valid[j] = true
		}
	}
	s.valid[i] = false
}

// text sees the bytes of the arena from start on as a string.
func (s *scratch) since(start int) string {
	if start == len(s.arena) {
		return ""
	}
	return unsafe.String(&s.arena[start], len(s.arena)-start)
}

// mergeValid makes the rows of s NULL where one of in is NULL.
func (s *scratch) mergeValid(n int, in ...*vector) {
	for _, v := range in {
		if v.valid == nil {
			continue
		}
		if s.valid == nil {
			copy(s.growValid(n), v.valid[:n])
			continue
		}
		for i, ok := range v.valid[:n] {
			s.valid[i] = s.valid[i] && ok
		}
	}
}

// frame is one evaluation.
type frame struct {
	cols []arrow.Array
	rows int
	// active hides rows: a failing value in a row that is not active is no error. nil hides none.
	active []bool
	// epoch counts evaluations, so that shared column nodes load once.
	epoch uint64
}

func (f *frame) begin(cols []arrow.Array, rows int) {
	f.cols, f.rows, f.active = cols, rows, nil
	f.epoch++
}

func (f *frame) end() { f.cols = nil }

func (f *frame) isActive(i int) bool { return f.active == nil || f.active[i] }

// node computes a vector for the rows of a frame. The vector is good until the
// next call of eval on the same node.
type node interface {
	eval(f *frame) (*vector, error)
}

// columnNode reads an input column; fixed width values are not copied.
type columnNode struct {
	index int
	kind  columnar.Kind
	epoch uint64
	out   scratch
}

func (c *columnNode) eval(f *frame) (*vector, error) {
	if c.epoch == f.epoch {
		return &c.out.vector, nil
	}
	c.epoch = f.epoch
	load(&c.out, f.cols[c.index], c.kind, f.rows)
	return &c.out.vector, nil
}

// load sees the first n rows of a, of nested columns their validity alone.
func load(s *scratch, a arrow.Array, kind columnar.Kind, n int) {
	data := a.Data()
	offset := data.Offset()
	switch col := a.(type) {
	case *array.Boolean:
		bits := data.Buffers()[1]
		out := grow[bool](s, n)
		if bits != nil {
			expandBits(out, bits.Bytes(), offset)
		}
	case *array.String:
		out := s.growText(n)
		loadText(out, col.ValueOffsets(), data.Buffers()[2])
	case *array.Binary:
		out := s.growText(n)
		loadText(out, col.ValueOffsets(), data.Buffers()[2])
	default:
		s.valid = nil
		s.raw = nil
		width := widthOf(kind)
		if width > 0 && n > 0 {
			buf := data.Buffers()[1]
			s.raw = buf.Bytes()[offset*width : (offset+n)*width]
		}
	}
	if a.NullN() > 0 {
		expandBits(s.growValid(n), data.Buffers()[0].Bytes(), offset)
	}
}

func loadText(out []string, offsets []int32, buf *memory.Buffer) {
	if len(out) == 0 {
		return
	}
	if buf == nil || buf.Len() == 0 {
		clear(out)
		return
	}
	all := unsafe.String(&buf.Bytes()[0], buf.Len())
	start := offsets[0]
	for i := range out {
		end := offsets[i+1]
		out[i] = all[start:end]
		start = end
	}
}

func expandBits(out []bool, bits []byte, offset int) {
	for i := range out {
		out[i] = bitutil.BitIsSet(bits, offset+i)
	}
}

// constNode is a constant expression: computed for one row when first needed, then repeated.
type constNode struct {
	arg  node
	kind columnar.Kind
	done bool
	n    int
	out  scratch
}

func (c *constNode) eval(f *frame) (*vector, error) {
	if c.done && c.n >= f.rows {
		return &c.out.vector, nil
	}
	if f.rows == 0 || !anyActive(f) {
		return nullVector(&c.out, c.kind, f.rows), nil
	}
	one := frame{rows: 1, epoch: f.epoch}
	v, err := c.arg.eval(&one)
	if err != nil {
		return nil, err
	}
	// Room to the next power of two: batch sizes vary and each growth repeats the value.
	n := 1024
	for n < f.rows {
		n *= 2
	}
	repeat(&c.out, v, c.kind, n)
	c.done, c.n = true, n
	return &c.out.vector, nil
}

func anyActive(f *frame) bool {
	if f.active == nil {
		return true
	}
	for _, a := range f.active {
		if a {
			return true
		}
	}
	return false
}

func repeat(out *scratch, v *vector, kind columnar.Kind, n int) {
	switch width := widthOf(kind); {
	case width == 0:
		text := out.growText(n)
		out.arena = append(out.arena, v.strs[0]...)
		s := out.since(0)
		for i := range text {
			text[i] = s
		}
	default:
		raw := growWidth(out, width, n)
		for i := 0; i < len(raw); i += width {
			copy(raw[i:], v.raw[:width])
		}
	}
	if v.valid != nil && !v.valid[0] {
		clear(out.growValid(n))
	}
}

// nullVector gives n rows of NULL.
func nullVector(out *scratch, kind columnar.Kind, n int) *vector {
	if width := widthOf(kind); width == 0 {
		clear(out.growText(n))
	} else {
		clear(growWidth(out, width, n))
	}
	clear(out.growValid(n))
	return &out.vector
}

func growWidth(out *scratch, width, n int) []byte {
	switch width {
	case 1:
		grow[int8](out, n)
	case 2:
		grow[int16](out, n)
	case 4:
		grow[int32](out, n)
	case 8:
		grow[int64](out, n)
	default:
		grow[decimal128.Num](out, n)
	}
	return out.raw
}

// widthOf gives the bytes of a value in raw, 0 for text and bytes.
func widthOf(k columnar.Kind) int {
	switch k {
	case columnar.Boolean, columnar.TinyInt:
		return 1
	case columnar.SmallInt:
		return 2
	case columnar.Int, columnar.Float, columnar.Date, columnar.Time:
		return 4
	case columnar.BigInt, columnar.Double, columnar.Timestamp, columnar.TimestampLTZ:
		return 8
	case columnar.Decimal:
		return 16
	default:
		return 0
	}
}

// toArrow copies the first n rows of v into a new array.
func toArrow(mem memory.Allocator, v *vector, kind columnar.Kind, t arrow.DataType, n int) arrow.Array {
	validity, nulls := packValid(mem, v, n)
	if validity != nil {
		defer validity.Release()
	}
	var bufs []*memory.Buffer
	switch {
	case kind == columnar.Boolean:
		bits := packBits(mem, values[bool](v)[:n])
		defer bits.Release()
		bufs = []*memory.Buffer{validity, bits}
	case widthOf(kind) == 0:
		offsets, data := packText(mem, v, n)
		defer offsets.Release()
		defer data.Release()
		bufs = []*memory.Buffer{validity, offsets, data}
	default:
		size := n * widthOf(kind)
		buf := newBuffer(mem, size)
		defer buf.Release()
		copy(buf.Bytes(), v.raw[:size])
		bufs = []*memory.Buffer{validity, buf}
	}
	data := array.NewData(t, n, bufs, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(size)
	return buf
}

func packBits(mem memory.Allocator, flags []bool) *memory.Buffer {
	buf := newBuffer(mem, (len(flags)+7)/8)
	out := buf.Bytes()
	full := len(flags) / 8
	for i := range full {
		f := flags[i*8 : i*8+8 : i*8+8]
		out[i] = bit(f[0]) | bit(f[1])<<1 | bit(f[2])<<2 | bit(f[3])<<3 | bit(f[4])<<4 | bit(f[5])<<5 | bit(f[6])<<6 | bit(f[7])<<7
	}
	if rest := flags[full*8:]; len(rest) > 0 {
		out[full] = 0
		for i, b := range rest {
			out[full] |= bit(b) << i
		}
	}
	return buf
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func packText(mem memory.Allocator, v *vector, n int) (offsets, data *memory.Buffer) {
	offsets = newBuffer(mem, 4*(n+1))
	off := arrow.Int32Traits.CastFromBytes(offsets.Bytes())
	total := 0
	for i, s := range v.strs[:n] {
		off[i] = int32(total)
		if v.valid == nil || v.valid[i] {
			total += len(s)
		}
	}
	off[n] = int32(total)
	data = newBuffer(mem, total)
	out := data.Bytes()
	for i, s := range v.strs[:n] {
		if start, end := off[i], off[i+1]; end > start {
			copy(out[start:end], s)
		}
	}
	return offsets, data
}
