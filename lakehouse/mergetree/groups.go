package mergetree

// noRow is the batch of a reference to no row.
const noRow = 1<<32 - 1

// groupSet is rows arranged by key: row i is refs[i], seq[i], kinds[i], and
// group g is the rows from[g] to to[g], oldest first.
type groupSet struct {
	refs     []rowRef
	seq      []int64
	kinds    []int8
	levels   []int32
	from, to []int32
	// before is the row that the changelog compares with, batch noRow for none;
	// touched says that the group may have changed. Only with a changelog.
	before  []rowRef
	beforeS []int64
	touched []bool
}

func (g *groupSet) reset() {
	g.refs, g.seq, g.kinds, g.levels = g.refs[:0], g.seq[:0], g.kinds[:0], g.levels[:0]
	g.from, g.to = g.from[:0], g.to[:0]
	g.before, g.beforeS, g.touched = g.before[:0], g.beforeS[:0], g.touched[:0]
}

func (g *groupSet) add(r rowRef, seq int64, kind int8, level int32) {
	g.refs, g.seq, g.kinds, g.levels = append(g.refs, r), append(g.seq, seq), append(g.kinds, kind), append(g.levels, level)
}

// open gives where the rows begin that are in no group yet.
func (g *groupSet) open() int32 {
	if n := len(g.to); n > 0 {
		return g.to[n-1]
	}
	return 0
}

// end makes a group of the rows since from; without rows there is none.
func (g *groupSet) end() {
	from, to := g.open(), int32(len(g.refs))
	if from == to {
		return
	}
	g.from, g.to = append(g.from, from), append(g.to, to)
}

// truncate drops the rows from n on.
func (g *groupSet) truncate(n int32) {
	g.refs, g.seq, g.kinds, g.levels = g.refs[:n], g.seq[:n], g.kinds[:n], g.levels[:n]
}

// keepOpen drops all groups and leaves the rows that are in none.
func (g *groupSet) keepOpen() {
	n := g.open()
	k := int32(copy(g.refs, g.refs[n:]))
	copy(g.seq, g.seq[n:])
	copy(g.kinds, g.kinds[n:])
	copy(g.levels, g.levels[n:])
	g.truncate(k)
	g.from, g.to = g.from[:0], g.to[:0]
	g.before, g.beforeS, g.touched = g.before[:0], g.beforeS[:0], g.touched[:0]
}
