package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
)

// BuildPipeline plans a pipeline file of Flink CDC: blocks source, sink, route,
// transform and pipeline. ${NAME} in a value is looked up by vars. The error is a
// diag.List with everything found.
func BuildPipeline(ctx context.Context, file, text string, vars func(string) (string, bool), env Env) (*Result, error) {
	merge := true // as routes do
	p := &pipeline{file: file, vars: vars, spec: SyncSpec{Connector: "mysql-cdc", Options: configs.Values{}, TableOptions: configs.Values{}, stateByCopy: true, MergeShards: &merge}}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeParse, Pos: p.yamlPos(err), Msg: "this is no YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), Hint: "correct the file; blocks are indented by spaces"}
	}
	p.read(&root)
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	env.Settings = p.settings(env.Settings)
	if env.Warehouse == "" {
		env.Warehouse = p.warehouse
	}
	if env.Warehouse == "" {
		p.fail(root.Content[0], "the sink has no warehouse", "add catalog.properties.warehouse to sink, or --warehouse DIR")
		return nil, p.errs
	}
	r, err := planStored(ctx, p.spec, env)
	if err != nil {
		return nil, placedIn(err, p.file)
	}
	if p.behavior == "exception" || p.behavior == "evolve" {
		r.Replan = nil // what cannot be carried ends the job
	}
	p.unused()
	r.Notices = append(p.notices, r.Notices...)
	return r, nil
}

// placedIn names the file in errors that have no place.
func placedIn(err error, file string) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Pos.IsZero() && e.Pos.File == "" {
			e.Pos.File = file
		}
	}
	return l
}

// pipeline is a pipeline file being read.
type pipeline struct {
	file      string
	vars      func(string) (string, bool)
	spec      SyncSpec
	errs      diag.List
	notices   []configs.Notice
	warehouse string
	// given are session settings by key.
	given    configs.Values
	behavior string
	routes   []*route
	first    bool
	rules    []transformRule
	// partitions are partition.key by the name of the copy.
	partitions map[string]*partitionKeys
	metadata   []string
	// asksNew says that an option of the source asks for tables that come.
	asksNew bool
	// include and exclude are the lists of schema changes; nil is not given.
	include, exclude []string
}

func (p *pipeline) yamlPos(err error) diag.Pos {
	pos := diag.Pos{File: p.file}
	if _, rest, ok := strings.Cut(err.Error(), "line "); ok {
		if _, serr := fmt.Sscanf(rest, "%d", &pos.Line); serr == nil {
			pos.Col = 1
		}
	}
	return pos
}

func (p *pipeline) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: p.file, Line: n.Line, Col: n.Column, Len: len([]rune(n.Value))}
}

func (p *pipeline) fail(n *yaml.Node, msg, hint string) {
	p.failCode(n, diag.CodeBadOption, msg, hint)
}

func (p *pipeline) failCode(n *yaml.Node, code diag.Code, msg, hint string) {
	p.errs = append(p.errs, &diag.Error{Domain: diag.User, Code: code, Pos: p.pos(n), Msg: msg, Hint: hint})
}

func (p *pipeline) notice(n *yaml.Node, msg string) {
	p.notices = append(p.notices, configs.Notice{Pos: p.pos(n), Key: msg, Msg: msg})
}

// pair is one key of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs gives the keys of a mapping; what is none is refused.
func (p *pipeline) pairs(n *yaml.Node, what string) []pair {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n, what+" is no mapping of keys to values", "write key: value lines below it")
		return nil
	}
	var out []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if seen[k.Value] {
			p.fail(k, fmt.Sprintf("%s has '%s' twice", what, k.Value), "leave one of the two out")
		}
		seen[k.Value] = true
		out = append(out, pair{k, n.Content[i+1]})
	}
	return out
}

