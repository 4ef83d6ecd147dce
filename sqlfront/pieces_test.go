package sqlfront_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/sqlfront"
)

func TestFinished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"  -- nothing", false},
		{"SELECT 1", false},
		{"SELECT 1;", true},
		{"SELECT 1;  -- done", true},
		{"SELECT 1; SELECT 2", false},
		{"SELECT ';", false},
		{"SELECT 'a;b'", false},
		{"SELECT 'a;\nb';", true},
		{"SELECT `a;", false},
		{"SELECT 1; /* more", false},
		{"SELECT 1; /* more */", true},
		{"SELECT * FROM t /*+ OPTIONS('a'='b');", false},
		{"SELECT * FROM t /*+ OPTIONS('a'='b') */;", true},
		{"SELECT == 1;", true}, // wrong, but whole: the parser says what is wrong
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", false},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2;", false},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", true},
		{"BEGIN STATEMENT SET;", false},
		{"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;", true},
		{"begin statement set; insert into a select CASE WHEN b THEN 1 END;", false},
		{"EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; END; SELECT 1;", true},
	} {
		if got := sqlfront.Finished(c.text); got != c.want {
			t.Errorf("Finished(%q) = %v", c.text, got)
		}
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	kinds := []string{"space", "comment", "keyword", "name", "string", "number", "operator", "hint"}
	var got []string
	text := "SELECT a, `b` /* c */ FROM t /*+ OPTIONS('k'='v') */ WHERE x >= 1.5 -- end\n;"
	for _, p := range sqlfront.Pieces(text) {
		if p.Kind != sqlfront.Space {
			got = append(got, kinds[p.Kind]+" "+strings.TrimSpace(text[p.Start:p.End]))
		}
	}
	want := []string{
		"keyword SELECT", "name a", "operator ,", "name `b`", "comment /* c */", "keyword FROM", "name t", "hint /*+", "name OPTIONS",
		"operator (", "string 'k'", "operator =", "string 'v'", "operator )", "hint */", "keyword WHERE", "name x", "operator >=",
		"number 1.5", "comment -- end", "operator ;",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPiecesCoverTheText holds for any text: editors colour what they are given.
func TestPiecesCoverTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"SELECT", "'", "`", "\"", "/*", "*/", "/*+", "--", "\n", ";", "x'0a", "1e", "é", "SET", "=", " ", "//", "\xff", "${A}"})).Draw(t, "words")
		text := strings.Join(words, "")
		at := 0
		for _, p := range sqlfront.Pieces(text) {
			if p.Start != at || p.End < p.Start {
				t.Fatalf("%q: piece at %d to %d, want one from %d", text, p.Start, p.End, at)
			}
			at = p.End
		}
		if at != len(text) {
			t.Fatalf("%q: pieces end at %d of %d", text, at, len(text))
		}
		_ = sqlfront.Finished(text)
	})
}
