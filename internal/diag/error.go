package diag

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Domain says who can cure an error. Retry decisions and exit codes follow from it.
type Domain uint8

const (
	// Internal is a fault of leat itself.
	Internal Domain = iota
	// User is a fault in what the user wrote: script, options, flags.
	User
	// External is a fault of something leat talks to: server, disk, network.
	External
	// Corrupt marks stored data that cannot be what its format says.
	Corrupt
	// Guard is a refusal that protects data (exit code 3).
	Guard
)

// Pos is a place in a script. Line and Col count from 1 (Col in characters);
// the zero Pos is "no place".
type Pos struct {
	File string
	Line int
	Col  int
	// Len is the length of the marked text in characters; 0 marks one.
	Len int
}

// IsZero reports whether p names no place.
func (p Pos) IsZero() bool { return p.Line == 0 }

// String gives file:line:col, without the parts that are unknown.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Col)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Error is an error for people. Only Msg is required.
type Error struct {
	Domain Domain
	// Code is the stable number printed as LEAT-<Code>; 0 prints none.
	Code Code
	Pos  Pos
	// Table and Option name the object concerned; both go in front of Msg.
	Table  string
	Option string
	Msg    string
	// Notes are further lines of explanation, such as the list of allowed values.
	Notes []string
	// Hint is the remedy, printed after "do:". Every User, External and Guard error has one.
	Hint string
	// Retry says that the same step may succeed later without anybody's help.
	Retry bool
	Cause error
}

// Error gives one line: place, code, object, message and cause.
func (e *Error) Error() string {
	var b strings.Builder
	if s := e.Pos.String(); s != "" {
		b.WriteString(s + ": ")
	}
	b.WriteString("error")
	if e.Code != 0 {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	b.WriteString(": ")
	b.WriteString(e.text())
	return b.String()
}

func (e *Error) text() string {
	var b strings.Builder
	if e.Table != "" {
		fmt.Fprintf(&b, "table %s: ", e.Table)
	}
	if e.Option != "" {
		fmt.Fprintf(&b, "option '%s': ", e.Option)
	}
	b.WriteString(e.Msg)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Code is a stable, documented error number.
type Code int

// String gives LEAT-<number>.
func (c Code) String() string { return fmt.Sprintf("LEAT-%04d", int(c)) }

// List is all errors found in one script.
type List []*Error

// Error joins the errors, one a line, in script order.
func (l List) Error() string {
	s := make([]string, len(l))
	for i, e := range l {
		s[i] = e.Error()
	}
	return strings.Join(s, "\n")
}

// Add appends err: an *Error, a List, or any other error as Internal. nil adds nothing.
func (l *List) Add(err error) {
	var list List
	var one *Error
	switch {
	case err == nil:
	case errors.As(err, &list):
		*l = append(*l, list...)
	case errors.As(err, &one):
		*l = append(*l, one)
	default:
		*l = append(*l, &Error{Domain: Internal, Msg: err.Error(), Cause: nil})
	}
}

// Messages gives what went wrong, a Msg each for the errors of err, without places and remedies.
func Messages(err error) string {
	var list List
	list.Add(err)
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.Msg
	}
	return strings.Join(texts, "; ")
}

// Err gives nil for an empty list, else the list sorted by position.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	sort.SliceStable(l, func(i, j int) bool {
		a, b := l[i].Pos, l[j].Pos
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
	return l
}

// DomainOf gives the domain of the first *Error in err's chain; Internal if there is none.
// For a List it is the domain of its first error.
func DomainOf(err error) Domain {
	var l List
	if errors.As(err, &l) && len(l) > 0 {
		return l[0].Domain
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Domain
	}
	return Internal
}

// Retryable reports whether err says that the same step may succeed later; of a
// List every error has to say so.
func Retryable(err error) bool {
	var l List
	if errors.As(err, &l) && len(l) > 0 {
		return !slices.ContainsFunc(l, func(e *Error) bool { return !e.Retry })
	}
	var e *Error
	return errors.As(err, &e) && e.Retry
}
