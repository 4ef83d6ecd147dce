package cdc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// A server may leave columns out of its log: those that did not change
// (binlog_row_image=MINIMAL, MariaDB's FULL_NODUP), unchanged BLOB and TEXT
// columns (NOBLOB), or all of a JSON document but its changes (PARTIAL_JSON).
// Where a row can be completed from its two images, or lacks only what nobody
// uses, it is read. Else the table stops: the value is nowhere in the log, and
// what the table holds by now may be of a later transaction.

// usedBefore gives the source columns whose old values are needed; nil for all.
func (t *table) usedBefore(src *sourceTable) []int {
	if t.def.Before == nil {
		return nil
	}
	out := []int{}
	for _, name := range t.def.Before {
		if j := src.index(name); j >= 0 {
			out = append(out, j)
		}
	}
	return out
}

// incomplete says why a row could not be completed.
func (r *Reader) incomplete(t *table, err error) error {
	var m *mysqlrow.Missing
	if !errors.As(err, &m) {
		return err
	}
	place := fmt.Sprintf("the transaction at %s:%d", r.run.open.file, r.run.open.offset)
	if r.run.open.id.gno != 0 {
		place = "transaction " + r.run.open.id.String()
	}
	e := &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceBinlog,
		Msg: fmt.Sprintf("%s changed a row of %s, and the binlog lacks columns of it that the job uses: %s", place, t.id(), strings.Join(m.Columns, ", ")),
		Hint: "SET GLOBAL binlog_row_image = 'FULL', and in sessions that set it themselves, then read the table anew with --fresh --replace; " +
			"or leave these columns out of the job",
	}
	switch {
	case r.server.mariadb && !slices.ContainsFunc(m.Columns, func(name string) bool { return !t.src.generated(name) }):
		e.Notes = []string{"newer versions of MariaDB leave generated columns out of the binlog, whatever binlog_row_image says"}
		e.Hint = "leave these columns out of the job and compute them in the script, or in the reader; then read the table anew with --fresh --replace"
	case m.JSON:
		e.Notes = []string{"only what changed in the JSON value is in the log (binlog_row_value_options=PARTIAL_JSON), and not the value before"}
	case m.Before:
		e.Notes = []string{"the values before the change are missing; the session wrote with binlog_row_image=MINIMAL or NOBLOB, and the target uses old values"}
	default:
		e.Notes = []string{"the session wrote with binlog_row_image=MINIMAL or NOBLOB"}
	}
	return e
}

// generated reports whether the server computes a column.
func (t *sourceTable) generated(name string) bool {
	i := t.index(name)
	return i >= 0 && t.columns[i].Generated
}

// imageError refuses a server whose setting makes updates lack columns that are read.
func (t *table) imageError(s *server, src *sourceTable) error {
	setting := s.vars["binlog_row_image"]
	var lacks []string
	for i := range t.def.Schema.Fields {
		j := src.index(t.def.origin(i))
		if t.def.metadata(i) != "" || j < 0 || slices.ContainsFunc(src.primary, func(k string) bool { return strings.EqualFold(k, t.def.origin(i)) }) {
			continue
		}
		// A table without key has all columns in the image before.
		if len(src.primary) > 0 && (setting == "MINIMAL" || setting == "NOBLOB" && src.columns[j].Large()) {
			lacks = append(lacks, src.columns[j].Name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceBinlog,
		Msg:  fmt.Sprintf("MySQL at %s: binlog_row_image is %s, so that updates of %s lack columns that are read: %s", s.addr, setting, t.id(), strings.Join(lacks, ", ")),
		Hint: "SET GLOBAL binlog_row_image = 'FULL'; sessions keep the old value until they connect again",
	}
}
