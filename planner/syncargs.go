package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
)

// SyncArgument is an argument of a job of copies, as `leat sync mysql`, Paimon's
// actions and CALL sys.mysql_sync_database(…) have it.
type SyncArgument struct {
	// Name is spelled with underscores.
	Name string
	// List says that it may be given several times.
	List bool
	Help string
}

// SyncArguments lists the arguments besides those that say where the source is.
func SyncArguments() []SyncArgument { return slices.Clone(syncArguments) }

var syncArguments = []SyncArgument{
	{"database", false, "database of the copies (default that of the source)"},
	{"table", false, "name of the one copy that all tables go into"},
	{"including_tables", false, "tables of the database, as a regular expression for whole names: a|b.*"},
	{"excluding_tables", false, "tables of the database to leave out, as a regular expression"},
	{"including_dbs", false, "databases, as a regular expression (default database-name)"},
	{"excluding_dbs", false, "databases to leave out, as a regular expression"},
	{"table_prefix", false, "text in front of the names of copies"},
	{"table_suffix", false, "text behind the names of copies"},
	{"table_prefix_db", true, "DATABASE=TEXT, another prefix for tables of one database"},
	{"table_suffix_db", true, "DATABASE=TEXT, another suffix for tables of one database"},
	{"table_mapping", true, "TABLE=NAME, the name of the copy of a table, without prefix and suffix"},
	{"merge_shards", false, "true: tables of one name in several databases go into one copy; false: database_table each (default true where the key tells them apart)"},
	{"primary_keys", true, "columns of the primary key of the copies, by commas (default that of the source)"},
	{"sync_primary_keys_from_source_schema", false, "false: copies do not have the primary key of the source"},
	{"partition_keys", true, "columns by which copies are partitioned, by commas"},
	{"multiple_table_partition_keys", true, "TABLE:COLUMN,COLUMN, partition columns of one table"},
	{"computed_column", true, "'NAME = fn(column, …)' or 'NAME = expression', a further column"},
	{"metadata_column", true, "database_name, table_name, op_ts or row_kind as further columns"},
	{"type_mapping", true, "tinyint1-not-bool, to-nullable, to-string, char-to-string, longtext-to-bytes, bigint-unsigned-to-bigint, decimal-no-change, allow-non-string-to-string"},
	{"ignore_incompatible", false, "true: leave tables out whose copy exists with another shape"},
	{"mode", false, "combined: take up tables that come; divided: do not (default combined)"},
	{"eager_init", false, "accepted; writers open when rows come"},
	{"table_conf", true, "KEY=VALUE, an option of the tables of the lake"},
	{"catalog_conf", true, "KEY=VALUE, an option of the catalog, such as warehouse"},
	{"rename_columns", false, "follow: a column that the source renames is renamed; keep: it stays, and a new one is added (default keep)"},
	{"drop_columns", false, "follow: a column that the source drops is dropped; keep: it stays with NULL (default keep)"},
	{"keyless", false, "tables without a primary key: insert-only takes their rows, and sets a table aside once rows are updated or deleted; append takes every change as a further row; skip leaves them out (default skip)"},
	{"on_bad_row", false, "what a row does that cannot be read: stop the job, set-aside its table, or go as a dead-letter into a table (default stop)"},
	{"dead_letter_table", false, "with --on-bad-row dead-letter: the table, as database.table (default leat_dead_letters in the database of the first copy)"},
}

// SyncArgs are arguments by name, each with the values that were given.
type SyncArgs map[string][]string

func (a SyncArgs) text(name string) string {
	if v := a[name]; len(v) > 0 {
		return strings.TrimSpace(v[len(v)-1])
	}
	return ""
}

// list gives the names that are listed by commas.
func (a SyncArgs) list(name string) []string {
	var out []string
	for _, v := range a[name] {
		for n := range strings.SplitSeq(v, ",") {
			if n = strings.TrimSpace(n); n != "" {
				out = append(out, n)
			}
		}
	}
	return out
}

// choice gives the one of several words that was given, "" for none.
func (a SyncArgs) choice(errs *diag.List, name string, words ...string) string {
	v := strings.ToLower(a.text(name))
	if v != "" && !slices.Contains(words, v) {
		*errs = append(*errs, argError(name, fmt.Sprintf("'%s' is not known", v), "write "+strings.Join(words, " or ")))
	}
	return v
}

func argError(name, msg, hint string) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "--" + strings.ReplaceAll(name, "_", "-") + ": " + msg, Hint: hint}
}

// ReadPairs reads KEY=VALUE arguments. Values are never printed: they may be passwords.
func ReadPairs(name string, list []string) (configs.Values, error) {
	v := configs.Values{}
	var errs diag.List
	for _, p := range list {
		k, text, ok := strings.Cut(p, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			errs = append(errs, argError(name, "it has no 'key='", "write --"+strings.ReplaceAll(name, "_", "-")+" key=value"))
			continue
		}
		v[k] = configs.Value{Text: strings.TrimSpace(text)}
	}
	return v, errs.Err()
}

