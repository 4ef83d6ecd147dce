package format

import (
	"encoding/binary"
	"strings"
	"testing"
)

// footerOf is a footer in Thrift's compact protocol with a schema of claimed
// elements, each of which has only the number of its children.
func footerOf(claimed byte, children ...int32) []byte {
	b := []byte{0x15, 0x02, 0x19, 0xFC, claimed}
	for _, n := range children {
		b = append(b, 0x55)
		b = binary.AppendUvarint(b, uint64(uint32(n<<1)^uint32(n>>31)))
		b = append(b, 0)
	}
	return append(b, 0)
}

// TestFootersThatClaimTooMuch has schemas for which the library would take
// memory, or stack, without bound.
func TestFootersThatClaimTooMuch(t *testing.T) {
	t.Parallel()
	deep := make([]int32, 120)
	for i := range deep[:119] {
		deep[i] = 1
	}
	for name, tt := range map[string]struct {
		footer []byte
		want   string
	}{
		"sound":             {footerOf(4, 2, 1, 0, 0), ""},
		"no schema":         {[]byte{0x15, 0x02, 0}, ""},
		"children":          {footerOf(3, 2, 1<<30, 0), "the schema of 3 elements has one of 1073741824 children"},
		"negative children": {footerOf(3, 2, -1, 0), "has one of -1 children"},
		"deep":              {footerOf(120, deep...), "nested too deep"},
		"elements":          {footerOf(100, 2, 0, 0), "EOF"},
		"empty":             {nil, "EOF"},
	} {
		err := checkFooter(tt.footer)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
