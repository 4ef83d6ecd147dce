package faultfs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Op is a kind of call. Write, Commit and Abort are those of a fileio.Writer,
// ReadAt is that of a fileio.File.
type Op string

// The kinds of calls. Any matches each of them, Mutate those that change something.
const (
	Any             Op = "any"
	Mutate          Op = "mutate"
	OpOpen          Op = "open"
	ReadAt          Op = "readat"
	ReadFile        Op = "readfile"
	Stat            Op = "stat"
	List            Op = "list"
	Create          Op = "create"
	Write           Op = "write"
	Commit          Op = "commit"
	Abort           Op = "abort"
	CreateExclusive Op = "createexclusive"
	Replace         Op = "replace"
	Remove          Op = "remove"
	RemoveAll       Op = "removeall"
	MkdirAll        Op = "mkdirall"
)

var (
	reading  = []Op{OpOpen, ReadAt, ReadFile, Stat, List}
	changing = []Op{Create, Write, Commit, Abort, CreateExclusive, Replace, Remove, RemoveAll, MkdirAll}
)

// Action is what happens to a call.
type Action string

// The actions; see the package text.
const (
	Fail      Action = "fail"
	Lie       Action = "lie"
	Cut       Action = "cut"
	Stop      Action = "stop"
	StopAfter Action = "stop-after"
)

var actions = []Action{Fail, Lie, Cut, Stop, StopAfter}

// Rule makes the N-th matching call go wrong.
type Rule struct {
	Op Op
	// N counts from 1; 0 means every matching call.
	N int
	// Onwards extends the rule to all matching calls after the N-th.
	Onwards bool
	// Path must be part of the call's path; "" matches all.
	Path   string
	Action Action
}

// String gives the rule as Parse reads it.
func (r Rule) String() string {
	s := string(r.Op)
	if r.N > 0 {
		s += "#" + strconv.Itoa(r.N)
		if r.Onwards {
			s += "+"
		}
	}
	if r.Path != "" {
		s += "[" + r.Path + "]"
	}
	return s + " " + string(r.Action)
}

func (r Rule) matches(op Op, path string) bool {
	switch r.Op {
	case Any:
	case Mutate:
		if !slices.Contains(changing, op) {
			return false
		}
	default:
		if r.Op != op {
			return false
		}
	}
	return strings.Contains(path, r.Path)
}

func (r Rule) hits(n int) bool { return r.N == 0 || n == r.N || r.Onwards && n > r.N }

var ruleForm = regexp.MustCompile(`^([a-z]+)(?:#(\d+)(\+)?)?(?:\[([^\]]*)\])?\s+([a-z-]+)$`)

// Parse reads rules of the form OP[#N[+]][[PATH PART]] ACTION, separated by ';' or line ends.
func Parse(text string) ([]Rule, error) {
	var rules []Rule
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		m := ruleForm.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("rule %q: want OP#N[path] ACTION", part)
		}
		r := Rule{Op: Op(m[1]), Onwards: m[3] != "", Path: m[4], Action: Action(m[5])}
		if m[2] != "" {
			n, err := strconv.Atoi(m[2])
			if err != nil || n < 1 {
				return nil, fmt.Errorf("rule %q: the count starts at 1", part)
			}
			r.N = n
		}
		if r.Op != Any && r.Op != Mutate && !slices.Contains(reading, r.Op) && !slices.Contains(changing, r.Op) {
			return nil, fmt.Errorf("rule %q: unknown call %q", part, r.Op)
		}
		if !slices.Contains(actions, r.Action) {
			return nil, fmt.Errorf("rule %q: unknown action %q", part, r.Action)
		}
		rules = append(rules, r)
	}
	return rules, nil
}
