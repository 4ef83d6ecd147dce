package expr

import (
	"strings"

	"leat/internal/diag"
)

// datePattern is a compiled Java DateTimeFormatter pattern (locale en-US).
type datePattern struct {
	tokens []dateToken
	// dayOnly patterns give one text for all times of a day.
	dayOnly bool
}

// dateToken is a run of one pattern letter, or literal text if letter is 0.
type dateToken struct {
	letter byte
	count  int
	text   string
}

const (
	dayLetters   = "yuYMLdDEeQqwG"
	clockLetters = "HkKhmsSanAN"
)

// compilePattern reads a pattern of DATE_FORMAT and its relatives.
func compilePattern(s string) (*datePattern, *diag.Error) {
	p := &datePattern{dayOnly: true}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\'':
			text, n, ok := quotedText(s[i:])
			if !ok {
				return nil, typeError("close the quote", "the pattern '%s' has an open quote", s)
			}
			p.literal(text)
			i += n
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(s) && s[i+n] == c {
				n++
			}
			if !strings.ContainsRune(dayLetters+clockLetters, rune(c)) {
				return nil, typeError("use letters such as yyyy MM dd HH mm ss SSS, and put other text in quotes",
					"the pattern '%s' has the letter '%c', which has no meaning here", s, c)
			}
			p.tokens = append(p.tokens, dateToken{letter: c, count: n})
			p.dayOnly = p.dayOnly && strings.IndexByte(dayLetters, c) >= 0
			i += n
		case c == '[' || c == ']' || c == '{' || c == '}' || c == '#':
			return nil, typeError("leave it out, or put it in quotes", "the pattern '%s' has the sign '%c', which leat does not read", s, c)
		default:
			p.literal(s[i : i+1])
			i++
		}
	}
	return p, nil
}

// quotedText reads '…' at the start of s, in which ” is a quote; ” alone is a quote too.
func quotedText(s string) (text string, n int, ok bool) {
	if strings.HasPrefix(s, "''") {
		return "'", 2, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

func (p *datePattern) literal(text string) {
	if n := len(p.tokens); n > 0 && p.tokens[n-1].letter == 0 {
		p.tokens[n-1].text += text
		return
	}
	p.tokens = append(p.tokens, dateToken{text: text})
}

// moment is a wall clock taken apart.
type moment struct {
	days             int64
	year, month, day int
	sec, nanos       int // of the day, of the second
}

func momentOf(sec int64, nanos int) moment {
	m := moment{days: floorDiv(sec, secondsPerDay), nanos: nanos}
	m.sec = int(sec - m.days*secondsPerDay)
	m.year, m.month, m.day = dateOf(m.days)
	return m
}

// weekday counts from Sunday, 0.
func (m *moment) weekday() int { return int(floorMod(m.days+4, 7)) }

func (m *moment) dayOfYear() int { return int(m.days-daysOf(m.year, 1, 1)) + 1 }

// week gives year and number of the week as the US count them: weeks begin on
// Sunday, the week of January 1 is the first.
func (m *moment) week() (year, week int) {
	first := func(y int) int64 {
		jan1 := daysOf(y, 1, 1)
		return jan1 - floorMod(jan1+4, 7)
	}
	year = m.year
	if m.days >= first(year+1) {
		year++
	}
	return year, int(m.days-first(year))/7 + 1
}

// isoWeek gives year and number of the ISO week.
func (m *moment) isoWeek() (year, week int) {
	thursday := m.days - floorMod(m.days+3, 7) + 3
	year, _, _ = dateOf(thursday)
	return year, int(thursday-daysOf(year, 1, 1))/7 + 1
}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// format appends m to b.
func (p *datePattern) format(b []byte, m *moment) []byte {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.letter == 0 {
			b = append(b, t.text...)
			continue
		}
		b = t.format(b, m)
	}
	return b
}

func (t *dateToken) format(b []byte, m *moment) []byte {
	hour := m.sec / 3600
	switch t.letter {
	case 'y', 'u':
		return appendYear(b, m.year, t.count)
	case 'Y':
		y, _ := m.week()
		return appendYear(b, y, t.count)
	case 'w':
		_, w := m.week()
		return appendPadded(b, w, t.count)
	case 'M', 'L':
		return appendName(b, monthNames[m.month-1], m.month, t.count)
	case 'd':
		return appendPadded(b, m.day, t.count)
	case 'D':
		return appendPadded(b, m.dayOfYear(), t.count)
	case 'E':
		return appendName(b, dayNames[m.weekday()], 0, max(t.count, 3))
	case 'e':
		return appendName(b, dayNames[m.weekday()], m.weekday()+1, t.count)
	case 'Q', 'q':
		return appendQuarter(b, (m.month+2)/3, t.count)
	case 'G':
		return append(b, "AD"...)
	case 'H':
		return appendPadded(b, hour, t.count)
	case 'k':
		return appendPadded(b, (hour+23)%24+1, t.count)
	case 'K':
		return appendPadded(b, hour%12, t.count)
	case 'h':
		return appendPadded(b, (hour+11)%12+1, t.count)
	case 'm':
		return appendPadded(b, m.sec/60%60, t.count)
	case 's':
		return appendPadded(b, m.sec%60, t.count)
	case 'S':
		n := min(t.count, 9)
		b = appendPadded(b, m.nanos/int(pow10u64[9-n]), n)
		for range t.count - n {
			b = append(b, '0')
		}
		return b
	case 'n':
		return appendPadded(b, m.nanos, t.count)
	case 'A':
		return appendPadded(b, m.sec*1000+m.nanos/1e6, t.count)
	case 'N':
		return appendPadded(b, m.sec*1e9+m.nanos, t.count)
	default: // a
		if hour < 12 {
			return append(b, "AM"...)
		}
		return append(b, "PM"...)
	}
}

func appendYear(b []byte, year, count int) []byte {
	if count == 2 {
		return appendPadded(b, int(floorMod(int64(year), 100)), 2)
	}
	if count >= 4 && year > 9999 && len(appendPadded(nil, year, 0)) > count {
		b = append(b, '+')
	}
	return appendPadded(b, year, count)
}

// appendName writes a number up to two letters, then a short, a full and a one-letter name.
func appendName(b []byte, name string, number, count int) []byte {
	switch count {
	case 1, 2:
		return appendPadded(b, number, count)
	case 3:
		return append(b, name[:3]...)
	case 4:
		return append(b, name...)
	default:
		return append(b, name[0])
	}
}

func appendQuarter(b []byte, q, count int) []byte {
	switch count {
	case 1, 2, 5:
		return appendPadded(b, q, min(count, 2))
	case 3:
		return append(b, 'Q', byte('0'+q))
	default:
		return append(b, [...]string{"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"}[q-1]...)
	}
}
