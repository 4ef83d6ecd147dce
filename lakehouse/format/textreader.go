package format

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
)

// denseReader is a chunk of byte arrays: see valuePages.readDense.
type denseReader interface {
	readDense(size int, values []parquet.ByteArray, valid *validity, at int) (n, count int, err error)
}

// textBuilder collects strings and bytes; values are copied out of the page at once.
type textBuilder struct {
	offBuf, data *memory.Buffer
	offsets      []int32
	end          int
	valid        validity
}

// newBytesReader reads strings and bytes.
func newBytesReader() func(*columnReader, int) (arrow.Array, error) {
	var vals []parquet.ByteArray
	return func(c *columnReader, n int) (arrow.Array, error) {
		vals = grow(vals, n)
		t := textBuilder{offBuf: memory.NewResizableBuffer(c.mem), data: memory.NewResizableBuffer(c.mem), valid: validity{c: c, n: n}}
		t.offBuf.Resize((n + 1) * 4)
		t.offsets = arrow.Int32Traits.CastFromBytes(t.offBuf.Bytes())
		t.offsets[0] = 0
		if err := t.read(c, n, vals); err != nil {
			t.offBuf.Release()
			t.data.Release()
			t.valid.release()
			return nil, err
		}
		return finish(c, n, &t.valid, t.offBuf, t.data), nil
	}
}

func (t *textBuilder) read(c *columnReader, n int, vals []parquet.ByteArray) error {
	r, ok := c.cr.(denseReader)
	if !ok {
		return eachPage(c, n, vals, func(at int, def []int16, src []parquet.ByteArray) error {
			t.valid.mark(at, def)
			return t.add(at, max(len(src), len(def)), src)
		})
	}
	for at := 0; at < n; {
		k, count, err := r.readDense(n-at, vals, &t.valid, at)
		if err == nil && k == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = t.add(at, k, vals[:count])
		}
		if err != nil {
			return err
		}
		at += k
	}
	return nil
}

// add appends values for the rows rows from at on; those without one are marked.
func (t *textBuilder) add(at, rows int, src []parquet.ByteArray) error {
	size := 0
	for _, s := range src {
		size += len(s)
	}
	if t.end+size > math.MaxInt32 {
		return fmt.Errorf("%d bytes of values in one batch", t.end+size)
	}
	if t.end+size+shortValue > t.data.Cap() {
		t.data.Reserve(max(t.end+size+shortValue, 2*t.data.Cap()))
	}
	t.data.ResizeNoShrink(t.end + size)
	out, offsets, end := t.data.Buf(), t.offsets[at+1:at+1+rows], t.end
	if len(src) == rows {
		for i, s := range src {
			end += copyValue(out[end:], s)
			offsets[i] = int32(end)
		}
		t.end = end
		return nil
	}
	bits, k := t.valid.bits(), 0
	for i := range offsets {
		if bits[(at+i)>>3]>>((at+i)&7)&1 != 0 {
			end += copyValue(out[end:], src[k])
			k++
		}
		offsets[i] = int32(end)
	}
	t.end = end
	return nil
}

// shortValue is the length up to which one move takes the place of a copy.
const shortValue = 16

// copyValue copies v to the front of dst, which has room for shortValue bytes
// more: what it writes behind v is covered by the next value.
func copyValue(dst []byte, v []byte) int {
	if len(v) <= shortValue && cap(v) >= shortValue {
		*(*[shortValue]byte)(dst) = *(*[shortValue]byte)(v[:shortValue])
		return len(v)
	}
	return copy(dst, v)
}
