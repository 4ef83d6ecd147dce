package expr

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"leat/internal/columnar"
)

var textFunctions = []*function{
	{name: "||", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindConcatOp, build: building(concatLoop)},
	{name: "CONCAT", minArgs: 1, maxArgs: -1, bind: takes(following(columnar.StringType()), textParam), build: building(concatLoop)},
	{name: "CONCAT_WS", minArgs: 2, maxArgs: -1, bind: takes(separatorDecides, textParam), build: building(concatWithSeparator)},
	{name: "UPPER", minArgs: 1, maxArgs: 1, bind: takes(sameAsFirst, textParam), build: building(func() loop { return caseLoop(unicode.ToUpper, 'a', 'z') })},
	{name: "LOWER", minArgs: 1, maxArgs: 1, bind: takes(sameAsFirst, textParam), build: building(func() loop { return caseLoop(unicode.ToLower, 'A', 'Z') })},
	{name: "INITCAP", minArgs: 1, maxArgs: 1, bind: takes(sameAsFirst, textParam), build: building(func() loop { return textLoop(initCap) })},
	{name: "TRIM", minArgs: 1, maxArgs: 2, bind: takes(varyingFirst, textParam), build: building(func() loop { return trimLoop(true, true) })},
	{name: "LTRIM", minArgs: 1, maxArgs: 2, bind: takes(varyingFirst, textParam), build: building(func() loop { return trimLoop(true, false) })},
	{name: "RTRIM", minArgs: 1, maxArgs: 2, bind: takes(varyingFirst, textParam), build: building(func() loop { return trimLoop(false, true) })},
	{name: "SUBSTRING", minArgs: 2, maxArgs: 3, bind: takes(nullableVarying, textParam, intParam), build: building(substringLoop)},
	{name: "LEFT", minArgs: 2, maxArgs: 2, bind: takes(nullableVarying, textParam, intParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
			return substring(in[0].strs[i], 1, max(intAt(in[1], i), 0)), true
		})
	})},
	{name: "RIGHT", minArgs: 2, maxArgs: 2, bind: takes(nullableVarying, textParam, intParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
			s, n := in[0].strs[i], max(intAt(in[1], i), 0)
			return substring(s, max(utf8.RuneCountInString(s)-n, 0)+1, n), true
		})
	})},
	{name: "LPAD", minArgs: 3, maxArgs: 3, bind: takes(following(columnar.StringType()), textParam, intParam, textParam), build: building(func() loop { return padLoop(true) })},
	{name: "RPAD", minArgs: 3, maxArgs: 3, bind: takes(following(columnar.StringType()), textParam, intParam, textParam), build: building(func() loop { return padLoop(false) })},
	{name: "REPEAT", minArgs: 2, maxArgs: 2, bind: takes(following(columnar.StringType()), textParam, intParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
			start := len(out.arena)
			for range max(intAt(in[1], i), 0) {
				out.arena = append(out.arena, in[0].strs[i]...)
			}
			return out.since(start), true
		})
	})},
	{name: "REPLACE", minArgs: 3, maxArgs: 3, bind: takes(following(columnar.StringType()), textParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
			return replaceAll(out, in[0].strs[i], in[1].strs[i], in[2].strs[i]), true
		})
	})},
	{name: "REVERSE", minArgs: 1, maxArgs: 1, bind: takes(always(columnar.StringType()), textParam), build: building(func() loop { return textLoop(reverse) })},
	{name: "OVERLAY", minArgs: 3, maxArgs: 4, bind: takes(overlayType, textParam, textParam, intParam), build: building(overlayLoop)},
	{name: "SPLIT_INDEX", minArgs: 3, maxArgs: 3, bind: takes(always(columnar.StringType()), textParam, textParam, intParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
			return splitIndex(in[0].strs[i], in[1].strs[i], intAt(in[2], i))
		})
	})},
	{name: "CHR", minArgs: 1, maxArgs: 1, bind: takes(always(columnar.StringType()), bigIntParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
			start := len(out.arena)
			if v := values[int64](in[0])[i]; v >= 0 {
				out.arena = utf8.AppendRune(out.arena, rune(v&0xff))
			}
			return out.since(start), true
		})
	})},
	{name: "CHAR_LENGTH", minArgs: 1, maxArgs: 1, bind: takes(following(columnar.Of(columnar.Int)), textParam), build: intOfText(utf8.RuneCountInString)},
	{name: "ASCII", minArgs: 1, maxArgs: 1, bind: takes(following(columnar.Of(columnar.Int)), textParam), build: intOfText(func(s string) int {
		if s == "" {
			return 0
		}
		return int(s[0])
	})},
	{name: "POSITION", minArgs: 2, maxArgs: 2, bind: takes(following(columnar.Of(columnar.Int)), textParam), build: positionOf(0, 1)},
	{name: "INSTR", minArgs: 2, maxArgs: 2, bind: takes(following(columnar.Of(columnar.Int)), textParam), build: positionOf(1, 0)},
	{name: "LOCATE", minArgs: 2, maxArgs: 3, bind: takes(following(columnar.Of(columnar.Int)), textParam, textParam, intParam), build: positionOf(0, 1)},
	{name: "TO_BASE64", minArgs: 1, maxArgs: 1, bind: takes(following(columnar.StringType()), textParam), build: building(func() loop {
		return textLoop(func(out *scratch, s string) (string, bool) {
			start := len(out.arena)
			out.arena = base64.StdEncoding.AppendEncode(out.arena, []byte(s))
			return out.since(start), true
		})
	})},
	{name: "FROM_BASE64", minArgs: 1, maxArgs: 1, bind: takes(following(columnar.StringType()), textParam), build: building(func() loop {
		return textLoop(func(_ *scratch, s string) (string, bool) {
			b, err := base64.StdEncoding.DecodeString(s)
			return string(b), err == nil
		})
	})},
}

