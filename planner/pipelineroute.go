package planner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"leat/configs"
	"leat/internal/expr"
	"leat/sqlfront"
)

// route sends tables to copies of other names.
type route struct {
	match *regexp.Regexp
	// to is database.table; symbol, if not empty, stands for the name of the source
	// table in it, and $1 else for a group of the pattern.
	to, symbol string
	at         *yaml.Node
	used       bool
}

var routeKeys = []string{"source-table", "sink-table", "replace-symbol", "description"}

func (p *pipeline) readRoutes(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "route is no list", "write each rule as - source-table: …")
		return
	}
	for _, e := range n.Content {
		r := route{at: e}
		var to *yaml.Node
		for _, kv := range p.pairs(e, "a rule of route") {
			switch kv.key.Value {
			case "source-table":
				r.match = p.selectorPattern(kv.value)
			case "sink-table":
				r.to, to = p.text(kv.value), kv.value
			case "replace-symbol":
				r.symbol = p.text(kv.value)
			case "description":
			default:
				p.unknown(kv.key, "a rule of route", routeKeys)
			}
		}
		if r.match == nil || r.to == "" {
			p.fail(e, "a rule of route needs source-table and sink-table", "add what is missing")
			continue
		}
		if r.symbol != "" && groupSign.MatchString(r.to) {
			p.fail(to, "replace-symbol and $1 do not go together", "leave one of the two out")
		}
		if db, table, ok := strings.Cut(r.to, "."); !ok || db == "" || table == "" {
			p.fail(to, fmt.Sprintf("'%s' is not database.table", r.to), "write database.table")
		}
		for _, g := range groupSign.FindAllStringSubmatch(r.to, -1) {
			if n, err := strconv.Atoi(g[1]); err != nil || n > r.match.NumSubexp() {
				p.fail(to, fmt.Sprintf("source-table has no group for %s", g[0]), "put brackets around what it stands for: a.(t_\\.*)")
			}
		}
		p.routes = append(p.routes, &r)
	}
}

var groupSign = regexp.MustCompile(`\$(\d+)`)

// selectorPattern compiles a list of patterns to one for database.table.
func (p *pipeline) selectorPattern(n *yaml.Node) *regexp.Regexp {
	var parts []string
	for _, text := range splitOutside(p.text(n), ',') {
		db, table, err := selector(text)
		if err != nil {
			p.fail(n, err.Error(), `write database.table, with \. for a dot of an expression: app.\.*`)
			return nil
		}
		parts = append(parts, "(?:"+db+`)\.(?:`+table+")")
	}
	re, err := regexp.Compile("^(?:" + strings.Join(parts, "|") + ")$")
	if err != nil {
		p.fail(n, "this is no regular expression that leat reads: "+err.Error(), "write an expression without look-ahead and back references")
		return nil
	}
	return re
}

// copies gives the names of the copies of a table.
func (p *pipeline) copies(database, table string) []CopyName {
	var out []CopyName
	id := database + "." + table
	for _, r := range p.routes {
		m := r.match.FindStringSubmatchIndex(id)
		if m == nil {
			continue
		}
		r.used = true
		to := r.to
		if r.symbol != "" {
			to = strings.ReplaceAll(to, r.symbol, table)
		} else {
			to = string(r.match.ExpandString(nil, groupSign.ReplaceAllString(to, "$${$1}"), id, m))
		}
		db, name, _ := strings.Cut(to, ".")
		out = append(out, CopyName{db, name})
		if p.first {
			break
		}
	}
	if len(out) == 0 {
		return []CopyName{{database, table}}
	}
	return out
}

// transformRule is what becomes of the rows of some tables.
type transformRule struct {
	match *regexp.Regexp
	rules copyRules
	at    *yaml.Node
	used  bool
}

var transformKeys = []string{
	"source-table", "projection", "filter", "primary-keys", "partition-keys", "table-options", "table-options.delimiter", "converter-after-transform", "description",
}

func (p *pipeline) readTransforms(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "transform is no list", "write each rule as - source-table: …")
		return
	}
	for _, e := range n.Content {
		r := transformRule{at: e, rules: copyRules{strict: true, replaces: true, aliases: p.aliases()}}
		delimiter, options := ",", (*yaml.Node)(nil)
		for _, kv := range p.pairs(e, "a rule of transform") {
			switch kv.key.Value {
			case "source-table":
				r.match = p.selectorPattern(kv.value)
			case "projection":
				r.rules.items = p.projection(kv.value)
			case "filter":
				r.rules.filter = p.filter(kv.value)
			case "primary-keys":
				r.rules.primaryKeys, r.rules.primaryAt = p.list(kv.value), p.pos(kv.value)
			case "partition-keys":
				r.rules.partitionKeys, r.rules.partitionAt = p.list(kv.value), p.pos(kv.value)
			case "table-options":
				options = kv.value
			case "table-options.delimiter":
				delimiter = p.text(kv.value)
			case "converter-after-transform":
				r.rules.softDelete = p.word(kv.value, "SOFT_DELETE") == "SOFT_DELETE"
			case "description":
			default:
				p.unknown(kv.key, "a rule of transform", transformKeys)
			}
		}
		if r.match == nil {
			p.fail(e, "a rule of transform needs source-table", "add it")
			continue
		}
		if options != nil {
			r.rules.options = p.tableOptions(options, delimiter)
		}
		p.rules = append(p.rules, r)
	}
}

