package mysqlrow

import (
	"encoding/binary"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// charset turns the bytes of a character set into UTF-8, as the server's own
// conversion does. It never changes once it is made.
type charset struct {
	// decode appends src to dst. Bytes that are no character become U+FFFD, and
	// valid is false if there were any.
	decode func(s *charset, dst, src []byte) (out []byte, valid bool)
	// single gives the characters of one byte, utf8.RuneError for the others.
	single [256]rune
	// pairs gives the characters of two bytes, the first one on top; triples
	// those behind a byte 0x8F. 0 is no pair, U+FFFD a pair without a character.
	pairs, triples *[1 << 16]uint16
}

// Text gives text of a character set in UTF-8. Bytes that are none of its characters become U+FFFD.
func Text(charset, text string) string {
	cs := charsetOf(charset)
	if cs == nil {
		return text
	}
	out, _ := cs.decode(cs, nil, []byte(text))
	return string(out)
}

// knownCharset reports the character sets that can be read: all of MySQL 8 and 9.
func knownCharset(name string) bool { return charWidths[name] > 0 }

// charWidth is the largest size of a character, 1 for columns without a character set.
func charWidth(name string) int64 { return max(1, charWidths[name]) }

var charWidths = map[string]int64{
	"armscii8": 1, "ascii": 1, "big5": 2, "binary": 1, "cp1250": 1, "cp1251": 1, "cp1256": 1, "cp1257": 1, "cp850": 1,
	"cp852": 1, "cp866": 1, "cp932": 2, "dec8": 1, "eucjpms": 3, "euckr": 2, "gb18030": 4, "gb2312": 2, "gbk": 2,
	"geostd8": 1, "greek": 1, "hebrew": 1, "hp8": 1, "keybcs2": 1, "koi8r": 1, "koi8u": 1, "latin1": 1, "latin2": 1,
	"latin5": 1, "latin7": 1, "macce": 1, "macroman": 1, "sjis": 2, "swe7": 1, "tis620": 1, "ucs2": 2, "ujis": 3,
	"utf16": 4, "utf16le": 4, "utf32": 4, "utf8": 3, "utf8mb3": 3, "utf8mb4": 4,
}

// charsets keeps the character sets that were asked for by name.
var charsets sync.Map

// charsetOf gives a character set, nil for one whose bytes are UTF-8 and for none.
func charsetOf(name string) *charset {
	switch name {
	case "", "utf8mb4", "utf8mb3", "utf8", "ascii", "binary":
		return nil
	}
	if s, ok := charsets.Load(name); ok {
		return s.(*charset)
	}
	s, _ := charsets.LoadOrStore(name, newCharset(name))
	return s.(*charset)
}

func newCharset(name string) *charset {
	switch name {
	case "latin1":
		return &charset{decode: decodeLatin1}
	case "ucs2":
		return &charset{decode: decodeUCS2}
	case "utf16":
		return &charset{decode: decodeUTF16}
	case "utf16le":
		return &charset{decode: decodeUTF16LE}
	case "utf32":
		return &charset{decode: decodeUTF32}
	case "gb18030":
		return &charset{decode: decodeGB18030, single: ascii(), pairs: pairsOf(name)}
	case "sjis", "cp932":
		s := &charset{decode: decodePairs, single: ascii(), pairs: pairsOf(name)}
		for b := 0xA1; b <= 0xDF; b++ {
			s.single[b] = rune(0xFF61 + b - 0xA1) // katakana of half width
		}
		return s
	case "big5", "gbk", "gb2312", "euckr":
		return &charset{decode: decodePairs, single: ascii(), pairs: pairsOf(name)}
	case "ujis", "eucjpms":
		return &charset{decode: decodeEUC, single: ascii(), pairs: pairsOf(name), triples: triplesOf(name)}
	}
	s := &charset{decode: decodeSingle, single: ascii()}
	if name == "swe7" {
		for i, b := range []byte("@[\\]^`{|}~\x7F") {
			s.single[b] = []rune("ÉÄÖÅÜéäöåü\uFFFD")[i]
		}
	}
	for i, r := range []rune(upperHalves[name]) {
		s.single[0x80+i] = r
	}
	return s
}

// ascii is the table of a character set that has ASCII and nothing else in one byte.
func ascii() (t [256]rune) {
	for b := range t {
		t[b] = utf8.RuneError
		if b < utf8.RuneSelf {
			t[b] = rune(b)
		}
	}
	return t
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

// decodeLatin1 decodes latin1, which MySQL takes as cp1252 with the five
// unassigned bytes standing for themselves.
func decodeLatin1(_ *charset, dst, src []byte) ([]byte, bool) {
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
	return dst, true
}

func decodeSingle(s *charset, dst, src []byte) ([]byte, bool) {
	valid := true
	for _, b := range src {
		r := s.single[b]
		valid = valid && r != utf8.RuneError
		dst = utf8.AppendRune(dst, r)
	}
	return dst, valid
}

// decodePairs decodes character sets of one and two bytes. A pair that is no
// character counts as one if its second byte is no ASCII, else the first byte does.
func decodePairs(s *charset, dst, src []byte) ([]byte, bool) {
	valid := true
	for i := 0; i < len(src); i++ {
		b := src[i]
		if b < utf8.RuneSelf {
			dst = append(dst, b)
			continue
		}
		r := s.single[b]
		if r == utf8.RuneError && i+1 < len(src) {
			next := src[i+1]
			if u := s.pairs[int(b)<<8|int(next)]; u != 0 {
				r = rune(u)
				i++
			} else if next >= utf8.RuneSelf {
				i++
			}
		}
		valid = valid && r != utf8.RuneError
		dst = utf8.AppendRune(dst, r)
	}
	return dst, valid
}

// decodeEUC decodes the Japanese sets whose byte 0x8F opens a character of three bytes.
func decodeEUC(s *charset, dst, src []byte) ([]byte, bool) {
	valid := true
	for len(src) > 0 {
		var good bool
		if src[0] == 0x8F && len(src) >= 3 {
			r := rune(s.triples[int(src[1])<<8|int(src[2])])
			if r == 0 {
				r, valid = utf8.RuneError, false
			}
			dst = utf8.AppendRune(dst, r)
			src = src[3:]
			continue
		}
		n := 1
		if src[0] >= utf8.RuneSelf {
			n = min(2, len(src))
		}
		dst, good = decodePairs(s, dst, src[:n])
		valid = valid && good
		src = src[n:]
	}
	return dst, valid
}

// decodeGB18030 decodes one and two bytes by table and four by the rules of the standard.
func decodeGB18030(s *charset, dst, src []byte) ([]byte, bool) {
	valid := true
	for len(src) > 0 {
		n, good := 1, true
		switch {
		case src[0] < utf8.RuneSelf:
			dst = append(dst, src[0])
		case len(src) >= 4 && src[1] >= '0' && src[1] <= '9':
			n = 4
			dst, good = appendGB18030(dst, src[:4])
		default:
			n = min(2, len(src))
			dst, good = decodePairs(s, dst, src[:n])
		}
		valid = valid && good
		src = src[n:]
	}
	return dst, valid
}

// gb18030 has no state that one use could leave to the next.
var gb18030 = simplifiedchinese.GB18030.NewDecoder().Transformer

// appendGB18030 appends a character of four bytes.
func appendGB18030(dst, src []byte) ([]byte, bool) {
	if binary.BigEndian.Uint32(src) == 0x8135F437 {
		return utf8.AppendRune(dst, 0xE7C7), true // where the server has the older table
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	n, _, err := gb18030.Transform(dst[start:], src, true)
	r, size := utf8.DecodeRune(dst[start : start+n])
	if err != nil || r == utf8.RuneError || size != n {
		return utf8.AppendRune(dst[:start], utf8.RuneError), false
	}
	return dst[:start+n], true
}

func decodeUCS2(_ *charset, dst, src []byte) ([]byte, bool) {
	valid := len(src)%2 == 0
	for ; len(src) >= 2; src = src[2:] {
		r := rune(binary.BigEndian.Uint16(src))
		valid = valid && !utf16.IsSurrogate(r)
		dst = utf8.AppendRune(dst, r)
	}
	return dst, valid
}

func decodeUTF16(_ *charset, dst, src []byte) ([]byte, bool) {
	return appendUTF16(dst, src, binary.BigEndian)
}

func decodeUTF16LE(_ *charset, dst, src []byte) ([]byte, bool) {
	return appendUTF16(dst, src, binary.LittleEndian)
}

func appendUTF16(dst, src []byte, order binary.ByteOrder) ([]byte, bool) {
	valid := len(src)%2 == 0
	for ; len(src) >= 2; src = src[2:] {
		r := rune(order.Uint16(src))
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
			if len(src) >= 4 {
				r = utf16.DecodeRune(rune(order.Uint16(src)), rune(order.Uint16(src[2:])))
			}
			if r == utf8.RuneError {
				valid = false
			} else {
				src = src[2:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, valid
}

func decodeUTF32(_ *charset, dst, src []byte) ([]byte, bool) {
	valid := len(src)%4 == 0
	for ; len(src) >= 4; src = src[4:] {
		r := rune(min(binary.BigEndian.Uint32(src), utf8.MaxRune+1))
		valid = valid && utf8.ValidRune(r)
		dst = utf8.AppendRune(dst, r)
	}
	return dst, valid
}