// text gives a scalar with its variables put in.
func (p *pipeline) text(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		p.fail(n, "this is no single value", "write it on the line of its key")
		return ""
	}
	out, rest := "", n.Value
	for {
		before, after, found := strings.Cut(rest, "${")
		if strings.HasSuffix(before, "$") && found {
			out, rest = out+strings.TrimSuffix(before, "$")+"${", after
			continue
		}
		out += before
		if !found {
			return strings.TrimSpace(out)
		}
		name, tail, closed := strings.Cut(after, "}")
		v, ok := p.vars(name)
		if !closed || !ok {
			p.fail(n, fmt.Sprintf("the variable '%s' is not set", name), "set it in the environment, or by --var "+name+"=…")
			return ""
		}
		out, rest = out+v, tail
	}
}

// list gives the elements of a sequence, or the parts of a text by commas.
func (p *pipeline) list(n *yaml.Node) []string {
	var out []string
	if n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			out = append(out, p.text(e))
		}
		return out
	}
	for part := range strings.SplitSeq(strings.Trim(p.text(n), "[]"), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// unknown refuses a key and says which one may be meant.
func (p *pipeline) unknown(k *yaml.Node, what string, known []string) {
	hint := "leave it out; the keys are " + strings.Join(known, ", ")
	if near := configs.Nearest(k.Value, known); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	p.failCode(k, diag.CodeUnknownOption, fmt.Sprintf("%s has no key '%s'", what, k.Value), hint)
}

var pipelineBlocks = []string{"source", "sink", "route", "transform", "pipeline"}

func (p *pipeline) read(root *yaml.Node) {
	if len(root.Content) == 0 {
		p.errs = append(p.errs, &diag.Error{Domain: diag.User, Code: diag.CodeParse, Pos: diag.Pos{File: p.file}, Msg: "the pipeline is empty", Hint: "write the blocks source, sink and pipeline"})
		return
	}
	blocks := map[string]*yaml.Node{}
	for _, b := range p.pairs(root.Content[0], "the pipeline") {
		if !slices.Contains(pipelineBlocks, b.key.Value) {
			p.unknown(b.key, "the pipeline", pipelineBlocks)
			continue
		}
		blocks[b.key.Value] = b.value
	}
	for _, name := range []string{"source", "sink", "pipeline"} {
		if n := blocks[name]; n == nil || n.Kind == yaml.ScalarNode && n.Value == "" {
			p.fail(root.Content[0], "the block "+name+" is missing or empty", "add it")
			return
		}
	}
	p.readPipeline(blocks["pipeline"])
	p.readSource(blocks["source"])
	p.readSink(blocks["sink"])
	if n := blocks["route"]; n != nil {
		p.readRoutes(n)
	}
	if n := blocks["transform"]; n != nil {
		p.readTransforms(n)
	}
	p.evolution()
	p.spec.Copies = p.copies
	p.spec.rules = p.rulesOf
}

// readSource takes the options of a mysql-cdc table, and those of a source of pipelines.
func (p *pipeline) readSource(n *yaml.Node) {
	typed := false
	newTables := configs.Value{}
	for _, kv := range p.pairs(n, "source") {
		switch k := kv.key.Value; k {
		case "type":
			if typed = true; p.text(kv.value) != "mysql" {
				p.fail(kv.value, fmt.Sprintf("leat has no source of type '%s'", p.text(kv.value)), "write type: mysql; others need Flink CDC")
			}
		case "name":
		case "tables":
			p.spec.Include = p.patterns(kv.value)
		case "tables.exclude":
			p.spec.Exclude = p.patterns(kv.value)
		case "schema-change.enabled":
			if !p.truth(kv.value, true) {
				p.behavior = "ignore"
			}
		case "scan.binlog.newly-added-table.enabled":
			if p.truth(kv.value, false) {
				p.asksNew = true
				p.notice(kv.key, "tables that come are read with the rows that they have, not from the binlog alone")
			}
		case "include-comments.enabled":
			if !p.truth(kv.value, false) {
				p.notice(kv.key, "comments are carried in any case")
			}
		case "treat-tinyint1-as-boolean.enabled":
			if !p.truth(kv.value, true) {
				p.spec.Evolution.TypeModes = append(p.spec.Evolution.TypeModes, "tinyint1-not-bool")
			}
		case "metadata.list":
			for _, name := range p.list(kv.value) {
				if _, ok := metadataTypes[name]; !ok {
					p.fail(kv.value, fmt.Sprintf("leat has no metadata '%s'", name), "name op_ts, table_name, database_name or row_kind")
				}
				p.metadata = append(p.metadata, name)
			}
		case "scan.incremental.snapshot.chunk.key-column":
			p.chunkKeys(kv.value)
		case "database-name", "table-name", "connector":
			p.fail(kv.key, fmt.Sprintf("source has no key '%s'", k), "name tables by tables: database.table")
		case "scan.newly-added-table.enabled":
			newTables = configs.Value{Text: p.text(kv.value), KeyPos: p.pos(kv.key), Pos: p.pos(kv.value)}
			p.asksNew = p.truth(kv.value, true) || p.asksNew
			p.spec.NoNewTables = newTables.Text == "false"
			p.spec.Options[k] = newTables
		default:
			p.spec.Options[k] = configs.Value{Text: p.text(kv.value), KeyPos: p.pos(kv.key), Pos: p.pos(kv.value)}
		}
	}
	if !typed {
		p.fail(n, "source has no type", "add type: mysql")
	}
	if len(p.spec.Include) == 0 && len(p.errs) == 0 {
		p.fail(n, "source names no tables", "add tables: database.table")
	}
	// What Flink CDC's pipelines make of the types.
	p.spec.Evolution.TypeModes = append(p.spec.Evolution.TypeModes, "timestamp-ltz", "float-length-double")
}

// chunkKeys reads database.table:column;…, which pipelines ask for where a table has
// no primary key.
func (p *pipeline) chunkKeys(n *yaml.Node) {
	for part := range strings.SplitSeq(p.text(n), ";") {
		tables, column, ok := strings.Cut(part, ":")
		if _, _, err := selector(strings.TrimSpace(tables)); !ok || err != nil || strings.TrimSpace(column) == "" {
			p.fail(n, fmt.Sprintf("'%s' is not database.table:column", strings.TrimSpace(part)), `write database.table:column;database.other:column, with \. for a dot of an expression`)
			return
		}
	}
	p.spec.Keyless = KeylessInserts
	p.notice(n, "tables are read in ranges of their primary key, and those without one as a whole")
}

func (p *pipeline) truth(n *yaml.Node, standard bool) bool {
	switch v := strings.ToLower(p.text(n)); v {
	case "true":
		return true
	case "false":
		return false
	default:
		p.fail(n, fmt.Sprintf("'%s' is neither true nor false", v), "write true or false")
		return standard
	}
}

// patterns reads a list of database.table, where a dot in an expression is \. .
func (p *pipeline) patterns(n *yaml.Node) []connect.TablePattern {
	var out []connect.TablePattern
	for _, text := range splitOutside(p.text(n), ',') {
		db, table, err := selector(text)
		if err != nil {
			p.fail(n, err.Error(), `write database.table, with \. for a dot of an expression: app.\.*`)
			continue
		}
		if !strings.ContainsAny(db+table, patternSigns) {
			out = append(out, connect.TablePattern{Database: db, Table: table})
			continue
		}
		re, err := connect.PatternOf(db, table)
		if err != nil {
			p.fail(n, err.Error(), "write a regular expression for whole names, without look-ahead and back references")
			continue
		}
		out = append(out, re)
	}
	return out
}

// selector takes database.table apart; \. is the dot of a regular expression.
func selector(text string) (database, table string, err error) {
	var parts []string
	last := strings.Builder{}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '.':
			last.WriteByte('.')
			i++
		case text[i] == '.':
			parts = append(parts, last.String())
			last.Reset()
		default:
			last.WriteByte(text[i])
		}
	}
	parts = append(parts, last.String())
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return "", "", fmt.Errorf("'%s' is not database.table", text)
	}
	return parts[0], parts[1], nil
}

// splitOutside splits at a sign outside brackets.
func splitOutside(text string, sep byte) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == sep && depth <= 0:
			out, from = append(out, text[from:i]), i+1
		}
	}
	out = append(out, text[from:])
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
