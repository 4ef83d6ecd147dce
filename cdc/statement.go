package cdc

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"leat/cdc/mysqlrow"
)

// The text of a statement in the log means what it did in its session: its bytes
// are of the session's character set, and its sql_mode says what quotes and
// backslashes are. It is brought into one form before it is read: UTF-8, with
// backslashes that escape.

// Bits of sql_mode, the same in MySQL and MariaDB.
const (
	modeANSIQuotes   = 1 << 2
	modeNoBackslash  = 1 << 20
	modeStrictTables = 1<<21 | 1<<22
)

// session is what a statement of the log says of the session that ran it.
type session struct {
	mode uint64
	// charset is the number of a collation of its character set, 0 if it is not told.
	charset uint16
}

// strict reports whether a value that does not fit is an error.
func (s session) strict() bool { return s.mode&modeStrictTables != 0 }

// sessionOf reads the variables of a QUERY event.
func sessionOf(vars []byte) (s session) {
	for len(vars) > 0 {
		code, rest := vars[0], vars[1:]
		size := 0
		switch code {
		case 0: // flags
			size = 4
		case 1: // sql_mode
			size = 8
			if len(rest) >= size {
				s.mode = binary.LittleEndian.Uint64(rest)
			}
		case 2: // the catalog of old servers, which ends with NUL
			if len(rest) > 0 {
				size = int(rest[0]) + 2
			}
		case 3: // auto_increment_increment and _offset
			size = 4
		case 4: // character set of the client, collations of the connection and the server
			size = 6
			if len(rest) >= size {
				s.charset = binary.LittleEndian.Uint16(rest)
			}
		case 5, 6: // time zone, catalog
			if len(rest) > 0 {
				size = int(rest[0]) + 1
			}
		default: // nothing that is needed comes behind these
			return s
		}
		vars = rest[min(size, len(rest)):]
	}
	return s
}

// plain brings the backslashes of a statement into the form that words reads: there
// they escape within quotes.
func (s session) plain(text string) string {
	quotes := ""
	if s.mode&modeANSIQuotes != 0 {
		quotes = `"`
	}
	if s.mode&modeNoBackslash != 0 {
		quotes = `'"`
	}
	if quotes == "" || !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		rest := skipBlank(text)
		b.WriteString(text[:len(text)-len(rest)])
		text = rest
		if text == "" {
			break
		}
		n := 1
		switch q := text[0]; {
		case strings.IndexByte(quotes, q) >= 0:
			for n < len(text) && text[n] != q { // doubled, it closes and opens
				n++
			}
			n = min(n+1, len(text))
			b.WriteString(strings.ReplaceAll(text[:n], `\`, `\\`))
		case q == '\'' || q == '"' || q == '`':
			_, rest := quotedText(text)
			n = len(text) - len(rest)
			b.WriteString(text[:n])
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// withoutSettings drops SET STATEMENT … FOR from the front of a statement, by which
// MariaDB sets variables for it alone.
func withoutSettings(text string) string {
	if firstWord(text) != "SET" {
		return text
	}
	_, rest, _ := scan(text)
	w, rest, ok := scan(rest)
	if !ok || !w.is("STATEMENT") {
		return text
	}
	for {
		if w, rest, ok = scan(rest); !ok {
			return text
		}
		if w.is("FOR") {
			return rest
		}
	}
}

// inUTF8 gives the text of a statement in UTF-8. both says that the bytes may be
// UTF-8 although the session's are another character set: a server writes some
// statements anew, in its own.
func (r *Reader) inUTF8(ctx context.Context, e *event) (text string, both bool, err error) {
	if !slices.ContainsFunc([]byte(e.text), func(c byte) bool { return c >= utf8.RuneSelf }) || e.session.charset == 0 {
		return e.text, false, nil
	}
	name, err := r.charsetName(ctx, e.session.charset)
	if err != nil || name == "" {
		return e.text, false, err
	}
	return mysqlrow.Text(name, e.text), utf8.ValidString(e.text), nil
}

// charsetName gives the character set of a collation by its number, "" for an unknown one.
func (r *Reader) charsetName(ctx context.Context, collation uint16) (string, error) {
	if r.charsets == nil {
		n, err := r.cfg.connect(ctx)
		if err != nil {
			return "", err
		}
		defer n.close()
		rows, err := n.query("SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID IS NOT NULL AND CHARACTER_SET_NAME IS NOT NULL")
		if err != nil {
			return "", sourceError(n.addr, err)
		}
		r.charsets = make(map[uint16]string, len(rows.rows))
		for _, row := range rows.rows {
			r.charsets[uint16(number(row[0]))] = row[1]
		}
	}
	return r.charsets[collation], nil
}