// bindConcatOp gives CHAR for two CHARs; binary strings are joined as well.
func bindConcatOp(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	a, b := args[0].Type(), args[1].Type()
	t := columnar.DataType{Kind: columnar.VarChar, Length: sumLength(a.Length, b.Length)}
	switch {
	case a.Kind == columnar.Invalid || b.Kind == columnar.Invalid:
		return t, nil, errBareNull()
	case a.IsBytes() && b.IsBytes():
		t.Kind = columnar.VarBinary
		if a.Kind == columnar.Binary && b.Kind == columnar.Binary {
			t.Kind = columnar.Binary
		}
	case !a.IsText() || !b.IsText():
		return t, nil, concatError(f, args)
	case a.Kind == columnar.Char && b.Kind == columnar.Char:
		t.Kind = columnar.Char
	}
	return withNull(t, args), args, nil
}

func concatError(f *function, args []Expr) error {
	for _, a := range args {
		if !a.Type().IsText() {
			return argError(f, args, "write CAST("+String(a)+" AS STRING); numbers do not turn into text by themselves")
		}
	}
	return argError(f, args, "write strings on both sides")
}

func separatorDecides(args []Expr) columnar.DataType {
	return withNull(columnar.StringType(), args[:1])
}

func nullableVarying(args []Expr) columnar.DataType { return varyingFirst(args).AsNullable() }

func overlayType(args []Expr) columnar.DataType {
	n := sumLength(args[0].Type().Length, args[1].Type().Length)
	return withNull(columnar.DataType{Kind: columnar.VarChar, Length: n}, args)
}

func concatLoop() loop {
	return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		start := len(out.arena)
		for _, v := range in {
			out.arena = append(out.arena, v.strs[i]...)
		}
		return out.since(start), true
	})
}

// concatWithSeparator skips NULLs among the values; a NULL separator gives NULL.
func concatWithSeparator() loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in[0])
		for i := range d {
			start, first := len(out.arena), true
			for _, v := range in[1:] {
				if v.valid != nil && !v.valid[i] {
					continue
				}
				if !first {
					out.arena = append(out.arena, in[0].strs[i]...)
				}
				out.arena = append(out.arena, v.strs[i]...)
				first = false
			}
			d[i] = out.since(start)
		}
		return nil
	}
}

// caseLoop maps letters; text without a letter from low to high and without
// characters beyond ASCII is not copied.
func caseLoop(change func(rune) rune, low, high byte) loop {
	return textLoop(func(out *scratch, s string) (string, bool) {
		i := 0
		for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < low || s[i] > high) {
			i++
		}
		if i == len(s) {
			return s, true
		}
		start := len(out.arena)
		for _, r := range s {
			if r < utf8.RuneSelf {
				if c := byte(r); c >= low && c <= high {
					r ^= 0x20
				}
				out.arena = append(out.arena, byte(r))
				continue
			}
			out.arena = utf8.AppendRune(out.arena, change(r))
		}
		return out.since(start), true
	})
}

