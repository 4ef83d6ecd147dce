package configs

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"leat/internal/diag"
)

// Set is the declared options of one place: SET keys, or the WITH keys of one connector.
type Set struct {
	// What names the place in messages, such as "mysql-cdc table".
	What  string
	defs  map[string]*Def
	alias map[string]*Def
	order []string
	// prefixes are families such as jdbc.properties. whose keys are open.
	prefixes []*Def
	// known are keys of Flink or Paimon that this Set does not declare: accepted with a notice.
	known map[string]Known
}

// Known is a row of the embedded table of Flink and Paimon options.
type Known struct {
	Type, Default string
}

// NewSet makes an empty set.
func NewSet(what string) *Set {
	return &Set{What: what, defs: map[string]*Def{}, alias: map[string]*Def{}}
}

func (s *Set) add(d *Def) {
	s.defs[d.Key] = d
	s.order = append(s.order, d.Key)
	for _, a := range d.Aliases {
		s.alias[a] = d
	}
}

// Prefix declares a family of keys that begin with prefix.
func (s *Set) Prefix(prefix, text string, mods ...Modify) {
	d := &Def{Key: prefix, Type: "String", Text: text, NoDefault: true}
	for _, m := range mods {
		m(d)
	}
	s.prefixes = append(s.prefixes, d)
}

// AlsoKnown adds keys that are accepted with a notice.
func (s *Set) AlsoKnown(known map[string]Known) { s.known = known }

// Defs lists the declarations in order of declaration.
func (s *Set) Defs() []*Def {
	out := make([]*Def, 0, len(s.order)+len(s.prefixes))
	for _, k := range s.order {
		out = append(out, s.defs[k])
	}
	return append(out, s.prefixes...)
}

// Find gives the declaration of key, by its name, an older name or its family.
func (s *Set) Find(key string) (*Def, bool) {
	if d, ok := s.defs[key]; ok {
		return d, true
	}
	if d, ok := s.alias[key]; ok {
		return d, true
	}
	for _, p := range s.prefixes {
		if strings.HasPrefix(key, p.Key) {
			return p, true
		}
	}
	return nil, false
}

// Notice is something a user should know that stops nothing. It is printed once a key.
type Notice struct {
	Pos diag.Pos
	// Key is the option concerned; notices of one key are printed once a script.
	Key string
	Msg string
}

// CheckOptions says how Check treats what it meets.
type CheckOptions struct {
	// Table names the table in errors; empty for SET.
	Table string
	// Foreign tables were made by others: unknown keys only give a notice.
	Foreign bool
}

// Check checks every value: unknown keys (with the nearest name), values that
// cannot be, refused and missing options. It gives all findings at once.
func (s *Set) Check(v Values, o CheckOptions) ([]Notice, diag.List) {
	var notices []Notice
	var errs diag.List
	for _, key := range sortedKeys(v) {
		n, err := s.checkOne(key, v[key], o)
		if n != nil {
			notices = append(notices, *n)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.aliasClash(v, o)...)
	for _, k := range s.order {
		d := s.defs[k]
		if _, ok := d.lookup(v); d.Required && !ok {
			errs = append(errs, &diag.Error{
				Domain: diag.User, Code: diag.CodeMissingOption, Table: o.Table, Option: k,
				Msg: fmt.Sprintf("a %s needs this option", s.What), Notes: []string{d.Text}, Hint: fmt.Sprintf("add '%s' = '…'", k),
			})
		}
	}
	return notices, errs
}

func (s *Set) checkOne(key string, x Value, o CheckOptions) (*Notice, *diag.Error) {
	d, ok := s.Find(key)
	if !ok {
		return s.checkUndeclared(key, x, o)
	}
	switch d.Class {
	case Refused:
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeRefusedOption, Pos: x.KeyPos, Table: o.Table, Option: key,
			Msg: "leat refuses it: " + d.Reason, Hint: d.Hint,
		}
	case NoMeaning:
		if d.check != nil {
			if err := d.check(x.Text); err != nil {
				return nil, s.bad(d, key, x, o, err)
			}
		}
		return &Notice{Pos: x.KeyPos, Key: key, Msg: fmt.Sprintf("option '%s' has no effect here: %s", key, d.Reason)}, nil
	case Honoured:
	}
	if d.check != nil {
		if err := d.check(x.Text); err != nil {
			return nil, s.bad(d, key, x, o, err)
		}
	}
	if hint, ok := d.refuse[strings.ToLower(x.Text)]; ok {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeRefusedOption, Pos: x.Pos, Table: o.Table, Option: key,
			Msg: fmt.Sprintf("'%s' is not run by this version of leat", x.Text), Hint: hint,
		}
	}
	return nil, nil
}

