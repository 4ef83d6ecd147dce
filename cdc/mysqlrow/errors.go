package mysqlrow

import (
	"errors"
	"fmt"

	"leat/internal/diag"
)

// ErrMalformed marks bytes that cannot be a row of the table.
var ErrMalformed = errors.New("malformed row")

// status is how a value was read or stored. Errors leave the loops over cells
// as a status and become text outside.
type status int

const (
	okay        status = 0
	truncated   status = -1 // the bytes end within a value
	badValue    status = -2 // bytes that no value of the type has
	outOfRange  status = -3 // a value that the target cannot hold
	noSuchDate  status = -4 // a date that does not exist, under ZeroDateError
	nullRefused status = -5 // NULL in a NOT NULL column
	tooMuchText status = -6 // more than 2 GiB in one column of a batch
	noTimeOfDay status = -7 // a TIME that the lake's TIME does not hold
	noSuchLabel status = -8 // an ENUM or SET value beyond the known labels
)

var statusText = map[status]string{
	truncated: "the row ends within the value", badValue: "not a value of its type",
	outOfRange: "beyond the declared type", tooMuchText: "more than 2 GiB of text in one batch",
}

// cellError says which value of which column could not be read, or why.
func (p *Plan) cellError(column string, st status) error {
	switch st {
	case noSuchDate:
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeRuntimeValue, Table: p.opt.Table,
			Msg:  fmt.Sprintf("column '%s' holds a date that does not exist", column),
			Hint: "set 'leat.zero-date' = 'null', or correct the value at the source",
		}
	case noTimeOfDay:
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeRuntimeValue, Table: p.opt.Table,
			Msg:  fmt.Sprintf("column '%s' holds a TIME that is negative or longer than a day", column),
			Hint: fmt.Sprintf("declare `%s` as STRING", column),
		}
	case noSuchLabel:
		return p.changed("column '%s' holds a label that the source did not have when its columns were read", column)
	case nullRefused:
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeNullability, Table: p.opt.Table,
			Msg:  fmt.Sprintf("column '%s' is NULL at the source but declared NOT NULL", column),
			Hint: fmt.Sprintf("declare `%s` without NOT NULL", column),
		}
	default:
		return fmt.Errorf("reading a row of %s, column %s: %w: %s", p.opt.Table, column, ErrMalformed, statusText[st])
	}
}

// inTable fills the table into an error for people.
func (p *Plan) inTable(err error) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Table == "" {
		e.Table = p.opt.Table
	}
	return err
}

// changed is the error of a table whose rows no longer have the known form.
func (p *Plan) changed(format string, args ...any) error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: p.opt.Table,
		Msg:  "the binlog describes other columns than the source has: " + fmt.Sprintf(format, args...),
		Hint: "start the job again with --fresh, or from a position after the change of the table",
	}
}
