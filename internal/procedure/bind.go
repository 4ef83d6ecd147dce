package procedure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leat/configs"
	"leat/internal/diag"
)

// Type is the type of an argument.
type Type uint8

// The types.
const (
	Text Type = iota
	Number
	Bool
)

// String gives the SQL name.
func (t Type) String() string { return [...]string{"STRING", "BIGINT", "BOOLEAN"}[t] }

// Param is a declared argument.
type Param struct {
	Name     string
	Type     Type
	Required bool
	// Many takes all further positional arguments too.
	Many bool
}

// Arg is an argument as it was written.
type Arg struct {
	// Name is empty for a positional one; NameAt is its place.
	Name   string
	NameAt diag.Pos
	At     diag.Pos
	// Type and Value are those of the constant; Null says that it is NULL.
	Type  Type
	Value string
	Null  bool
}

// Call is a procedure with its arguments.
type Call struct {
	Procedure *Procedure
	At        diag.Pos
	values    map[string][]Arg
}

// Bind gives each argument to a parameter and checks types. Errors have places.
func (p *Procedure) Bind(at diag.Pos, args []Arg) (*Call, error) {
	if p.refuse != "" {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: "procedure sys." + p.Name + " does not run in leat", Hint: p.refuse}
	}
	c := &Call{Procedure: p, At: at, values: map[string][]Arg{}}
	next := 0
	for _, a := range args {
		var param *Param
		if a.Name != "" {
			i := slices.IndexFunc(p.Params, func(x Param) bool { return strings.EqualFold(x.Name, a.Name) })
			if i < 0 {
				a.At = a.NameAt
				return nil, p.wrongArg(a, "there is no argument "+a.Name, configs.Nearest(a.Name, p.names()))
			}
			if len(c.values[p.Params[i].Name]) > 0 {
				a.At = a.NameAt
				return nil, p.wrongArg(a, "argument "+a.Name+" is given twice", "")
			}
			param = &p.Params[i]
		} else {
			i := p.place(next, &a)
			if i < 0 {
				return nil, p.wrongArg(a, fmt.Sprintf("there is no argument for the value '%s' of type %s", a.Value, a.Type), "")
			}
			param = &p.Params[i]
			next = i
			if !param.Many {
				next++
			}
		}
		if a.Null || a.Value == "" && a.Type == Text && !param.Required {
			continue // '' stands for "not given"
		}
		if err := p.check(param, &a); err != nil {
			return nil, err
		}
		c.values[param.Name] = append(c.values[param.Name], a)
	}
	for _, x := range p.Params {
		if x.Required && len(c.values[x.Name]) == 0 {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeMissingOption, Pos: at, Msg: fmt.Sprintf("sys.%s needs the argument %s", p.Name, x.Name), Hint: "write " + p.Usage()}
		}
	}
	return c, nil
}

// place finds the parameter of a positional argument: the next one, or the next
// of its type where the type says that it is not meant.
func (p *Procedure) place(next int, a *Arg) int {
	if next >= len(p.Params) {
		return -1
	}
	if a.Type == Text || a.Null || p.Params[next].Type == a.Type {
		return next
	}
	for i := next; i < len(p.Params); i++ {
		if p.Params[i].Type == a.Type {
			return i
		}
		if p.Params[i].Required {
			break
		}
	}
	return next
}

// check accepts numbers and booleans written as text.
func (p *Procedure) check(param *Param, a *Arg) error {
	ok := true
	switch param.Type {
	case Number:
		_, err := strconv.ParseInt(a.Value, 10, 64)
		ok = err == nil && a.Type != Bool
	case Bool:
		_, err := strconv.ParseBool(strings.ToLower(a.Value))
		ok = err == nil && a.Type != Number
	case Text:
	}
	if ok {
		return nil
	}
	return p.wrongArg(*a, fmt.Sprintf("argument %s is %s, '%s' is not", param.Name, param.Type, a.Value), "")
}

func (p *Procedure) wrongArg(a Arg, msg, near string) error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: a.At, Msg: "sys." + p.Name + ": " + msg, Hint: "write " + p.Usage()}
	if near != "" {
		e.Notes, e.Hint = []string{p.Usage()}, "did you mean "+near+"?"
	}
	return e
}

func (p *Procedure) names() []string {
	out := make([]string, len(p.Params))
	for i := range p.Params {
		out[i] = p.Params[i].Name
	}
	return out
}

// Usage gives the call with its arguments, optional ones in brackets.
func (p *Procedure) Usage() string {
	var b strings.Builder
	b.WriteString("CALL sys." + p.Name + "(")
	for i, x := range p.Params {
		name := x.Name + " => " + x.Type.String()
		if x.Name == table.Name {
			name = "`" + x.Name + "` => " + x.Type.String() // a reserved word
		}
		if i > 0 {
			name = ", " + name
		}
		if !x.Required {
			name = "[" + name + "]"
		}
		b.WriteString(name)
	}
	b.WriteString(")")
	return b.String()
}

// Has reports whether an argument was given.
func (c *Call) Has(name string) bool { return len(c.values[name]) > 0 }

// Text gives an argument, "" if it was not given.
func (c *Call) Text(name string) string {
	if v := c.values[name]; len(v) > 0 {
		return v[0].Value
	}
	return ""
}

// All gives all values of an argument that takes many.
func (c *Call) All(name string) []string {
	var out []string
	for _, a := range c.values[name] {
		out = append(out, a.Value)
	}
	return out
}

// Number gives a number, or def if it was not given.
func (c *Call) Number(name string, def int64) int64 {
	if n, err := strconv.ParseInt(c.Text(name), 10, 64); err == nil {
		return n
	}
	return def
}

// Bool gives a boolean, or def if it was not given.
func (c *Call) Bool(name string, def bool) bool {
	if b, err := strconv.ParseBool(strings.ToLower(c.Text(name))); err == nil {
		return b
	}
	return def
}

// wrong is an error about an argument, at its place.
func (c *Call) wrong(name, msg, hint string) error {
	at := c.At
	if v := c.values[name]; len(v) > 0 {
		at = v[0].At
	}
	return &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: at, Msg: fmt.Sprintf("sys.%s: argument %s: %s", c.Procedure.Name, name, msg), Hint: hint}
}
