package mysqlcdc

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"leat/configs"
)

// Options declares the WITH keys of a mysql-cdc table.
var Options = configs.NewSet("mysql-cdc table")

// Where the server is and who reads.
var (
	hostname = configs.String(Options, "hostname", "", "Host name or address of the MySQL server.", configs.Require())
	port     = configs.Int(Options, "port", 3306, "Port of the MySQL server.", within(1, 65535))
	username = configs.String(Options, "username", "", "Account that reads; it needs SELECT, REPLICATION SLAVE and REPLICATION CLIENT.", configs.Require())
	password = configs.String(Options, "password", "", "Password of the account; write '${NAME}' to take it from the environment.", configs.Require(), configs.Secret())
	database = configs.String(Options, "database-name", "", "Database of the source table, or a regular expression for the whole names of several.", configs.Require(), namePattern())
	table    = configs.String(Options, "table-name", "", "Name of the source table, or a regular expression for the whole names of several, which are read as one.", configs.Require(), namePattern())
	serverID = configs.String(Options, "server-id", "", "Id that the reader has among the replicas of the server, a number or a range such as 5400-5408; random in 5400-6400 by default.",
		configs.Optional(), configs.Check(parseText, func(s string) error { _, _, err := parseServerID(s); return err }))
	serverZone = configs.String(Options, "server-time-zone", "", "Zone of the server, whose wall clock TIMESTAMP columns show; found at the server by default.",
		configs.Optional(), configs.WithAliases("jdbc.properties.serverTimezone"), configs.Check(parseText, func(s string) error { _, err := configs.ParseZone(s); return err }))
)

// How the tables are read before the changes.
var (
	chunkSize = configs.Int(Options, "scan.incremental.snapshot.chunk.size", 8096, "Rows of a chunk; leat chooses up to 65536 by the size of the rows if it is not given.", above(1))
	chunkKey  = configs.String(Options, "scan.incremental.snapshot.chunk.key-column", "", "Column whose ranges are the chunks, NOT NULL and with an index; the columns of the primary key by default. Columns whose order is not known, such as text of rare collations, make one chunk.", configs.Optional())
	readers   = configs.Int(Options, "leat.snapshot.readers", 2, "Sessions that read chunks side by side.", within(1, 64))
	memory    = configs.Size(Options, "leat.snapshot.memory", 128<<20, "Memory that chunks may hold while they wait for the stream.", configs.Check(configs.ParseSize, func(n int64) error {
		if n < 1<<20 {
			return errors.New("must be at least 1 mb")
		}
		return nil
	}))
	maxRows = configs.Int(Options, "leat.snapshot.max-rows-per-second", 0, "Rows that all sessions together read a second while tables are read; no limit by default.", configs.Optional(), above(0))
	maxRate = configs.Size(Options, "leat.snapshot.max-bytes-per-second", 0, "Bytes of rows that all sessions together read a second while tables are read; no limit by default.", configs.Optional(), configs.Check(configs.ParseSize, func(n int64) error {
		if n < 1<<10 {
			return errors.New("must be at least 1 kb")
		}
		return nil
	}))
	zeroDate = configs.Enum(Options, "leat.zero-date", "null", "What becomes of dates that do not exist, such as 0000-00-00: NULL where allowed, the start of 1970, an error, or the server's digits in columns declared as STRING.", []string{"null", "epoch", "error", "string"})
	bitOrder = configs.Enum(Options, "leat.bit-order", "big-endian", "Order of the bytes of BIT(n) columns: as the server shows them, or as Flink's connector gives them.", []string{"big-endian", "little-endian"})
	// jdbcZero says the same for rows of the snapshot in Flink's connector.
	jdbcZero = configs.Enum(Options, "jdbc.properties.zeroDateTimeBehavior", "CONVERT_TO_NULL", "As leat.zero-date 'null' or 'error'.",
		[]string{"CONVERT_TO_NULL", "EXCEPTION", "ROUND", "convertToNull", "round"}, configs.RefuseWords("CONVERT_TO_NULL", "ROUND", "round"))
	appendOnly    = configs.Bool(Options, "scan.read-changelog-as-append-only.enabled", false, "Give every change as an insert: both images of an update, and the row that a delete takes away. The metadata row_kind tells them apart.")
	onlineChanges = configs.Bool(Options, "scan.parse.online.schema.changes.enabled", false, "Go on with the table that gh-ost or pt-online-schema-change puts in place of one, which holds the same rows, as long as the columns that are read fit.")
	legacyJSON    = configs.Bool(Options, "use.legacy.json.format", true, "JSON text has no blanks after ':' and ','; false gives the text that the server prints. Snapshot and binlog give the same text.")
)

// Where the stream starts.
var (
	startupMode = configs.Enum(Options, "scan.startup.mode", "initial", "Where a new job starts.", []string{"initial", "snapshot", "earliest-offset", "latest-offset", "specific-offset", "timestamp"})
	startFile   = configs.String(Options, "scan.startup.specific-offset.file", "", "Binlog file of specific-offset.", configs.Optional())
	startPos    = configs.Int(Options, "scan.startup.specific-offset.pos", 0, "Place in that file.", configs.Optional(), above(-1))
	startGTIDs  = configs.String(Options, "scan.startup.specific-offset.gtid-set", "", "GTID set of specific-offset: the transactions that are not read.", configs.Optional())
	newTables   = configs.Bool(Options, "scan.newly-added-table.enabled", false, "Let a job that starts again read tables which match since then.")
	startMillis = configs.Int(Options, "scan.startup.timestamp-millis", 0, "Time of the mode timestamp, in ms since 1970.", configs.Optional(), above(-1))
)

