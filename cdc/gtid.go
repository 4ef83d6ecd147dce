package cdc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
)

// gtid names one transaction. The zero value is a transaction without GTID.
// MySQL's has sid, tag and gno; MariaDB's domain, server and gno.
type gtid struct {
	sid    uuid.UUID
	tag    mysql.Tag
	gno    int64
	domain uint32
	server uint32
	maria  bool
}

// String gives the text form, as the server shows it.
func (g gtid) String() string {
	if g.maria {
		return fmt.Sprintf("%d-%d-%d", g.domain, g.server, g.gno)
	}
	tag := g.tag.String()
	if tag != "" {
		tag += ":"
	}
	return g.sid.String() + ":" + tag + strconv.FormatInt(g.gno, 10)
}

// GTIDSet is a set of transaction ids that grows by one id a transaction.
// MariaDB's is a position in each replication domain: the last transaction, and
// with it all before. It is not safe for use by several goroutines; Clone gives
// an independent copy.
type GTIDSet struct {
	set *mysql.MysqlGTIDSet
	// domains is MariaDB's form; set is nil then.
	domains map[uint32]gtid
	// The interval that grew last: the next id nearly always extends it.
	sid  uuid.UUID
	tag  mysql.Tag
	last *mysql.Interval
}

// ParseGTIDSet reads the text form of MySQL, as in gtid_executed, or of MariaDB,
// as in gtid_binlog_pos; line breaks are allowed.
func ParseGTIDSet(text string) (*GTIDSet, error) {
	text = strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(text)
	return parseGTIDs(text, text != "" && !strings.Contains(text, ":"))
}

// parseGTIDs reads the text form of one of the two servers: the empty set has the
// same text in both.
func parseGTIDs(text string, maria bool) (*GTIDSet, error) {
	if maria {
		return parseDomains(text)
	}
	s, err := mysql.ParseMysqlGTIDSet(strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(text))
	if err != nil {
		return nil, fmt.Errorf("reading GTID set '%s': %w", text, err)
	}
	set, ok := s.(*mysql.MysqlGTIDSet)
	if !ok {
		return nil, fmt.Errorf("reading GTID set '%s': unexpected form %T", text, s)
	}
	return &GTIDSet{set: set}, nil
}

func parseDomains(text string) (*GTIDSet, error) {
	g := &GTIDSet{domains: map[uint32]gtid{}}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		fields := strings.Split(part, "-")
		if len(fields) != 3 {
			return nil, fmt.Errorf("reading GTID position '%s': '%s' is not domain-server-sequence", text, part)
		}
		domain, err1 := strconv.ParseUint(fields[0], 10, 32)
		server, err2 := strconv.ParseUint(fields[1], 10, 32)
		seq, err3 := strconv.ParseInt(fields[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("reading GTID position '%s': '%s' is not domain-server-sequence", text, part)
		}
		g.Add(gtid{domain: uint32(domain), server: uint32(server), gno: seq, maria: true})
	}
	return g, nil
}

// String gives the text form with sorted ids.
func (g *GTIDSet) String() string {
	if g.set != nil {
		return g.set.String()
	}
	parts := make([]string, 0, len(g.domains))
	for _, d := range slices.Sorted(maps.Keys(g.domains)) {
		parts = append(parts, g.domains[d].String())
	}
	return strings.Join(parts, ",")
}

// Clone copies the set.
func (g *GTIDSet) Clone() *GTIDSet {
	if g.set == nil {
		return &GTIDSet{domains: maps.Clone(g.domains)}
	}
	c, ok := g.set.Clone().(*mysql.MysqlGTIDSet)
	if !ok {
		return &GTIDSet{set: &mysql.MysqlGTIDSet{}}
	}
	return &GTIDSet{set: c}
}

// Contains reports whether every id of o is in g.
func (g *GTIDSet) Contains(o *GTIDSet) bool {
	if g.set != nil {
		return o.set != nil && g.set.Contain(o.set)
	}
	for d, id := range o.domains {
		if g.domains[d].gno < id.gno {
			return false
		}
	}
	return o.set == nil
}

// Has reports whether one transaction is in g.
func (g *GTIDSet) Has(id gtid) bool {
	if g.set == nil {
		return g.domains[id.domain].gno >= id.gno
	}
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
	if g.set == nil {
		g.domains[id.domain] = id
		return
	}
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
	if g.set == nil || o.set == nil {
		rest := &GTIDSet{domains: map[uint32]gtid{}}
		for d, id := range g.domains {
			if o.domains[d].gno < id.gno {
				rest.domains[d] = id
			}
		}
		return rest.String()
	}
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
