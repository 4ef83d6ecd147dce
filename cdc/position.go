package cdc

import (
	"cmp"
	"strconv"
	"strings"
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
	// Begun is when File was begun, in seconds since 1970; 0 if unknown. It tells a
	// file from one of the same name that came after a reset of the log.
	Begun int64
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
