package configs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"leat/internal/diag"
)

// Class says what leat does with an option.
type Class uint8

// The classes.
const (
	// Honoured: leat acts by it.
	Honoured Class = iota
	// NoMeaning: accepted so that the script runs on Flink too; one notice.
	NoMeaning
	// Refused: ignoring it would change results or guarantees.
	Refused
)

// String gives the word printed by `leat options`.
func (c Class) String() string { return [...]string{"honoured", "no meaning here", "refused"}[c] }

// Value is an option value as the user wrote it.
type Value struct {
	Text string
	// KeyPos and Pos are the places of key and value; zero outside scripts.
	KeyPos, Pos diag.Pos
}

// Values are options by key.
type Values map[string]Value

// Def is one declared option, without its Go type.
type Def struct {
	Key string
	// Aliases are older names that are still read.
	Aliases []string
	// Type is the word for the value: String, Integer, Boolean, Duration, MemorySize, Enum, Double.
	Type string
	// Default is the default as text; NoDefault says there is none.
	Default   string
	NoDefault bool
	Required  bool
	Class     Class
	// Text is one sentence for the documentation.
	Text string
	// Reason says why a NoMeaning or Refused option is that; printed in the notice or error.
	Reason string
	// Hint is what to do instead, for Refused.
	Hint string
	// Enum lists the allowed words of an Enum.
	Enum []string
	// Secret values are never printed.
	Secret bool
	// refuse lists words that are valid but not run by this version, with what to do.
	refuse map[string]string
	check  func(text string) error
}

// Option is a declared option of Go type T.
type Option[T any] struct {
	*Def
	parse func(text string) (T, error)
	def   T
}

// Get gives the value of o in v, or its default. The text was checked by
// Set.Check; a text that cannot be parsed gives the default.
func (o Option[T]) Get(v Values) T {
	if x, ok := o.lookup(v); ok {
		if t, err := o.parse(x.Text); err == nil {
			return t
		}
	}
	return o.def
}

// IsSet reports whether v holds the option under its key or an older name.
func (o Option[T]) IsSet(v Values) bool { _, ok := o.lookup(v); return ok }

// Value gives the written value.
func (o Option[T]) Value(v Values) (Value, bool) { return o.lookup(v) }

func (d *Def) lookup(v Values) (Value, bool) {
	if x, ok := v[d.Key]; ok {
		return x, true
	}
	for _, a := range d.Aliases {
		if x, ok := v[a]; ok {
			return x, true
		}
	}
	return Value{}, false
}

// Modify changes the declaration of an option while it is declared.
type Modify func(*Def)

// WithAliases names older keys that are still read.
func WithAliases(keys ...string) Modify { return func(d *Def) { d.Aliases = keys } }

// Require marks an option that has to be given.
func Require() Modify { return func(d *Def) { d.Required = true; d.NoDefault = true } }

// Optional says that there is no default.
func Optional() Modify { return func(d *Def) { d.NoDefault = true } }

// Secret keeps the value out of every output.
func Secret() Modify { return func(d *Def) { d.Secret = true } }

// NoMeaningHere classes the option as accepted with a notice.
func NoMeaningHere(reason string) Modify {
	return func(d *Def) { d.Class, d.Reason = NoMeaning, reason }
}

// RefusedHere classes the option as refused.
func RefusedHere(reason, hint string) Modify {
	return func(d *Def) { d.Class, d.Reason, d.Hint = Refused, reason, hint }
}

// OnlyNow declares that of the valid words only one is run by this version.
func OnlyNow(word, hint string) Modify {
	return func(d *Def) {
		for _, w := range d.Enum {
			if !strings.EqualFold(w, word) {
				d.refuseWord(w, hint)
			}
		}
	}
}

// RefuseWords declares valid words that this version does not run; write names the one to use.
func RefuseWords(write string, words ...string) Modify {
	return func(d *Def) {
		for _, w := range words {
			d.refuseWord(w, fmt.Sprintf("write '%s'", write))
		}
	}
}

func (d *Def) refuseWord(w, hint string) {
	if d.refuse == nil {
		d.refuse = map[string]string{}
	}
	d.refuse[strings.ToLower(w)] = hint
}

// Check adds a condition on the parsed text.
func Check[T any](parse func(string) (T, error), ok func(T) error) Modify {
	return func(d *Def) {
		before := d.check
		d.check = func(s string) error {
			if before != nil {
				if err := before(s); err != nil {
					return err
				}
			}
			t, err := parse(s)
			if err != nil {
				return err
			}
			return ok(t)
		}
	}
}

func declare[T any](s *Set, key, typ, text string, def T, defText string, parse func(string) (T, error), mods []Modify) Option[T] {
	d := &Def{Key: key, Type: typ, Text: text, Default: defText}
	d.check = func(x string) error { _, err := parse(x); return err }
	for _, m := range mods {
		m(d)
	}
	s.add(d)
	return Option[T]{Def: d, parse: parse, def: def}
}

// String declares a text option.
func String(s *Set, key, def, text string, mods ...Modify) Option[string] {
	return declare(s, key, "String", text, def, def, func(x string) (string, error) { return x, nil }, mods)
}

// Int declares an integer option.
func Int(s *Set, key string, def int64, text string, mods ...Modify) Option[int64] {
	return declare(s, key, "Integer", text, def, strconv.FormatInt(def, 10), ParseInt, mods)
}

// Bool declares a boolean option.
func Bool(s *Set, key string, def bool, text string, mods ...Modify) Option[bool] {
	return declare(s, key, "Boolean", text, def, strconv.FormatBool(def), ParseBool, mods)
}

// Duration declares a duration option.
func Duration(s *Set, key string, def time.Duration, text string, mods ...Modify) Option[time.Duration] {
	return declare(s, key, "Duration", text, def, FormatDuration(def), ParseDuration, mods)
}

// Size declares a memory size in bytes.
func Size(s *Set, key string, def int64, text string, mods ...Modify) Option[int64] {
	return declare(s, key, "MemorySize", text, def, FormatSize(def), ParseSize, mods)
}

// Double declares a floating point option.
func Double(s *Set, key string, def float64, text string, mods ...Modify) Option[float64] {
	return declare(s, key, "Double", text, def, fmt.Sprint(def), ParseDouble, mods)
}

// Enum declares an option with a fixed set of words, compared without case; the
// value is the word as declared.
func Enum(s *Set, key, def, text string, words []string, mods ...Modify) Option[string] {
	parse := func(x string) (string, error) {
		for _, w := range words {
			if strings.EqualFold(w, x) {
				return w, nil
			}
		}
		return "", fmt.Errorf("'%s' is not one of %s", x, strings.Join(words, ", "))
	}
	return declare(s, key, "Enum", text, def, def, parse, append([]Modify{func(d *Def) { d.Enum = words }}, mods...))
}