// Apply makes of the arguments what spec asks for. spec has the options of the
// source, of which database-name and table-name are taken out, and perhaps
// patterns already; database is that of names without one. The warehouse is that
// of catalog_conf, "" if there is none.
func (a SyncArgs) Apply(spec *SyncSpec, database string) (warehouse string, err error) {
	var errs diag.List
	if v, ok := spec.Options["database-name"]; ok {
		database = v.Text
	}
	single := spec.Options["table-name"].Text
	delete(spec.Options, "database-name")
	delete(spec.Options, "table-name")
	errs.Add(a.patterns(spec, database, single))
	if db := a.text("database"); db != "" {
		spec.Database = db
	}
	a.naming(spec, &errs)
	ev := &spec.Evolution
	ev.Rename = a.choice(&errs, "rename_columns", "follow", "keep") == "follow"
	ev.Drop = a.choice(&errs, "drop_columns", "follow", "keep") == "follow"
	ev.TypeModes = a.list("type_mapping")
	spec.Keyless = map[string]Keyless{"append": KeylessAppend, "insert-only": KeylessInserts}[a.choice(&errs, "keyless", "insert-only", "append", "skip")]
	onBadRow := a.choice(&errs, "on_bad_row", "stop", "set-aside", "dead-letter")
	spec.BadRowsAside, spec.BadRowsKept = onBadRow == "set-aside", onBadRow == "dead-letter"
	if spec.DeadLetterTable = a.text("dead_letter_table"); spec.DeadLetterTable != "" && !spec.BadRowsKept {
		errs = append(errs, argError("dead_letter_table", "it was given without --on-bad-row dead-letter", "add --on-bad-row dead-letter, or leave it out"))
	}
	spec.IgnoreIncompatible = a.choice(&errs, "ignore_incompatible", "true", "false") == "true"
	spec.NoNewTables = a.choice(&errs, "mode", "divided", "combined") == "divided"
	a.choice(&errs, "eager_init", "true", "false")
	if m := a.choice(&errs, "merge_shards", "true", "false"); m != "" {
		merge := m == "true"
		spec.MergeShards = &merge
	}
	conf, err := ReadPairs("table_conf", a["table_conf"])
	errs.Add(err)
	if spec.TableOptions == nil {
		spec.TableOptions = configs.Values{}
	}
	maps.Copy(spec.TableOptions, conf)
	catalog, err := ReadPairs("catalog_conf", a["catalog_conf"])
	errs.Add(err)
	if _, ok := catalog["type"]; !ok {
		catalog["type"] = configs.Value{Text: "paimon"}
	}
	_, bad := configs.Catalog.Check(catalog, configs.CheckOptions{Table: "catalog lake"})
	errs = append(errs, bad...)
	if w, ok := catalog["warehouse"]; ok {
		warehouse = w.Text
	}
	named := len(spec.Include) == 1 && !spec.Include[0].Open()
	errs.Add(a.columns(spec, single != "" || a.text("table") != "", named))
	return warehouse, errs.Err()
}

// patterns adds the tables that the arguments of the actions name.
func (a SyncArgs) patterns(spec *SyncSpec, database, single string) error {
	var errs diag.List
	dbs := a.text("including_dbs")
	for _, x := range []struct {
		name, text string
		to         *[]connect.TablePattern
	}{
		{"mysql_conf table-name", single, &spec.Include},
		{"including_tables", a.text("including_tables"), &spec.Include},
		{"excluding_tables", a.text("excluding_tables"), &spec.Exclude},
	} {
		if x.text == "" {
			continue
		}
		list, err := tablePatterns(x.name, dbs, database, x.text)
		errs.Add(err)
		*x.to = append(*x.to, list...)
	}
	if dbs != "" && len(spec.Include) == 0 && single == "" {
		p, err := connect.PatternOf(dbs, ".*")
		if err != nil {
			errs = append(errs, argError("including_dbs", err.Error(), "write a regular expression for whole names"))
		}
		spec.Include = append(spec.Include, p)
	}
	if not := a.text("excluding_dbs"); not != "" {
		p, err := connect.PatternOf(not, ".*")
		if err != nil {
			errs = append(errs, argError("excluding_dbs", err.Error(), "write a regular expression for whole names"))
		}
		spec.Exclude = append(spec.Exclude, p)
	}
	if len(spec.Include) == 0 && len(errs) == 0 {
		errs = append(errs, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "no table is named", Hint: "add --include database.table, or --include 'database.*'"})
	}
	return errs.Err()
}

const patternSigns = `\^$*+?()[]{}|.`

