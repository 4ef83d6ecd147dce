package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"leat/configs"
)

var sinkKeys = []string{"type", "name", "catalog.properties.*", "table.properties.*", "partition.key", "commit.user-prefix", "commit.user", "include.schema.changes", "exclude.schema.changes"}

func (p *pipeline) readSink(n *yaml.Node) {
	typed := false
	for _, kv := range p.pairs(n, "sink") {
		k := kv.key.Value
		value := func() configs.Value {
			return configs.Value{Text: p.text(kv.value), KeyPos: p.pos(kv.key), Pos: p.pos(kv.value)}
		}
		switch {
		case k == "type":
			if typed = true; p.text(kv.value) != "paimon" {
				p.fail(kv.value, fmt.Sprintf("leat has no sink of type '%s' for pipelines", p.text(kv.value)), "write type: paimon; a script with connector 'print' prints rows")
			}
		case k == "name":
		case k == "catalog.properties.warehouse":
			p.warehouse = p.text(kv.value)
		case k == "catalog.properties.metastore":
			if v := p.text(kv.value); v != "filesystem" {
				p.fail(kv.value, fmt.Sprintf("leat has no metastore '%s'", v), "write filesystem, or leave it out")
			}
		case strings.HasPrefix(k, "catalog.properties."):
			opts := configs.Values{"type": {Text: "paimon"}, "warehouse": {Text: "-"}, strings.TrimPrefix(k, "catalog.properties."): value()}
			_, errs := configs.Catalog.Check(opts, configs.CheckOptions{})
			p.errs = append(p.errs, errs...)
		case strings.HasPrefix(k, "table.properties."):
			p.spec.TableOptions[strings.TrimPrefix(k, "table.properties.")] = value()
		case k == "partition.key":
			p.partitions = map[string]*partitionKeys{}
			for one := range strings.SplitSeq(p.text(kv.value), ";") {
				table, keys, ok := strings.Cut(one, ":")
				if !ok && strings.TrimSpace(one) != "" {
					p.fail(kv.value, fmt.Sprintf("'%s' has no 'database.table:'", one), "write database.table:column,column;database.other:column")
				}
				if table = strings.TrimSpace(table); table != "" {
					p.partitions[table] = &partitionKeys{columns: SyncArgs{"": {keys}}.list(""), at: kv.value}
				}
			}
		case k == "commit.user-prefix", k == "commit.user":
			p.notice(kv.key, k+" has no effect: commits carry a user that is stable over restarts, and the name of the job")
		case k == "include.schema.changes":
			p.include = p.changes(kv.value)
		case k == "exclude.schema.changes":
			p.exclude = p.changes(kv.value)
		default:
			p.unknown(kv.key, "sink", sinkKeys)
		}
	}
	if !typed {
		p.fail(n, "sink has no type", "add type: paimon")
	}
}

var schemaChanges = []string{"add.column", "alter.column.type", "create.table", "drop.column", "drop.table", "rename.column", "truncate.table"}

// changes reads a list of kinds of schema changes, each perhaps by its first word.
func (p *pipeline) changes(n *yaml.Node) []string {
	out := []string{}
	for _, name := range p.list(n) {
		found := false
		for _, c := range schemaChanges {
			if c == name || strings.HasPrefix(c, name+".") {
				out, found = append(out, c), true
			}
		}
		if !found {
			p.fail(n, fmt.Sprintf("there is no schema change '%s'", name), "write some of "+strings.Join(schemaChanges, ", "))
		}
	}
	return out
}

var pipelineKeys = []string{
	"name", "parallelism", "local-time-zone", "execution.runtime-mode", "route-mode", "schema.change.behavior", "schema-operator.rpc-timeout",
	"schema.operator.uid", "operator.uid.prefix", "sink.partitioning.strategy", "transform.decimal.precision.mode",
}

func (p *pipeline) readPipeline(n *yaml.Node) {
	p.behavior, p.given = "lenient", configs.Values{}
	set := func(key string, v *yaml.Node) {
		p.given[key] = configs.Value{Text: p.text(v), Pos: p.pos(v)}
	}
	for _, kv := range p.pairs(n, "pipeline") {
		switch k := kv.key.Value; k {
		case "name":
			set(configs.PipelineName.Key, kv.value)
		case "parallelism":
			set(configs.Parallelism.Key, kv.value)
		case "local-time-zone":
			set(configs.LocalTimeZone.Key, kv.value)
		case "execution.runtime-mode":
			set(configs.RuntimeMode.Key, kv.value)
		case "route-mode":
			mode := p.word(kv.value, "ALL_MATCH", "FIRST_MATCH")
			p.first = mode == "FIRST_MATCH"
		case "schema.change.behavior":
			p.behavior = strings.ToLower(p.word(kv.value, "EXCEPTION", "EVOLVE", "TRY_EVOLVE", "LENIENT", "IGNORE"))
		case "transform.decimal.precision.mode":
			if p.word(kv.value, "UP_TO_19", "UP_TO_38") == "UP_TO_19" {
				p.notice(kv.key, "decimals keep up to 38 digits")
			}
		case "schema-operator.rpc-timeout", "schema.operator.uid", "operator.uid.prefix", "sink.partitioning.strategy":
			p.notice(kv.key, k+" has no effect: one process reads, changes and writes tables in one order")
		case "user-defined-function", "model":
			p.fail(kv.key, "leat runs no "+k+" of pipelines", "use built-in functions, or run the pipeline on Flink CDC")
		default:
			p.unknown(kv.key, "pipeline", pipelineKeys)
		}
	}
}

func (p *pipeline) word(n *yaml.Node, words ...string) string {
	v := strings.ToUpper(p.text(n))
	if !slices.Contains(words, v) {
		p.fail(n, fmt.Sprintf("'%s' is not known", p.text(n)), "write "+strings.Join(words, ", "))
	}
	return v
}

// settings adds those of the file to what flags set, which go first.
func (p *pipeline) settings(flags configs.Values) configs.Values {
	out := maps.Clone(p.given)
	maps.Copy(out, flags)
	return out
}

// evolution makes of the behavior and the lists which changes the copies take.
func (p *pipeline) evolution() {
	ev := &p.spec.Evolution
	kinds := map[string]bool{}
	for _, c := range schemaChanges {
		kinds[c] = p.include == nil || slices.Contains(p.include, c) || c == "create.table"
	}
	for _, c := range p.exclude {
		kinds[c] = false
	}
	switch p.behavior {
	case "exception":
		ev.Stop = true
	case "evolve", "try_evolve":
		ev.Rename, ev.Drop = true, true
	case "lenient":
		ev.NoTruncate = p.include == nil || !kinds["truncate.table"]
	case "ignore":
		ev.NoAdd, ev.NoWiden, ev.NoTruncate = true, true, true
		p.spec.NoNewTables = p.spec.NoNewTables || !p.asksNew
	}
	ev.NoAdd = ev.NoAdd || !kinds["add.column"]
	ev.NoWiden = ev.NoWiden || !kinds["alter.column.type"]
	ev.NoTruncate = ev.NoTruncate || !kinds["truncate.table"]
	ev.Rename = ev.Rename && kinds["rename.column"]
	ev.Drop = ev.Drop && kinds["drop.column"]
	p.spec.NoNewTables = p.spec.NoNewTables || !kinds["create.table"]
	p.spec.KnownOnly = p.spec.NoNewTables
}
