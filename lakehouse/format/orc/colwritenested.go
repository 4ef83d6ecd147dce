package orc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// structColumn writes ROW: children hold only the rows in which it is not null.
type structColumn struct {
	columnBase
	children []columnWriter
}

func (c *structColumn) write(a arrow.Array, lo, hi int) error {
	s, ok := a.(*array.Struct)
	if !ok || s.NumField() != len(c.children) {
		return fmt.Errorf("an array of type %s for a row of %d fields", a.DataType(), len(c.children))
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	return validRuns(valid, off, hi-lo, func(from, to int) error {
		for i, child := range c.children {
			if err := child.write(s.Field(i), lo+from, lo+to); err != nil {
				return err
			}
		}
		return nil
	})
}

// validRuns calls do for every stretch of set bits; once for all if valid is nil.
func validRuns(valid []byte, off, n int, do func(from, to int) error) error {
	if valid == nil {
		return do(0, n)
	}
	for i := 0; i < n; {
		if bitutil.BitIsNotSet(valid, off+i) {
			i++
			continue
		}
		from := i
		for i < n && bitutil.BitIsSet(valid, off+i) {
			i++
		}
		if err := do(from, i); err != nil {
			return err
		}
	}
	return nil
}

func (c *structColumn) startGroup() { c.startEntry(nil) }

func (c *structColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *structColumn) finish() ([]stream, columnEncoding, error) {
	return nil, columnEncoding{kind: encodingDirect}, nil
}

func (c *structColumn) reset() { c.resetBase() }

func (c *structColumn) size() int { return c.baseSize() }

// listColumn writes ARRAY, and with two children MAP and MULTISET.
type listColumn struct {
	columnBase
	children []columnWriter
	lengths  intWriter
	lens     []int64
}

// listArray is what List and Map arrays share.
type listArray interface {
	arrow.Array
	ValueOffsets(i int) (start, end int64)
}

func (c *listColumn) write(a arrow.Array, lo, hi int) error {
	items, err := c.items(a)
	if err != nil {
		return err
	}
	valid, off, nulls, err := c.rows(a, lo, hi)
	if err != nil || nulls == hi-lo {
		return err
	}
	list := a.(listArray)
	c.lens = c.lens[:0]
	err = validRuns(valid, off, hi-lo, func(from, to int) error {
		if from == to {
			return nil
		}
		start, end := list.ValueOffsets(lo + from)
		first := start
		c.lens = append(c.lens, end-start)
		for i := from + 1; i < to; i++ {
			start, end = list.ValueOffsets(lo + i)
			c.lens = append(c.lens, end-start)
		}
		for i, child := range c.children {
			if err := child.write(items[i], int(first), int(end)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(c.lens) == 0 {
		return err
	}
	c.group.widen(rangeOf(c.lens))
	for _, n := range c.lens {
		c.group.sum += n
	}
	return c.lengths.write(c.lens)
}

// items gives the arrays that belong to the children.
func (c *listColumn) items(a arrow.Array) ([2]arrow.Array, error) {
	switch v := a.(type) {
	case *array.Map:
		if len(c.children) == 2 {
			return [2]arrow.Array{v.Keys(), v.Items()}, nil
		}
	case *array.List:
		if len(c.children) == 1 {
			return [2]arrow.Array{v.ListValues()}, nil
		}
	}
	return [2]arrow.Array{}, fmt.Errorf("an array of type %s for a list or map", a.DataType())
}

func (c *listColumn) startGroup() { c.startEntry(c.lengths.position(nil)) }

func (c *listColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *listColumn) finish() ([]stream, columnEncoding, error) {
	if err := c.lengths.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	b, err := c.lengths.out.finish()
	return []stream{{streamLength, b}}, columnEncoding{kind: encodingDirectV2}, err
}

func (c *listColumn) reset() {
	c.resetBase()
	c.lengths.out.reset()
}

func (c *listColumn) size() int { return c.baseSize() + c.lengths.out.size() }
