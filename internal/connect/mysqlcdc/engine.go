package mysqlcdc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"leat/cdc"
	"leat/cdc/mysqlrow"
	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
)

// Flink's connector hands 'debezium.…' to the Debezium engine and 'jdbc.properties.…'
// to the JDBC driver. Those with an effect on what is read are declared here.

// jdbcTinyInt is only of interest to copies of whole tables: a script declares its types.
var jdbcTinyInt = configs.Bool(Options, "jdbc.properties.tinyInt1isBit", true, "TINYINT(1) is a boolean.", configs.NoMeaningHere("the declared type decides"))

// jdbcTimeout is connect.timeout in the driver's unit.
var jdbcTimeout = configs.Int(Options, "jdbc.properties.connectTimeout", 0, "Limit for a connection to come up in ms, where 'connect.timeout' is not given; 0 for its default.", above(-1))

// engineMode is the option of Debezium's engine for scan.startup.mode.
var engineMode = configs.Enum(Options, "debezium.snapshot.mode", "initial", "The startup mode as Debezium names it: never, no_data and schema_only are latest-offset, initial_only is snapshot.",
	[]string{"initial", "when_needed", "never", "no_data", "schema_only", "initial_only", "always", "configuration_based", "custom", "recovery", "schema_only_recovery"},
	configs.RefuseWords("initial", "always", "configuration_based", "custom", "recovery", "schema_only_recovery"))

var (
	engineBytes = configs.Enum(Options, "debezium.binary.handling.mode", "bytes", "What BINARY, VARBINARY and BLOB columns are that the script declares as STRING: base64 or hex; bytes wants them declared as BYTES.",
		[]string{"bytes", "base64", "base64-url-safe", "hex"})
	engineBadEvents = configs.Enum(Options, "debezium.event.deserialization.failure.handling.mode", "fail", "What becomes of changes in the binlog that cannot be read: an error, or they are passed over with a word in the log.",
		[]string{"fail", "warn", "skip", "ignore"})
	engineBadSteps = configs.Enum(Options, "debezium.event.processing.failure.handling.mode", "fail", "As debezium.event.deserialization.failure.handling.mode.",
		[]string{"fail", "warn", "skip", "ignore"})
	engineSkipped = configs.String(Options, "debezium.skipped.operations", "none", "Operations whose changes in the binlog are passed over: a list of c (insert), u (update), d (delete) and t (truncate), or none.",
		configs.Check(parseText, func(s string) error { _, _, err := parseOperations(s); return err }))
	engineExclude = configs.String(Options, "debezium.column.exclude.list", "", "Regular expressions for database.table.column of columns that are not read; none may be one that the table declares.",
		configs.Optional(), configs.Check(parseText, checkPatterns))
	engineInclude = configs.String(Options, "debezium.column.include.list", "", "Regular expressions for database.table.column of columns that are read; all that the table declares have to be among them.",
		configs.Optional(), configs.Check(parseText, checkPatterns))
	engineSources = configs.String(Options, "debezium.gtid.source.includes", "", "Regular expressions for the uuids of the servers whose transactions are read from the binlog.",
		configs.Optional(), configs.Check(parseText, checkPatterns))
	engineOthers = configs.String(Options, "debezium.gtid.source.excludes", "", "Regular expressions for the uuids of servers whose transactions are not read from the binlog.",
		configs.Optional(), configs.Check(parseText, checkPatterns))
)

// engineOptions declares the settings of the Debezium engine that leat has another
// way for.
func engineOptions() {
	const declared, own = "the declared type of a column decides", "leat reads rows as they come and never locks for longer than a moment"
	for _, x := range []struct {
		key   string
		words []string
	}{
		{"debezium.decimal.handling.mode", []string{"precise", "string", "double"}},
		{"debezium.bigint.unsigned.handling.mode", []string{"long", "precise"}},
		{"debezium.time.precision.mode", []string{"adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"}},
	} {
		configs.Enum(Options, x.key, x.words[0], "Setting of the Debezium engine.", x.words, configs.NoMeaningHere(declared))
	}
	configs.Bool(Options, "debezium.include.schema.comments", false, "Setting of the Debezium engine.", configs.NoMeaningHere("comments of columns are not part of rows"))
	configs.Int(Options, "debezium.min.row.count.to.stream.result", 1000, "Setting of the Debezium engine.", configs.NoMeaningHere(own))
	configs.String(Options, "debezium.snapshot.locking.mode", "none", "Setting of the Debezium engine.", configs.NoMeaningHere(own))
	for _, prefix := range []string{"debezium.database.history.", "debezium.schema.history."} {
		Options.Prefix(prefix, "Settings of the Debezium engine.", configs.NoMeaningHere("the versions of tables are in the checkpoints"))
	}
}

// jdbcOptions declares the settings of the JDBC driver that leat has another way for.
func jdbcOptions() {
	for _, x := range [][2]string{
		{"socketTimeout", "heartbeats of a second tell a dead connection"},
		{"characterEncoding", "text is read in the character set of its column"},
		{"sessionVariables", "sessions have the settings that reading needs, whatever the server gives them"},
		{"allowPublicKeyRetrieval", "the key of the server is asked for where an account needs it"},
	} {
		configs.String(Options, "jdbc.properties."+x[0], "", "Setting of the JDBC driver.", configs.Optional(), configs.NoMeaningHere(x[1]))
	}
}

