package cdc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"leat/internal/diag"
)

// Target is a place in the history of a source that a reader asks for: the
// transactions of a GTID set, or a byte of a binlog file of one server.
type Target struct {
	gtid *GTIDSet
	at   mark
}

var fileAndOffset = regexp.MustCompile(`^([^:,\s]*\.\d+):(\d+)$`)

// ParseTarget reads a GTID set of MySQL or MariaDB, or file:offset, such as
// binlog.000003:1542.
func ParseTarget(text string) (Target, error) {
	text = strings.TrimSpace(text)
	if m := fileAndOffset.FindStringSubmatch(text); m != nil {
		offset, err := strconv.ParseUint(m[2], 10, 64)
		if err == nil {
			return Target{at: mark{file: m[1], offset: offset}}, nil
		}
	}
	set, err := ParseGTIDSet(text)
	if err != nil || set.String() == "" {
		return Target{}, &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Msg: fmt.Sprintf("'%s' is no place in a binlog", text), Cause: err,
			Hint: "write GTIDs, such as 3E11FA47-71CA-11E1-9E33-C80AA9429562:23 or 0-1-23, or file:offset, such as binlog.000003:1542",
		}
	}
	return Target{gtid: set}, nil
}

// HeldBy reports whether the snapshot of a table with these properties holds all
// of the source up to the target. known is false for a snapshot that says nothing
// of a source.
func (t Target) HeldBy(properties map[string]string) (held, known bool) {
	if properties[PropFile] == "" && properties[PropGTID] == "" {
		return false, false
	}
	offset, _ := strconv.ParseUint(properties[PropPos], 10, 64)
	return properties[PropComplete] != "false" && t.reached(properties[PropGTID], properties[PropFile], offset), true
}

// ReachedBy reports whether a position, in the form of Position.String, is at the target or beyond it.
func (t Target) ReachedBy(position string) bool {
	place, set, _ := strings.Cut(position, " ")
	m := fileAndOffset.FindStringSubmatch(place)
	if m == nil {
		return t.reached(position, "", 0)
	}
	offset, err := strconv.ParseUint(m[2], 10, 64)
	return err == nil && t.reached(set, m[1], offset)
}

func (t Target) reached(gtids, file string, offset uint64) bool {
	if t.gtid == nil {
		return file != "" && t.at.reached(file, offset)
	}
	have, err := ParseGTIDSet(gtids)
	return err == nil && gtids != "" && have.Contains(t.gtid)
}
