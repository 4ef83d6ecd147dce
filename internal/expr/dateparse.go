package expr

import (
	"strings"

	"leat/internal/diag"
)

// readable checks that every letter of p can be read back from text.
func (p *datePattern) readable(pattern string) *diag.Error {
	for _, t := range p.tokens {
		if t.letter != 0 && strings.IndexByte("yuMLdHkKhmsSaE", t.letter) < 0 {
			return typeError("use yyyy, MM, dd, HH, hh, mm, ss, SSS and a", "the pattern '%s' has the letter '%c', which cannot be read from text", pattern, t.letter)
		}
	}
	return nil
}

// readFields is what a pattern found in a text.
type readFields struct {
	year, month, day     int
	hour, minute, second int
	nanos                int
	afternoon, halfDay   bool
}

// parse reads s by p. Parts that the pattern lacks are 1970-01-01 00:00:00; a
// day that the month does not have is its last day. With prefix, text after the
// pattern is ignored.
func (p *datePattern) parse(s string, prefix bool) (sec int64, nanos int, ok bool) {
	f := readFields{year: 1970, month: 1, day: 1}
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.letter == 0 {
			if !strings.HasPrefix(s, t.text) {
				return 0, 0, false
			}
			s = s[len(t.text):]
			continue
		}
		adjacent := i+1 < len(p.tokens) && p.tokens[i+1].letter != 0
		n := t.read(s, &f, adjacent)
		if n == 0 {
			return 0, 0, false
		}
		s = s[n:]
	}
	if s != "" && !prefix {
		return 0, 0, false
	}
	if f.halfDay {
		f.hour %= 12
		if f.afternoon {
			f.hour += 12
		}
	}
	if f.year < 1 || f.year > 9999 || f.month < 1 || f.month > 12 || f.day < 1 || f.day > 31 || f.hour > 23 || f.minute > 59 || f.second > 59 {
		return 0, 0, false
	}
	f.day = min(f.day, daysInMonth(f.year, f.month))
	return daysOf(f.year, f.month, f.day)*secondsPerDay + int64(f.hour*3600+f.minute*60+f.second), f.nanos, true
}

// read takes the token from the start of s and gives the bytes it covers, 0 if
// it is not there. A number next to another one has as many digits as letters.
func (t *dateToken) read(s string, f *readFields, adjacent bool) int {
	switch t.letter {
	case 'a':
		if len(s) < 2 || !strings.EqualFold(s[1:2], "m") || !strings.ContainsAny(s[:1], "aApP") {
			return 0
		}
		f.halfDay, f.afternoon = true, s[0]|0x20 == 'p'
		return 2
	case 'E':
		return readName(s, dayNames[:], t.count, nil)
	case 'S':
		v, n := digits(s, min(t.count, 9))
		if n != t.count {
			return 0
		}
		f.nanos = v * int(pow10u64[9-n])
		return n
	case 'M', 'L':
		if t.count > 2 {
			return readName(s, monthNames[:], t.count, &f.month)
		}
	}
	limit := max(t.count, 2)
	if t.letter == 'y' || t.letter == 'u' {
		limit = 9
		if t.count == 2 {
			limit = 2
		}
	}
	if adjacent {
		limit = t.count
	}
	v, n := digits(s, limit)
	if n == 0 || t.count > 1 && n < t.count {
		return 0
	}
	t.store(v, f)
	return n
}

func (t *dateToken) store(v int, f *readFields) {
	switch t.letter {
	case 'y', 'u':
		if t.count == 2 {
			v += 2000
		}
		f.year = v
	case 'M', 'L':
		f.month = v
	case 'd':
		f.day = v
	case 'H':
		f.hour = v
	case 'k':
		f.hour = v % 24
	case 'K', 'h':
		f.hour, f.halfDay = v, true
	case 'm':
		f.minute = v
	default:
		f.second = v
	}
}

// readName finds a short (three letters) or full name and stores its number from 1.
func readName(s string, names []string, count int, number *int) int {
	for i, name := range names {
		if count <= 3 {
			name = name[:3]
		}
		if strings.HasPrefix(s, name) {
			if number != nil {
				*number = i + 1
			}
			return len(name)
		}
	}
	return 0
}
