package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/expr"
	"leat/internal/procedure"
	"leat/internal/query"
	"leat/sqlfront"
)

// proposals are what may stand where the cursor is, in place of prefix.
type proposals struct {
	// prefix is the part of the word that is there already.
	prefix string
	words  []string
	// what they are, for the heading of a menu.
	what string
}

// lookupTime is how long completion waits for the names of a catalog.
const lookupTime = 500 * time.Millisecond

// complete proposes words for the end of a text.
func complete(ctx context.Context, names Names, text string) proposals {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	n := lookup{ctx: ctx, names: names}
	if trimmed := strings.TrimLeft(text, " \t\n"); strings.HasPrefix(trimmed, `\`) {
		return n.forCommand(trimmed)
	}
	st := lastStatement(text)
	if at := st.openString(); at >= 0 {
		return st.forString(at)
	}
	return n.forWord(st)
}

// pieces are the pieces of one statement without space and comments.
type pieces struct {
	text string
	list []sqlfront.Piece
}

func lastStatement(text string) pieces {
	st := pieces{text: text}
	for _, p := range sqlfront.Pieces(text) {
		switch {
		case p.Kind == sqlfront.Space || p.Kind == sqlfront.Comment:
		case text[p.Start:p.End] == ";":
			st.list = nil
		default:
			st.list = append(st.list, p)
		}
	}
	return st
}

// word gives piece i, from the end if i is negative; "" if there is none.
func (s pieces) word(i int) string {
	if i < 0 {
		i += len(s.list)
	}
	if i < 0 || i >= len(s.list) {
		return ""
	}
	return s.text[s.list[i].Start:s.list[i].End]
}

// openString gives the piece that is a string without its end, or -1.
func (s pieces) openString() int {
	for i, p := range s.list {
		piece := s.text[p.Start:p.End]
		if p.Kind == sqlfront.String && strings.HasPrefix(piece, "'") && (len(piece) == 1 || !strings.HasSuffix(piece, "'")) {
			return i
		}
	}
	return -1
}

// forString completes keys and values of options.
func (s pieces) forString(at int) proposals {
	prefix := strings.TrimPrefix(s.word(at), "'")
	set := configs.LakeTable
	switch strings.ToUpper(s.word(0)) {
	case "SET", "RESET":
		set = configs.Session
	case "CREATE":
		if strings.EqualFold(s.word(1), "CATALOG") {
			set = configs.Catalog
		}
	}
	if at > 0 && s.word(at-1) == "=" {
		def, ok := set.Find(strings.Trim(s.word(at-2), "'"))
		if !ok {
			return proposals{}
		}
		words := def.Enum
		if def.Type == "Boolean" {
			words = []string{"true", "false"}
		}
		return propose("values", prefix, words)
	}
	var keys []string
	for _, d := range set.Defs() {
		keys = append(keys, d.Key)
	}
	return propose("options", prefix, keys)
}

// propose keeps the words that begin with prefix, in the case it was written in.
func propose(what, prefix string, words []string) proposals {
	p := proposals{prefix: prefix, what: what}
	for _, w := range words {
		if bare := strings.TrimPrefix(w, "`"); len(bare) >= len(prefix) && strings.EqualFold(bare[:len(prefix)], prefix) || strings.HasPrefix(w, prefix) {
			p.words = append(p.words, w)
		}
	}
	slices.Sort(p.words)
	p.words = slices.Compact(p.words)
	return p
}

// lookup asks for names as long as ctx lets it.
type lookup struct {
	ctx   context.Context
	names Names
}

func (n lookup) forCommand(text string) proposals {
	name, arg, ok := strings.Cut(text, " ")
	if !ok {
		var words []string
		for _, k := range commands() {
			words = append(words, k.name)
		}
		return propose("commands", name, words)
	}
	catalog, db := n.names.Current()
	switch name {
	case `\c`:
		return propose("databases", arg, n.databases(catalog))
	case `\d`:
		return propose("tables", arg, n.tables(catalog, db))
	case `\o`:
		return propose("formats", arg, query.Formats)
	case `\x`, `\timing`:
		return propose("settings", arg, []string{"on", "off"})
	}
	return proposals{}
}

func (n lookup) databases(catalog string) []string {
	names, err := n.names.Databases(n.ctx, catalog)
	return written(names, err)
}

func (n lookup) tables(catalog, database string) []string {
	names, err := n.names.Tables(n.ctx, catalog, database)
	return written(names, err)
}

// written gives names as statements write them; none after an error, which the
// statement itself will meet.
func written(names []string, err error) []string {
	if err != nil {
		return nil
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = sqlfront.QuoteName(name)
	}
	return out
}

