package cdc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
)

// Position is a place between two transactions of a server's binlog. The GTID
// set, where there is one, holds over a failover; file and offset hold for the
// server ServerUUID alone.
type Position struct {
	ServerUUID string
	// GTID is the transactions before the place; nil on a server without GTIDs.
	GTID *GTIDSet
	// File is the name of a binlog file, "" if unknown; Offset is a byte in it.
	File   string
	Offset uint64
	// TimeMillis is when the last transaction before the place was committed, in
	// ms since 1970; 0 if unknown.
	TimeMillis int64
	// prepared are the XA transactions that were prepared before the place and end after it.
	prepared xaTransactions
}

// String gives the position for people: file:offset and the GTID set.
func (p Position) String() string {
	s := p.File + ":" + strconv.FormatUint(p.Offset, 10)
	if p.File == "" {
		s = ""
	}
	if p.GTID != nil {
		s = strings.TrimSpace(s + " " + p.GTID.String())
	}
	return s
}

// clone copies p so that later transactions do not change the copy.
func (p Position) clone() Position {
	if p.GTID != nil {
		p.GTID = p.GTID.Clone()
	}
	p.prepared = p.prepared.clone()
	return p
}

// compareFiles orders two binlog file names of one server by their number.
// Names of different bases (a renamed log) fall back to text order.
func compareFiles(a, b string) int {
	ab, an, aok := splitFile(a)
	bb, bn, bok := splitFile(b)
	if aok && bok && ab == bb {
		return cmp.Compare(an, bn)
	}
	return strings.Compare(a, b)
}

func splitFile(name string) (base string, n uint64, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, 0, false
	}
	n, err := strconv.ParseUint(name[i+1:], 10, 64)
	return name[:i], n, err == nil
}

// mark is a file:offset of one server.
type mark struct {
	uuid   string
	file   string
	offset uint64
}

// compare orders the place file:offset against m: negative before it, positive
// after it. Both must be of one server.
func (m mark) compare(file string, offset uint64) int {
	if c := compareFiles(file, m.file); c != 0 {
		return c
	}
	return cmp.Compare(offset, m.offset)
}

// reached reports whether the place file:offset is at or after m.
func (m mark) reached(file string, offset uint64) bool { return m.compare(file, offset) >= 0 }

// GTIDSet is a set of transaction ids that grows by one id a transaction.
// It is not safe for use by several goroutines; Clone gives an independent copy.
type GTIDSet struct {
	set *mysql.MysqlGTIDSet
	// The interval that grew last: the next id nearly always extends it.
	sid  uuid.UUID
	tag  mysql.Tag
	last *mysql.Interval
}

// ParseGTIDSet reads the text form, as in gtid_executed; line breaks are allowed.
func ParseGTIDSet(text string) (*GTIDSet, error) {
	text = strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(text)
	s, err := mysql.ParseMysqlGTIDSet(text)
	if err != nil {
		return nil, fmt.Errorf("reading GTID set '%s': %w", text, err)
	}
	set, ok := s.(*mysql.MysqlGTIDSet)
	if !ok {
		return nil, fmt.Errorf("reading GTID set '%s': unexpected form %T", text, s)
	}
	return &GTIDSet{set: set}, nil
}

// String gives the text form with sorted ids.
func (g *GTIDSet) String() string { return g.set.String() }

// Clone copies the set.
func (g *GTIDSet) Clone() *GTIDSet {
	c, ok := g.set.Clone().(*mysql.MysqlGTIDSet)
	if !ok {
		return &GTIDSet{set: &mysql.MysqlGTIDSet{}}
	}
	return &GTIDSet{set: c}
}

// Contains reports whether every id of o is in g.
func (g *GTIDSet) Contains(o *GTIDSet) bool { return g.set.Contain(o.set) }

// Has reports whether one transaction is in g.
func (g *GTIDSet) Has(id gtid) bool {
	list := (*g.set)[id.sid][id.tag]
	lo, hi := 0, len(list)
	for lo < hi {
		mid := (lo + hi) / 2
		if list[mid].Stop <= id.gno {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(list) && list[lo].Start <= id.gno
}

// Add puts one transaction into g.
func (g *GTIDSet) Add(id gtid) {
	if g.last != nil && id.gno == g.last.Stop && id.sid == g.sid && id.tag == g.tag {
		g.last.Stop++
		return
	}
	g.set.AddGTIDWithTag(id.sid, id.tag, id.gno)
	g.sid, g.tag, g.last = id.sid, id.tag, nil
	if list := (*g.set)[id.sid][id.tag]; len(list) > 0 {
		g.last = &list[len(list)-1]
	}
}

// minus reports the ids of g that are not in o, "" if there are none. It is
// meant for messages.
func (g *GTIDSet) minus(o *GTIDSet) string {
	out := mysql.MysqlGTIDSet{}
	for sid, tags := range *g.set {
		for tag, list := range tags {
			rest := subtract(list, (*o.set)[sid][tag])
			if len(rest) == 0 {
				continue
			}
			if out[sid] == nil {
				out[sid] = map[mysql.Tag]mysql.IntervalSlice{}
			}
			out[sid][tag] = rest
		}
	}
	return out.String()
}

// subtract gives the parts of a that no interval of b covers; both are sorted.
func subtract(a, b mysql.IntervalSlice) mysql.IntervalSlice {
	var out mysql.IntervalSlice
	for _, iv := range a {
		from := iv.Start
		for _, cut := range b {
			if cut.Stop <= from || cut.Start >= iv.Stop {
				continue
			}
			if cut.Start > from {
				out = append(out, mysql.Interval{Start: from, Stop: cut.Start})
			}
			from = max(from, cut.Stop)
		}
		if from < iv.Stop {
			out = append(out, mysql.Interval{Start: from, Stop: iv.Stop})
		}
	}
	return out
}

// gtid names one transaction. The zero value is a transaction without GTID.
type gtid struct {
	sid uuid.UUID
	tag mysql.Tag
	gno int64
}

// String gives the text form, as MySQL shows it.
func (g gtid) String() string {
	tag := g.tag.String()
	if tag != "" {
		tag += ":"
	}
	return g.sid.String() + ":" + tag + strconv.FormatInt(g.gno, 10)
}