func initCap(out *scratch, s string) (string, bool) {
	start, inWord := len(out.arena), false
	for _, r := range s {
		if inWord {
			out.arena = utf8.AppendRune(out.arena, unicode.ToLower(r))
		} else {
			out.arena = utf8.AppendRune(out.arena, unicode.ToUpper(r))
		}
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return out.since(start), true
}

func trimLoop(left, right bool) loop {
	return textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
		s, set := in[0].strs[i], " "
		if len(in) > 1 {
			set = in[1].strs[i]
		}
		if left {
			s = strings.TrimLeft(s, set)
		}
		if right {
			s = strings.TrimRight(s, set)
		}
		return s, true
	})
}

func substringLoop() loop {
	return textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
		length := columnar.MaxLength
		if len(in) > 2 {
			if length = intAt(in[2], i); length < 0 {
				return "", false
			}
		}
		return substring(in[0].strs[i], intAt(in[1], i), length), true
	})
}

// substring counts characters from 1; 0 is 1, a negative start counts from the end.
func substring(s string, start, length int) string {
	switch {
	case start > 0:
		start--
	case start < 0:
		start += utf8.RuneCountInString(s)
		if start < 0 {
			length += start
			start = 0
		}
	}
	if length <= 0 {
		return ""
	}
	s = s[len(prefixRunes(s, start)):]
	return prefixRunes(s, length)
}

func padLoop(left bool) loop {
	return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		s, n, pad := in[0].strs[i], intAt(in[1], i), in[2].strs[i]
		missing := n - utf8.RuneCountInString(s)
		switch {
		case n < 0 || pad == "" && missing > 0:
			return "", false
		case missing <= 0:
			return prefixRunes(s, n), true
		}
		start := len(out.arena)
		if !left {
			out.arena = append(out.arena, s...)
		}
		for width := utf8.RuneCountInString(pad); missing > 0; missing -= width {
			out.arena = append(out.arena, prefixRunes(pad, missing)...)
		}
		if left {
			out.arena = append(out.arena, s...)
		}
		return out.since(start), true
	})
}

func replaceAll(out *scratch, s, from, to string) string {
	if from == "" || !strings.Contains(s, from) {
		return s
	}
	start := len(out.arena)
	for {
		i := strings.Index(s, from)
		if i < 0 {
			out.arena = append(out.arena, s...)
			return out.since(start)
		}
		out.arena = append(out.arena, s[:i]...)
		out.arena = append(out.arena, to...)
		s = s[i+len(from):]
	}
}

func reverse(out *scratch, s string) (string, bool) {
	start := len(out.arena)
	for s != "" {
		_, size := utf8.DecodeLastRuneInString(s)
		out.arena = append(out.arena, s[len(s)-size:]...)
		s = s[:len(s)-size]
	}
	return out.since(start), true
}

func overlayLoop() loop {
	return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		s, with, start := in[0].strs[i], in[1].strs[i], intAt(in[2], i)
		length := utf8.RuneCountInString(with)
		if len(in) > 3 {
			length = intAt(in[3], i)
		}
		if start < 1 || start > utf8.RuneCountInString(s) {
			return s, true
		}
		from := len(out.arena)
		head := prefixRunes(s, start-1)
		out.arena = append(out.arena, head...)
		out.arena = append(out.arena, with...)
		rest := s[len(head):]
		out.arena = append(out.arena, rest[len(prefixRunes(rest, max(length, 0))):]...)
		return out.since(from), true
	})
}

// splitIndex gives part i, counted from 0.
func splitIndex(s, sep string, i int) (string, bool) {
	if i < 0 || s == "" || sep == "" {
		return "", false
	}
	for ; ; i-- {
		part, rest, more := strings.Cut(s, sep)
		if i == 0 {
			return part, true
		}
		if !more {
			return "", false
		}
		s = rest
	}
}

func intOfText(op func(string) int) func(*compiler, *callExpr) (node, error) {
	return building(func() loop {
		return fixedRows(func(in []*vector, i int) (int32, bool) { return int32(op(in[0].strs[i])), true })
	})
}

// positionOf finds argument part in argument whole, counted in characters from 1; 0 is not found.
func positionOf(part, whole int) func(*compiler, *callExpr) (node, error) {
	return building(func() loop {
		return fixedRows(func(in []*vector, i int) (int32, bool) {
			s, from := in[whole].strs[i], 1
			if len(in) > 2 {
				from = intAt(in[2], i)
			}
			if from < 1 {
				return 0, true
			}
			skipped := prefixRunes(s, from-1)
			at := strings.Index(s[len(skipped):], in[part].strs[i])
			if at < 0 || utf8.RuneCountInString(skipped) < from-1 {
				return 0, true
			}
			return int32(utf8.RuneCountInString(s[:len(skipped)+at]) + 1), true
		})
	})
}