// tablePatterns reads a regular expression for names of tables of a database,
// whose name may be one, too. What is no more than names between bars, or .* for
// all, becomes these names.
func tablePatterns(name, dbs, database, text string) ([]connect.TablePattern, error) {
	if dbs == "" && database == "" {
		return nil, argError(name, "it needs a database", "add it to --url, as mysql://user@host:3306/database")
	}
	plain := dbs == "" && !strings.ContainsAny(database, patternSigns)
	var out []connect.TablePattern
	for alt := range strings.SplitSeq(strings.Trim(text, "()"), "|") {
		if alt = strings.TrimSpace(alt); alt == ".*" {
			alt = "*"
		} else if alt == "" || strings.ContainsAny(alt, patternSigns) {
			plain = false
		}
		out = append(out, connect.TablePattern{Database: database, Table: alt})
	}
	if plain {
		return out, nil
	}
	if dbs != "" {
		database = dbs
	}
	p, err := connect.PatternOf(database, text)
	if err != nil {
		return nil, argError(name, err.Error(), "write a regular expression for whole names, without look-ahead and back references")
	}
	return []connect.TablePattern{p}, nil
}

// naming makes the names of copies: a mapping first, then the affixes of the
// database, then those of all.
func (a SyncArgs) naming(spec *SyncSpec, errs *diag.List) {
	pairs := func(name string) map[string]string {
		v, err := ReadPairs(name, a[name])
		errs.Add(err)
		out := map[string]string{}
		for k, x := range v {
			out[strings.ToLower(k)] = x.Text
		}
		return out
	}
	prefix, suffix, one := a.text("table_prefix"), a.text("table_suffix"), a.text("table")
	prefixes, suffixes, mapping := pairs("table_prefix_db"), pairs("table_suffix_db"), pairs("table_mapping")
	split := a.text("merge_shards") == "false" && spec.Database != ""
	if prefix+suffix+one == "" && len(prefixes)+len(suffixes)+len(mapping) == 0 && !split {
		return
	}
	spec.Copies = func(database, table string) []CopyName {
		to := CopyName{spec.Database, table}
		if to.Database == "" {
			to.Database = database
		}
		if one != "" {
			to.Table = one
			return []CopyName{to}
		}
		if split {
			to.Table = database + "_" + table
		}
		for _, key := range []string{to.Table, table} {
			if name, ok := mapping[strings.ToLower(key)]; ok {
				to.Table = name
				return []CopyName{to}
			}
		}
		before, after := prefix, suffix
		if p, ok := prefixes[strings.ToLower(database)]; ok {
			before = p
		}
		if x, ok := suffixes[strings.ToLower(database)]; ok {
			after = x
		}
		to.Table = before + to.Table + after
		return []CopyName{to}
	}
}

// columns makes the rules of the columns and keys of copies.
func (a SyncArgs) columns(spec *SyncSpec, strict, named bool) error {
	var errs diag.List
	base := copyRules{
		primaryKeys: a.list("primary_keys"), partitionKeys: a.list("partition_keys"), metadata: a.list("metadata_column"), strict: strict, strictKeys: strict || named,
		noSourceKey: a.choice(&errs, "sync_primary_keys_from_source_schema", "true", "false") == "false",
	}
	known := slices.Sorted(maps.Keys(metadataTypes))
	for _, m := range base.metadata {
		if !slices.Contains(known, m) {
			errs = append(errs, argError("metadata_column", fmt.Sprintf("'%s' is not known", m), "write "+strings.Join(known, ", ")))
		}
	}
	for _, text := range a["computed_column"] {
		c, err := computedColumn(text, nil)
		if err != nil {
			errs.Add(err)
			continue
		}
		if len(base.items) == 0 {
			base.items = []copyItem{{star: true}}
		}
		base.items = append(base.items, copyItem{column: c})
	}
	partitions := map[string][]string{}
	for _, text := range a["multiple_table_partition_keys"] {
		for one := range strings.SplitSeq(text, ";") {
			table, keys, ok := strings.Cut(one, ":")
			if table = strings.TrimSpace(table); !ok || table == "" {
				errs = append(errs, argError("multiple_table_partition_keys", fmt.Sprintf("'%s' has no 'table:'", one), "write table:column,column"))
				continue
			}
			partitions[table] = SyncArgs{"": {keys}}.list("")
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if len(base.primaryKeys)+len(base.partitionKeys)+len(base.metadata)+len(base.items)+len(partitions) == 0 && !base.noSourceKey {
		return nil
	}
	made := map[string]*copyRules{}
	spec.rules = func(_ *Session, _, table string) (*copyRules, error) {
		if made[table] == nil {
			r := base
			if keys, ok := partitions[table]; ok {
				r.partitionKeys = keys
			}
			made[table] = &r
		}
		return made[table], nil
	}
	return nil
}
