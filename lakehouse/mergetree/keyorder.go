package mergetree

import (
	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// KeyOrder compares the keys in file metadata. Damaged keys compare as equal;
// readers of the files report them.
type KeyOrder struct{ types []columnar.DataType }

// NewKeyOrder makes the order of keys of these types.
func NewKeyOrder(types []columnar.DataType) *KeyOrder { return &KeyOrder{types: types} }

// Compare orders two keys.
func (o *KeyOrder) Compare(a, b spec.BinaryRow) int {
	c, err := spec.CompareRows(a, b, o.types)
	if err != nil {
		return 0
	}
	return c
}
