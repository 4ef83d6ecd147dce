package sqlfront

import "strings"

// PieceKind is what a Piece of text is to a reader.
type PieceKind uint8

// The kinds of pieces.
const (
	// Space is white space.
	Space PieceKind = iota
	Comment
	// Keyword is a word that the grammar keeps for itself.
	Keyword
	// Identifier is a name, in backticks or bare.
	Identifier
	String
	Number
	// Operator is an operator, a bracket, a comma or the semicolon.
	Operator
	// HintMark opens or closes a hint.
	HintMark
)

// Piece is a part of a text: bytes Start to End.
type Piece struct {
	Kind       PieceKind
	Start, End int
}

// Pieces cuts a text, which may be unfinished or wrong, into pieces without gaps,
// for editors that colour and complete it.
func Pieces(text string) []Piece {
	l := lex("", text, nil)
	var out []Piece
	at := 0
	gap := func(to int) {
		if to <= at {
			return
		}
		kind := Space
		if strings.TrimSpace(text[at:to]) != "" {
			kind = Comment
		}
		out = append(out, Piece{Kind: kind, Start: at, End: to})
	}
	for i := range l.toks {
		t := &l.toks[i]
		gap(t.start)
		at = max(at, t.end)
		if t.kind != tokEOF {
			out = append(out, Piece{Kind: t.piece(), Start: t.start, End: t.end})
		}
	}
	return out
}

func (t *token) piece() PieceKind {
	switch t.kind {
	case tokWord:
		if reserved[t.up] || opensStatement[t.up] || grammarWord[t.up] {
			return Keyword
		}
		return Identifier
	case tokQuoted:
		return Identifier
	case tokString, tokBinary, tokRaw:
		return String
	case tokNumber:
		return Number
	case tokHintOpen, tokHintClose:
		return HintMark
	default:
		return Operator
	}
}

// Finished reports whether a text ends behind whole statements, so that an
// editor may run it: its last token is a semicolon, or the END; of a statement
// set, and no string, name, comment or hint is open.
func Finished(text string) bool {
	l := lex("", text, nil)
	toks := l.toks[:len(l.toks)-1]
	if len(toks) == 0 || !toks[len(toks)-1].is(";") || l.inHint {
		return false
	}
	for i := range toks {
		if toks[i].bad && toks[i].end == len(text) {
			return false
		}
	}
	if n := len(l.errs); n > 0 {
		last := toks[len(toks)-1]
		if at := l.errs[n-1].Pos; at.Line > last.line || at.Line == last.line && at.Col > last.col {
			return false
		}
	}
	return !openSet(toks)
}

// openSet reports whether the last statement is a statement set without its END.
func openSet(toks []token) bool {
	open, start := false, 0
	for i := range toks {
		if !toks[i].is(";") {
			continue
		}
		if !open {
			open = opensSet(toks[start:i])
		}
		if open && i == start+1 && toks[start].up == "END" {
			open = false
		}
		start = i + 1
	}
	return open
}

// opensSet reports whether a statement begins with BEGIN STATEMENT SET, or holds
// STATEMENT SET BEGIN behind EXECUTE, EXPLAIN or COMPILE.
func opensSet(st []token) bool {
	for i := range st {
		if st[i].up == "STATEMENT" && i+1 < len(st) && st[i+1].up == "SET" {
			return i > 0 && st[i-1].up == "BEGIN" || i+2 < len(st) && st[i+2].up == "BEGIN"
		}
	}
	return false
}