func (p *pipeline) tableOptions(n *yaml.Node, delimiter string) configs.Values {
	v := configs.Values{}
	for part := range strings.SplitSeq(p.text(n), delimiter) {
		k, text, ok := strings.Cut(part, "=")
		if !ok {
			p.fail(n, fmt.Sprintf("'%s' is no key=value", part), "write key=value, several by commas or by table-options.delimiter")
			continue
		}
		v[strings.TrimSpace(k)] = configs.Value{Text: strings.TrimSpace(text), KeyPos: p.pos(n), Pos: p.pos(n)}
	}
	_, errs := configs.LakeTable.Check(v, configs.CheckOptions{})
	p.errs = append(p.errs, errs...)
	return v
}

// aliases are the names of metadata in expressions.
func (p *pipeline) aliases() map[string]string {
	out := map[string]string{"__schema_name__": "database_name", "__table_name__": "table_name", "__data_event_type__": "row_kind"}
	for _, m := range p.metadata {
		out[m] = m
	}
	return out
}

// rulesOf gives the first rule that matches a table.
func (p *pipeline) rulesOf(_ *Session, database, table string) (*copyRules, error) {
	rules := copyRules{strict: true}
	for i := range p.rules {
		if p.rules[i].match.MatchString(database + "." + table) {
			rules, p.rules[i].used = p.rules[i].rules, true
			break
		}
	}
	if len(rules.partitionKeys) == 0 {
		for _, to := range p.copies(database, table) {
			if k := p.partitions[to.Database+"."+to.Table]; k != nil {
				rules.partitionKeys, rules.partitionAt, k.used = k.columns, p.pos(k.at), true
			}
		}
	}
	return &rules, nil
}

// partitionKeys are those that partition.key gives a copy.
type partitionKeys struct {
	columns []string
	at      *yaml.Node
	used    bool
}

// unused tells of rules that no table has met: names may be misspelt. Tables that
// come later may still meet them.
func (p *pipeline) unused() {
	for _, r := range p.routes {
		if !r.used {
			p.notice(r.at, "this rule of route matches no table so far")
		}
	}
	for i := range p.rules {
		if !p.rules[i].used {
			p.notice(p.rules[i].at, "this rule of transform matches no table so far, or one before it does")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.partitions)) {
		if k := p.partitions[name]; !k.used {
			p.notice(k.at, fmt.Sprintf("partition.key: no copy is called %s so far", name))
		}
	}
}

// projection reads a select list.
func (p *pipeline) projection(n *yaml.Node) []copyItem {
	text := strings.ReplaceAll(p.text(n), `\*`, "*")
	sel, err := parseSelect("projection", "SELECT "+text+" FROM t", nil)
	if err != nil {
		p.expressionError(n, err)
		return nil
	}
	var out []copyItem
	for _, it := range sel.Items {
		if _, star := it.Expr.(*sqlfront.Star); star {
			out = append(out, copyItem{star: true})
			continue
		}
		c := &copyColumn{name: it.Alias.Text, at: p.pos(n)}
		if id, ok := it.Expr.(*sqlfront.Ident); ok {
			c.text = id.String()
			if c.name == "" {
				c.name = id.Parts[len(id.Parts)-1].Text
			}
		}
		if c.name == "" {
			p.fail(n, "an expression of the projection has no name", "write expression AS name")
			continue
		}
		if c.text == "" {
			c.text = sqlfront.FormatExpr(it.Expr)
		}
		c.bind = p.binder(n, it.Expr)
		out = append(out, copyItem{column: c})
	}
	return out
}

func (p *pipeline) filter(n *yaml.Node) *copyColumn {
	x, err := parseExpression("filter", p.text(n), nil)
	if err != nil {
		p.expressionError(n, err)
		return nil
	}
	return &copyColumn{name: "filter", text: p.text(n), at: p.pos(n), bind: p.binder(n, x)}
}

// binder binds an expression of a pipeline; its errors are at the value.
func (p *pipeline) binder(n *yaml.Node, x sqlfront.Expr) func(*Session, *scope) (expr.Expr, error) {
	x, changed := pipelineExpr(x)
	if changed {
		p.notice(n, "expressions of pipelines are read by their own rules: comparisons with NULL are FALSE, LIKE looks for a regular expression inside the text")
	}
	at := p.pos(n)
	return func(s *Session, sc *scope) (expr.Expr, error) {
		e, err := s.bindExpr(x, sc)
		if err == nil {
			return e, nil
		}
		return nil, repositioned(err, at)
	}
}

func (p *pipeline) expressionError(n *yaml.Node, err error) {
	p.errs.Add(repositioned(err, p.pos(n)))
}
