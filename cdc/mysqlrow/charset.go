package mysqlrow

import "unicode/utf8"

// knownCharset reports the character sets that can be read.
func knownCharset(name string) bool {
	switch name {
	case "utf8mb4", "utf8mb3", "utf8", "ascii", "latin1", "binary":
		return true
	default:
		return false
	}
}

// appendRepaired appends text that is not valid UTF-8; each invalid byte becomes U+FFFD.
func appendRepaired(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
	return dst
}

// appendLatin1 appends text of a latin1 column, which MySQL takes as cp1252
// with the five unassigned bytes standing for themselves.
func appendLatin1(dst, src []byte) []byte {
	for _, b := range src {
		switch {
		case b < utf8.RuneSelf:
			dst = append(dst, b)
		case b < 0xA0:
			dst = utf8.AppendRune(dst, cp1252[b-0x80])
		default:
			dst = utf8.AppendRune(dst, rune(b))
		}
	}
	return dst
}

var cp1252 = [32]rune{
	0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
	0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
	0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
	0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
}
