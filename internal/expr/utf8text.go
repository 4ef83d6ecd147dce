package expr

import "unicode/utf8"

// decoded gives bytes as text, which it may build in the arena of out.
func decoded(out *scratch, s string) string {
	if utf8.ValidString(s) {
		return s
	}
	start := len(out.arena)
	out.arena = AppendDecoded(out.arena, s)
	return out.since(start)
}

// AppendDecoded appends bytes as text to dst the way Java's String decodes them:
// U+FFFD stands for each longest part that may begin a character but does not go on
// as one, and for each half of a surrogate pair.
func AppendDecoded(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if r, size := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
			dst = append(dst, s[i:i+size]...)
			i += size
			continue
		}
		dst = utf8.AppendRune(dst, utf8.RuneError)
		i += brokenPart(s[i:])
	}
	return dst
}

// brokenPart is how many bytes at the begin of s belong to what is no character.
func brokenPart(s string) int {
	size, low, high := 1, byte(0x80), byte(0xBF)
	switch b := s[0]; {
	case b >= 0xC2 && b <= 0xDF:
		size = 2
	case b >= 0xE0 && b <= 0xEF: // 0xED begins halves of pairs, too
		size = 3
	case b >= 0xF0 && b <= 0xF4:
		size = 4
	}
	switch s[0] {
	case 0xE0:
		low = 0xA0
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < min(size, len(s)) && s[n] >= low && s[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}