// takesTable are the words behind which a table is named.
var takesTable = []string{"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "DESCRIBE", "DESC", "COLUMNS", "PARTITIONS", "EXTENDED", "EXISTS"}

// forWord completes a name or a keyword.
func (n lookup) forWord(st pieces) proposals {
	prefix := ""
	if k := len(st.list); k > 0 && st.list[k-1].End == len(st.text) {
		if kind := st.list[k-1].Kind; kind == sqlfront.Identifier || kind == sqlfront.Keyword {
			prefix, st.list = st.word(-1), st.list[:k-1]
		}
	}
	var path []string
	for st.word(-1) == "." && len(st.list) > 1 {
		path = append([]string{strings.Trim(st.word(-2), "`")}, path...)
		st.list = st.list[:len(st.list)-2]
	}
	before := strings.ToUpper(st.word(-1))
	switch {
	case len(st.list) == 0:
		return keywords(prefix, starters)
	case before == "USE":
		return propose("databases", prefix, n.databasesOf(path))
	case before == "CATALOG" && strings.EqualFold(st.word(0), "USE"):
		return propose("catalogs", prefix, n.names.Catalogs())
	case before == "CALL":
		return propose("procedures", prefix, n.procedures(path))
	case slices.Contains(takesTable, before):
		p := propose("tables", prefix, n.tablesOf(path))
		if len(path) == 0 && len(p.words) == 0 {
			return keywords(prefix, followers)
		}
		return p
	case len(path) > 0:
		return propose("columns", prefix, n.columns(st, path[len(path)-1]))
	}
	p := propose("columns", prefix, n.columns(st, ""))
	if prefix == "" {
		return p
	}
	k := keywords(prefix, append(slices.Clone(followers), expr.Functions()...))
	p.words, p.what = append(p.words, k.words...), "columns, keywords and functions"
	return p
}

// databasesOf lists databases, and catalogs where one may stand in front.
func (n lookup) databasesOf(path []string) []string {
	if len(path) > 0 {
		return n.databases(path[0])
	}
	catalog, _ := n.names.Current()
	return append(n.databases(catalog), n.names.Catalogs()...)
}

// tablesOf lists the tables of a database, and what may stand in front of them.
func (n lookup) tablesOf(path []string) []string {
	catalog, db := n.names.Current()
	switch len(path) {
	case 0:
		return slices.Concat(n.tables(catalog, db), n.databases(catalog), n.names.Catalogs())
	case 1:
		return append(n.tables(catalog, path[0]), n.databases(path[0])...)
	default:
		return n.tables(path[0], path[1])
	}
}

func (n lookup) procedures(path []string) []string {
	if len(path) > 0 {
		return procedure.Names()
	}
	return []string{"sys"}
}

// columns lists the columns of the tables that a statement names behind FROM and
// its like: of all of them, or of the one with this name or alias.
func (n lookup) columns(st pieces, of string) []string {
	catalog, db := n.names.Current()
	var out []string
	for i := range st.list {
		if !slices.Contains(takesTable, strings.ToUpper(st.word(i))) {
			continue
		}
		parts, next := []string{strings.Trim(st.word(i+1), "`")}, i+2
		for st.word(next) == "." && next+1 < len(st.list) {
			parts, next = append(parts, strings.Trim(st.word(next+1), "`")), next+2
		}
		if strings.EqualFold(st.word(next), "AS") {
			next++
		}
		if next < len(st.list) && of != "" && of != parts[len(parts)-1] && of != strings.Trim(st.word(next), "`") {
			continue
		}
		full := slices.Concat([]string{catalog, db}[:max(3-len(parts), 0)], parts)
		if len(full) == 3 {
			out = append(out, written(n.names.Columns(n.ctx, full[0], full[1], full[2]), nil)...)
		}
	}
	return out
}

// starters are the words that statements begin with, followers others.
var (
	starters  = strings.Fields("ALTER ANALYZE BEGIN CALL CREATE DELETE DESCRIBE DROP EXECUTE EXPLAIN INSERT QUIT RESET SELECT SET SHOW STOP TRUNCATE UPDATE USE WITH")
	followers = strings.Fields(`ADD AFTER ALL AND AS ASC BETWEEN BY CASE CAST CATALOG CATALOGS COLUMN COLUMNS COMMENT CREATE CURRENT DATABASE DATABASES DESC
DISTINCT DROP ELSE END ENFORCED EXISTS FIRST FOR FROM FULL FUNCTIONS GROUP HAVING IF IN INNER INTERVAL INTO IS JOB JOBS JOIN KEY LEFT LIKE LIMIT MODIFY
NOT NULL OF OFFSET ON OPTIONS OR ORDER OVERWRITE PARTITION PARTITIONED PARTITIONS PRIMARY PROCEDURES RENAME SAVEPOINT SET STATEMENT SYSTEM_TIME TABLE
TABLES TEMPORARY THEN TIMESTAMP TO TRY_CAST UNION VALUES VIEW VIEWS WHEN WHERE WITH`)
)

// keywords proposes words in the case of the prefix.
func keywords(prefix string, words []string) proposals {
	p := propose("keywords", prefix, words)
	if prefix != "" && prefix == strings.ToLower(prefix) {
		for i := range p.words {
			p.words[i] = strings.ToLower(p.words[i])
		}
	}
	return p
}
