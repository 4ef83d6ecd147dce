package cdc

import (
	"slices"
	"strings"
)

// word is a token of a statement: a name, a number, a quoted text or a mark.
type word struct {
	text string
	// quoted is a name in backquotes or double quotes; literal a text or number.
	quoted, literal bool
}

func (w word) is(keyword string) bool {
	return !w.quoted && !w.literal && strings.EqualFold(w.text, keyword)
}

// words splits a MySQL statement. Comments are dropped, except for what stands
// in /*! … */ and /*M! … */, which the server runs.
func words(text string) []word {
	var out []word
	for {
		w, rest, ok := scan(text)
		if !ok {
			return out
		}
		out, text = append(out, w), rest
	}
}

// nextWord gives the first bare word of text.
func nextWord(text string) (string, string) {
	w, rest, _ := scan(text)
	return w.text, rest
}

func scan(s string) (word, string, bool) {
	s = skipBlank(s)
	if s == "" {
		return word{}, "", false
	}
	switch c := s[0]; {
	case c == '`' || c == '"' || c == '\'':
		text, rest := quotedText(s)
		return word{text: text, quoted: c != '\'', literal: c == '\''}, rest, true
	case isWord(c):
		i := 1
		for i < len(s) && isWord(s[i]) {
			i++
		}
		return word{text: s[:i], literal: c >= '0' && c <= '9'}, s[i:], true
	default:
		return word{text: s[:1]}, s[1:], true
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '@' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipBlank drops blanks and comments.
func skipBlank(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v")
		switch {
		case strings.HasPrefix(s, "/*!"):
			s = strings.TrimLeft(s[3:], "0123456789")
		case strings.HasPrefix(s, "/*M!"): // of MariaDB; MySQL reads a comment, and too much does no harm
			s = strings.TrimLeft(s[4:], "0123456789")
		case strings.HasPrefix(s, "*/"):
			s = s[2:]
		case strings.HasPrefix(s, "/*"):
			if i := strings.Index(s[2:], "*/"); i >= 0 {
				s = s[2+i+2:]
			} else {
				return ""
			}
		case strings.HasPrefix(s, "#"), strings.HasPrefix(s, "--") && (len(s) == 2 || s[2] <= ' '):
			if i := strings.IndexByte(s, '\n'); i >= 0 {
				s = s[i+1:]
			} else {
				return ""
			}
		default:
			return s
		}
	}
}

// quotedText reads a quoted token; the quote doubled stands for itself.
func quotedText(s string) (text, rest string) {
	q := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q != '`' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
			b.WriteByte(q)
		case s[i] == q:
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}

// effect is what a statement does to a table.
type effect uint8

const (
	noEffect effect = iota
	// altered: columns may differ from here on.
	altered
	truncated
	dropped
	renamed
	// refilled: rows came or went as a whole, and no event tells of them.
	refilled
	created
	// written: rows changed, and the log holds the statement instead of them.
	written
	// called: a function changed rows, and the log holds the call.
	called
)

// name is a table, or with an empty table all tables of a database.
type name struct{ schema, table string }

// covers compares without case: a server that tells names apart by case only
// gets a needless look at a table.
func (n name) covers(schema, table string) bool {
	return strings.EqualFold(n.schema, schema) && (n.table == "" || strings.EqualFold(n.table, table))
}

// effects tells which tables a statement of the log touches, and how. schema is
// the database it ran in.
func effects(text, schema string) (effect, []name) {
	w := words(text)
	if len(w) == 0 {
		return noEffect, nil
	}
	p := &nameReader{words: w, schema: schema, at: 1}
	switch strings.ToUpper(w[0].text) {
	case "ALTER":
		p.skip("ONLINE", "OFFLINE", "IGNORE")
		if p.skip("TABLE") {
			p.skip("IF", "EXISTS")
			names := p.list()
			rest := *p
			if rest.skip("DISABLE", "ENABLE") && rest.skip("KEYS") && rest.at == len(w) {
				return noEffect, nil // as dumps have it, whose tables are locked
			}
			if to, ok := p.newName(); ok {
				return renamed, append(names, to)
			}
			if others, ok := rest.refills(); ok {
				return refilled, append(names, others...)
			}
			return altered, names
		}
	case "TRUNCATE":
		p.skip("TABLE")
		return truncated, p.list()
	case "DROP":
		switch {
		case p.skip("TABLE", "TABLES"):
			p.skip("IF", "EXISTS")
			return dropped, p.list()
		case p.skip("DATABASE", "SCHEMA"):
			p.skip("IF", "EXISTS")
			if p.at < len(w) {
				return dropped, []name{{schema: w[p.at].text}}
			}
		}
	case "RENAME":
		if p.skip("TABLE", "TABLES") {
			return renamed, p.until("")
		}
	case "CREATE":
		replaces := p.skip("OR") && p.skip("REPLACE")
		if !p.skip("TABLE") || p.at >= len(w) {
			break
		}
		p.skip("IF", "NOT", "EXISTS")
		if p.at >= len(w) {
			break
		}
		if replaces {
			return dropped, []name{p.name()}
		}
		return created, []name{p.name()}
	case "INSERT", "REPLACE":
		p.skip("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE", "INTO")
		if p.at < len(w) {
			return written, []name{p.name()}
		}
	case "UPDATE":
		return written, p.until("SET")
	case "DELETE":
		return written, p.until("WHERE")
	case "LOAD", "WITH", "CALL":
		return written, p.until("")
	case "SELECT", "DO":
		return called, p.until("")
	}
	return noEffect, nil
}

// nameReader reads table names out of a statement.
type nameReader struct {
	words  []word
	schema string
	at     int
}

// skip passes the keywords that stand here, in any number, and reports whether there was one.
func (p *nameReader) skip(keywords ...string) bool {
	start := p.at
next:
	for p.at < len(p.words) {
		for _, k := range keywords {
			if p.words[p.at].is(k) {
				p.at++
				continue next
			}
		}
		break
	}
	return p.at > start
}

// newName finds RENAME [TO | AS | =] name among what ALTER TABLE asks for.
func (p *nameReader) newName() (name, bool) {
	for ; p.at+1 < len(p.words); p.at++ {
		next := p.words[p.at+1]
		if !p.words[p.at].is("RENAME") || next.is("COLUMN") || next.is("INDEX") || next.is("KEY") || next.literal {
			continue
		}
		p.at++
		if p.skip("TO", "AS"); p.at < len(p.words) && p.words[p.at].text == "=" {
			p.at++
		}
		if p.at < len(p.words) {
			return p.name(), true
		}
	}
	return name{}, false
}

// refills reports whether ALTER TABLE takes or brings rows that no event tells of,
// and gives the tables besides the altered one whose rows it moves.
func (p *nameReader) refills() (others []name, found bool) {
	w := p.words
	next := func(i int, keyword string) bool { return i+1 < len(w) && w[i+1].is(keyword) }
	found = slices.ContainsFunc(w[:p.at], func(x word) bool { return x.is("IGNORE") }) // drops rows for a new unique key
	for i := p.at; i < len(w); i++ {
		moves := w[i].is("EXCHANGE") || w[i].is("CONVERT")
		switch {
		case (moves || w[i].is("DROP") || w[i].is("TRUNCATE") || w[i].is("IMPORT") || w[i].is("DISCARD")) && next(i, "PARTITION"),
			(w[i].is("IMPORT") || w[i].is("DISCARD")) && next(i, "TABLESPACE"), w[i].is("CONVERT") && next(i, "TABLE"):
			found = true
			for j := i + 1; moves && j+1 < len(w); j++ {
				if w[j].is("TABLE") {
					other := nameReader{words: w, schema: p.schema, at: j + 1}
					others = append(others, other.name())
					break
				}
			}
		case w[i].is("ENGINE"):
			j := i + 1
			if j < len(w) && w[j].text == "=" {
				j++
			}
			found = found || j < len(w) && strings.EqualFold(w[j].text, "BLACKHOLE") // which forgets all rows
		}
	}
	return others, found
}

// list reads names separated by commas.
func (p *nameReader) list() []name {
	var out []name
	for p.at < len(p.words) {
		out = append(out, p.name())
		if p.at >= len(p.words) || p.words[p.at].text != "," {
			break
		}
		p.at++
	}
	return out
}

func (p *nameReader) name() name {
	n := name{schema: p.schema, table: p.words[p.at].text}
	p.at++
	if p.at+1 < len(p.words) && p.words[p.at].text == "." && !p.words[p.at].literal {
		n = name{schema: n.table, table: p.words[p.at+1].text}
		p.at += 2
	}
	return n
}

// until gives every word up to a keyword that could name a table: for
// statements where finding too many does no harm.
func (p *nameReader) until(keyword string) []name {
	var out []name
	for p.at < len(p.words) && !p.words[p.at].is(keyword) {
		if w := p.words[p.at]; w.literal || !w.quoted && !isWord(w.text[0]) {
			p.at++
			continue
		}
		out = append(out, p.name())
	}
	return out
}
