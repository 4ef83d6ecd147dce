package columnar

// RowKind says what a row of a change stream does, with the values Paimon stores.
type RowKind int8

// The row kinds.
const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

// String gives +I, -U, +U or -D.
func (k RowKind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "?"
	}
	return kindNames[k]
}

// Retracts reports whether the row takes a row away (-U, -D).
func (k RowKind) Retracts() bool { return k == UpdateBefore || k == Delete }

var kindNames = [...]string{"+I", "-U", "+U", "-D"}