// modeOf is where a table starts, by either option.
func modeOf(v configs.Values) string {
	if startupMode.IsSet(v) {
		return startupMode.Get(v)
	}
	switch engineMode.Get(v) {
	case "never", "no_data", "schema_only":
		return "latest-offset"
	case "initial_only":
		return "snapshot"
	default:
		return startupMode.Get(v)
	}
}

// timeoutOf is the limit for a connection to come up, by either option.
func timeoutOf(v configs.Values) time.Duration {
	if ms := jdbcTimeout.Get(v); ms > 0 && !connectTimeout.IsSet(v) {
		return time.Duration(ms) * time.Millisecond
	}
	return connectTimeout.Get(v)
}

// bytesOf is what bytes become where the target is text.
func bytesOf(v configs.Values) mysqlrow.BytesText {
	return map[string]mysqlrow.BytesText{
		"base64": mysqlrow.BytesBase64, "base64-url-safe": mysqlrow.BytesBase64URL, "hex": mysqlrow.BytesHex,
	}[engineBytes.Get(v)]
}

// originOf tells the servers whose transactions are read, nil for all.
func originOf(v configs.Values) func(uuid string) bool {
	in, out := patternsOf(engineSources.Get(v)), patternsOf(engineOthers.Get(v))
	if in == nil && out == nil {
		return nil
	}
	return func(uuid string) bool { return (in == nil || anyMatches(in, uuid)) && !anyMatches(out, uuid) }
}

// engineTable sets what options of the Debezium engine say of one table.
func engineTable(t *cdc.Table, v configs.Values) {
	if ops, truncate, err := parseOperations(engineSkipped.Get(v)); err == nil {
		t.Skip, t.SkipTruncate = ops, truncate
	}
	t.PassBadRows = engineBadEvents.Get(v) != "fail" || engineBadSteps.Get(v) != "fail"
	t.OnlineChanges, t.Evolution.Types.Bytes = onlineChanges.Get(v), bytesOf(v)
}

// parseOperations reads a list of operations as Debezium writes it.
func parseOperations(s string) (ops []mysqlrow.Op, truncate bool, err error) {
	for word := range strings.SplitSeq(s, ",") {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "c":
			ops = append(ops, mysqlrow.OpInsert)
		case "u":
			ops = append(ops, mysqlrow.OpUpdate)
		case "d":
			ops = append(ops, mysqlrow.OpDelete)
		case "t":
			truncate = true
		case "none", "":
		default:
			return nil, false, fmt.Errorf("'%s' is not an operation; write c, u, d and t with commas between, or none", word)
		}
	}
	return ops, truncate, nil
}

// checkPatterns checks a list of regular expressions.
func checkPatterns(s string) error {
	for p := range strings.SplitSeq(s, ",") {
		if _, err := regexp.Compile(p); err != nil {
			return fmt.Errorf("'%s' is not a regular expression (%w)", p, err)
		}
	}
	return nil
}

// patternsOf compiles a list of regular expressions, each for a whole name, whatever its case.
func patternsOf(s string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if re, err := regexp.Compile("(?i)^(?:" + p + ")$"); err == nil {
			out = append(out, re)
		}
	}
	return out
}

func anyMatches(list []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}

// engineColumns checks the declared columns against the lists of columns: one that
// Debezium would leave out would be NULL in every row.
func engineColumns(t *connect.Table) (list diag.List) {
	if engineInclude.IsSet(t.Options) && engineExclude.IsSet(t.Options) {
		return diag.List{{Domain: diag.User, Code: diag.CodeBadOption, Pos: t.Pos, Table: t.Name, Option: engineInclude.Key, Msg: "it and '" + engineExclude.Key + "' do not go together", Hint: "leave one of the two out"}}
	}
	in, out := patternsOf(engineInclude.Get(t.Options)), patternsOf(engineExclude.Get(t.Options))
	prefix := database.Get(t.Options) + "." + table.Get(t.Options) + "."
	for i, f := range t.Schema.Fields {
		if _, meta := t.Metadata[f.Name]; meta {
			continue
		}
		option := ""
		switch {
		case anyMatches(out, prefix+f.Name):
			option = engineExclude.Key
		case in != nil && !anyMatches(in, prefix+f.Name):
			option = engineInclude.Key
		default:
			continue
		}
		e := &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Pos: t.Pos, Table: t.Name, Option: option,
			Msg: fmt.Sprintf("it leaves out column '%s', which the table declares", f.Name), Hint: "leave the column out of the CREATE TABLE statement, or the option",
		}
		if i < len(t.ColumnPos) {
			e.Pos = t.ColumnPos[i]
		}
		list = append(list, e)
	}
	return list
}

// noCut refuses to begin within a transaction.
func noCut(n int64) error {
	if n != 0 {
		return errors.New("leat refuses to cut a transaction: give the place of a transaction, and leave this out")
	}
	return nil
}