// The connection.
var (
	connectTimeout = configs.Duration(Options, "connect.timeout", 30*time.Second, "Limit for a connection to come up.", configs.Check(configs.ParseDuration, func(d time.Duration) error {
		if d <= 250*time.Millisecond {
			return errors.New("must be longer than 250 ms")
		}
		return nil
	}))
	maxRetries = configs.Int(Options, "connect.max-retries", 3, "How often in a row a broken connection is tried again.", above(0))
	heartbeat  = configs.Duration(Options, "heartbeat.interval", 30*time.Second, "How often the position moves while the tables are idle; leat moves it at least every second.")
	sslMode    = configs.Enum(Options, "jdbc.properties.sslMode", "DISABLED", "TLS to the server.", []string{"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"})
	requireSSL = configs.Bool(Options, "jdbc.properties.requireSSL", false, "TLS to the server, without a check of its certificate.")
	useSSL     = configs.Bool(Options, "jdbc.properties.useSSL", false, "TLS to the server, without a check of its certificate.")
	tlsCA      = configs.String(Options, "leat.tls.ca-file", "", "PEM file with the authorities that VERIFY_CA and VERIFY_IDENTITY trust; those of the system without it.", configs.Optional())
	tlsCert    = configs.String(Options, "leat.tls.cert-file", "", "PEM file with the client's certificate, for accounts that REQUIRE X509.", configs.Optional())
	tlsKey     = configs.String(Options, "leat.tls.key-file", "", "PEM file with the key of that certificate.", configs.Optional())
)

func init() {
	configs.Bool(Options, "scan.incremental.snapshot.enabled", true, "Read tables in chunks.", configs.NoMeaningHere("leat always reads in chunks and never locks for longer than a moment"))
	configs.Int(Options, "scan.snapshot.fetch.size", 1024, "Rows fetched at once.", above(1), configs.NoMeaningHere("rows are streamed"))
	const oneID, own = "leat uses one replication connection", "leat has its own way to read"
	configs.Int(Options, "connection.pool.size", 20, "Size of the connection pool.", configs.NoMeaningHere("leat opens the sessions it uses"))
	configs.Int(Options, "chunk-meta.group.size", 1000, "Size of chunk metadata groups.", configs.NoMeaningHere(oneID))
	configs.Bool(Options, "scan.incremental.close-idle-reader.enabled", false, "Close idle readers.", configs.NoMeaningHere(oneID))
	configs.Bool(Options, "scan.incremental.snapshot.backfill.skip", false, "Skip the merge of chunks and changes.", configs.NoMeaningHere("leat always merges"))
	configs.Bool(Options, "scan.incremental.snapshot.unbounded-chunk-first.enabled", true, "Read the open-ended chunk first.", configs.NoMeaningHere("chunks hold bounded memory in any order"))
	configs.Double(Options, "chunk-key.even-distribution.factor.upper-bound", 1000, "Limit for evenly cut chunks.", configs.WithAliases("split-key.even-distribution.factor.upper-bound"), configs.NoMeaningHere("chunks are cut by the index"))
	configs.Double(Options, "chunk-key.even-distribution.factor.lower-bound", 0.05, "Limit for evenly cut chunks.", configs.WithAliases("split-key.even-distribution.factor.lower-bound"), configs.NoMeaningHere("chunks are cut by the index"))
	for _, key := range []string{"scan.startup.specific-offset.skip-events", "scan.startup.specific-offset.skip-rows"} {
		configs.Int(Options, key, 0, "What to skip after the offset.", configs.Check(configs.ParseInt, noCut))
	}
	engineOptions()
	jdbcOptions()
	Options.Prefix("debezium.", "Settings of the Debezium engine.", configs.NoMeaningHere(own))
	Options.Prefix("jdbc.properties.", "Settings of the JDBC driver.", configs.NoMeaningHere(own))
}

func parseText(s string) (string, error) { return s, nil }

func above(n int64) configs.Modify {
	return configs.Check(configs.ParseInt, func(x int64) error {
		if x <= n {
			return fmt.Errorf("must be greater than %d", n)
		}
		return nil
	})
}

func within(lo, hi int64) configs.Modify {
	return configs.Check(configs.ParseInt, func(x int64) error {
		if x < lo || x > hi {
			return fmt.Errorf("must be from %d to %d", lo, hi)
		}
		return nil
	})
}

// namePattern accepts a regular expression; a plain name is one that means itself.
func namePattern() configs.Modify {
	return configs.Check(parseText, func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		if _, err := syntax.Parse(s, syntax.Perl); err != nil {
			return fmt.Errorf("'%s' is not a regular expression (%w); write \\ before a sign that means itself", s, err)
		}
		return nil
	})
}

// plainName gives the one name that a pattern matches, if there is only one.
func plainName(pattern string) (name string, ok bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		return "", false
	}
	return string(re.Rune), true
}

// parseServerID reads n or n-m.
func parseServerID(s string) (lo, hi uint32, err error) {
	a, b, ranged := strings.Cut(s, "-")
	if !ranged {
		b = a
	}
	x, errA := strconv.ParseUint(strings.TrimSpace(a), 10, 32)
	y, errB := strconv.ParseUint(strings.TrimSpace(b), 10, 32)
	if errA != nil || errB != nil || x == 0 || y < x {
		return 0, 0, fmt.Errorf("'%s' is not a number or a range such as 5400-5408", s)
	}
	return uint32(x), uint32(y), nil
}