func (s *Set) checkUndeclared(key string, x Value, o CheckOptions) (*Notice, *diag.Error) {
	if _, ok := s.known[key]; ok {
		return &Notice{Pos: x.KeyPos, Key: key, Msg: fmt.Sprintf("option '%s' is known to Flink or Paimon and has no effect here", key)}, nil
	}
	if o.Foreign {
		return &Notice{Pos: x.KeyPos, Key: key, Msg: fmt.Sprintf("table %s: unknown option '%s' is kept and not used", o.Table, key)}, nil
	}
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeUnknownOption, Pos: x.KeyPos, Table: o.Table, Option: key,
		Msg: fmt.Sprintf("there is no such option for a %s", s.What), Hint: "remove it, or see `leat options` for the keys",
	}
	if n := s.Suggest(key); n != "" {
		e.Hint = fmt.Sprintf("did you mean '%s'?", n)
	}
	return nil, e
}

func (s *Set) bad(d *Def, key string, x Value, o CheckOptions, err error) *diag.Error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: x.Pos, Table: o.Table, Option: key, Msg: err.Error()}
	switch {
	case len(d.Enum) > 0:
		e.Notes = []string{"values: " + strings.Join(d.Enum, ", ")}
		if n := Nearest(x.Text, d.Enum); n != "" {
			e.Hint = fmt.Sprintf("write '%s'", n)
		} else {
			e.Hint = "write one of them"
		}
	case !d.NoDefault:
		e.Hint = fmt.Sprintf("write %s; the default is '%s'", withArticle(d.Type), d.Default)
	case d.Type == "String":
		e.Hint = "correct it, or leave the option out"
	default:
		e.Hint = "write " + withArticle(d.Type)
	}
	return e
}

// withArticle puts a or an in front of the name of a type.
func withArticle(name string) string {
	if strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// aliasClash finds options given under two names with different values.
func (s *Set) aliasClash(v Values, o CheckOptions) diag.List {
	var errs diag.List
	for _, k := range s.order {
		d := s.defs[k]
		first, name := Value{}, ""
		for _, key := range append([]string{d.Key}, d.Aliases...) {
			x, ok := v[key]
			if !ok {
				continue
			}
			if name != "" && x.Text != first.Text {
				errs = append(errs, &diag.Error{
					Domain: diag.User, Code: diag.CodeBadOption, Pos: x.Pos, Table: o.Table, Option: key,
					Msg: fmt.Sprintf("'%s' contradicts '%s' = '%s', another name of the same option", x.Text, name, first.Text), Hint: "keep one of the two",
				})
				continue
			}
			first, name = x, key
		}
	}
	return errs
}

// Suggest gives the declared or known key nearest to key, "" if none is near.
func (s *Set) Suggest(key string) string {
	names := slices.Clone(s.order)
	if n := Nearest(key, names); n != "" {
		return n
	}
	for k := range s.known {
		names = append(names, k)
	}
	slices.Sort(names)
	return Nearest(key, names)
}

// Redact gives v with secret values replaced.
func (s *Set) Redact(v Values) map[string]string {
	out := make(map[string]string, len(v))
	for k, x := range v {
		out[k] = x.Text
		if d, ok := s.Find(k); ok && d.Secret {
			out[k] = "******"
		}
	}
	return out
}

func sortedKeys(v Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := v[keys[i]].KeyPos, v[keys[j]].KeyPos
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Col != b.Col {
			return a.Col < b.Col
		}
		return keys[i] < keys[j]
	})
	return keys
}
