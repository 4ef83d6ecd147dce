package lakehouse

import (
	"fmt"
	"math"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// The changelog producers that a Writer knows.
const (
	ChangelogNone   = "none"
	ChangelogInput  = "input"
	ChangelogLookup = "lookup"
	ChangelogFull   = "full-compaction"
)

// Options are the options of a table that reading and writing look at, parsed.
// Options that are not here have no effect on either.
type Options struct {
	// Bucket is 'bucket': n ≥ 1 fixed, -1 unaware (append tables) or dynamic.
	Bucket int
	// ChangelogProducer is 'changelog-producer'.
	ChangelogProducer string
	MergeEngine       string
	// Engine says how rows of a key become one; nil is deduplicate by sequence number.
	Engine *mergetree.EngineSpec
	// RowKindField is 'rowkind.field', "" for the kinds that rows have.
	RowKindField string
	// Lookup says that compactions merge level 0 with the rows above it: changelog
	// producer lookup, first-row, deletion vectors, force-lookup.
	Lookup bool
	// FullDeltaCommits is 'full-compaction.delta-commits', 0 for none.
	FullDeltaCommits int
	// FullInterval is 'changelog-producer.compaction-interval', 0 for none.
	FullInterval time.Duration
	// RowDeduplicate and RowDeduplicateIgnore are 'changelog-producer.row-deduplicate' and '…-ignore-fields'.
	RowDeduplicate       bool
	RowDeduplicateIgnore []string
	// DeletionVectors is 'deletion-vectors.enabled', Bitmap64 'deletion-vectors.bitmap64'.
	DeletionVectors, Bitmap64 bool
	// Expire is record-level expiration, nil for none.
	Expire       *expiry
	WriteOnly    bool
	IgnoreDelete bool
	// IgnoreUpdateBefore drops -U rows.
	IgnoreUpdateBefore bool
	// TargetFileSize is the size in bytes at which files are rolled.
	TargetFileSize int64
	DataPrefix     string
	ChangelogFiles string
	// DataDirectory is 'data-file.path-directory', "" for the table's own directory.
	DataDirectory string
	ThinMode      bool
	Files         FileFormats
	Compaction    mergetree.UniversalOptions
	// CompactMinFiles is 'compaction.min.file-num' of append tables.
	CompactMinFiles int
	// DeleteRatio is 'compaction.delete-ratio-threshold'.
	DeleteRatio float64
	StatsDense  bool
	// Stats are the statistics in data files, ChangelogStats those in changelog files.
	Stats, ChangelogStats mergetree.StatsPlan
	// ModBuckets is 'bucket-function.type' = 'mod': the bucket key itself, modulo the number of buckets.
	ModBuckets  bool
	Dynamic     DynamicOptions
	LookupFiles LookupOptions
}

// optionReader parses values and remembers the first that cannot be.
type optionReader struct {
	table string
	raw   map[string]string
	err   error
}

func read[T any](r *optionReader, key string, def T, parse func(string) (T, error)) T {
	text, ok := r.raw[key]
	if !ok {
		return def
	}
	v, err := parse(strings.TrimSpace(text))
	if err != nil && r.err == nil {
		r.err = &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Table: r.table, Option: key,
			Msg: fmt.Sprintf("'%s' is not a value it can have", text), Cause: err,
			Hint: "set the option to a valid value with ALTER TABLE … SET",
		}
	}
	return v
}

func readText(r *optionReader, key, def string) string {
	return read(r, key, def, func(s string) (string, error) { return s, nil })
}

func readInt(r *optionReader, key string, def int) int {
	return int(read(r, key, int64(def), configs.ParseInt))
}

func readBool(r *optionReader, key string, def bool) bool {
	return read(r, key, def, configs.ParseBool)
}

// parseOptions reads the options of s; table is for error text.
func parseOptions(table string, s *spec.TableSchema) (Options, error) {
	r := &optionReader{table: table, raw: s.Options}
	trigger := readInt(r, "num-sorted-run.compaction-trigger", 5)
	target := int64(128 << 20)
	if len(s.PrimaryKeys) == 0 {
		target = 256 << 20
	}
	o := Options{
		Bucket:            readInt(r, spec.OptionBucket, -1),
		ChangelogProducer: strings.ToLower(readText(r, "changelog-producer", ChangelogNone)),
		MergeEngine:       strings.ToLower(readText(r, "merge-engine", "deduplicate")),
		WriteOnly:         readBool(r, "write-only", false) || readBool(r, "write.compaction-skip", false),
		RowKindField:      readText(r, "rowkind.field", ""),
		DeletionVectors:   readBool(r, "deletion-vectors.enabled", false),
		Bitmap64:          readBool(r, "deletion-vectors.bitmap64", false),
		Expire:            parseExpire(r, s),
		IgnoreDelete: readBool(r, "ignore-delete", false) || readBool(r, "deduplicate.ignore-delete", false) ||
			readBool(r, "first-row.ignore-delete", false) || readBool(r, "partial-update.ignore-delete", false),
		IgnoreUpdateBefore: readBool(r, "ignore-update-before", false),
		TargetFileSize:     read(r, "target-file-size", target, configs.ParseSize),
		DataPrefix:         readText(r, "data-file.prefix", spec.DataPrefix),
		ChangelogFiles:     readText(r, "changelog-file.prefix", spec.ChangelogPrefix),
		DataDirectory:      readText(r, "data-file.path-directory", ""),
		ThinMode:           readBool(r, "data-file.thin-mode", false),
		Files:              readFormats(r, len(s.PrimaryKeys) > 0),
		Compaction: mergetree.UniversalOptions{
			Trigger:       trigger,
			StopTrigger:   readInt(r, "num-sorted-run.stop-trigger", trigger+3),
			Levels:        readInt(r, "num-levels", trigger+1),
			MaxSizeAmp:    readInt(r, "compaction.max-size-amplification-percent", 200),
			SizeRatio:     readInt(r, "compaction.size-ratio", 1),
			FullInterval:  read(r, "compaction.optimization-interval", time.Duration(0), configs.ParseDuration),
			SizeThreshold: read(r, "compaction.total-size-threshold", 0, configs.ParseSize),
			OffPeak:       readOffPeak(r),
			ForceUpLevel0: readBool(r, "compaction.force-up-level-0", false),
			ForceRewrite:  readBool(r, "compaction.force-rewrite-all-files", false),
		},
		CompactMinFiles: readInt(r, "compaction.min.file-num", 5),
		DeleteRatio:     read(r, "compaction.delete-ratio-threshold", 0.2, configs.ParseDouble),
		StatsDense:      readBool(r, "metadata.stats-dense-store", true),
		ModBuckets:      read(r, "bucket-function.type", false, parseBucketFunction),
		Dynamic:         readDynamic(r),
		LookupFiles: LookupOptions{
			Disk:      read(r, "lookup.cache-max-disk-size", math.MaxInt64, configs.ParseSize),
			Memory:    read(r, "lookup.cache-max-memory-size", 256<<20, configs.ParseSize),
			Retention: read(r, "lookup.cache-file-retention", time.Hour, configs.ParseDuration),
		},
	}
	readStats(r, s, &o)
	o.FullDeltaCommits = readInt(r, "full-compaction.delta-commits", 0)
	o.FullInterval = read(r, "changelog-producer.compaction-interval", time.Duration(0), configs.ParseDuration)
	o.RowDeduplicate = readBool(r, "changelog-producer.row-deduplicate", false)
	o.RowDeduplicateIgnore = names(readText(r, "changelog-producer.row-deduplicate-ignore-fields", ""))
	o.Lookup = len(s.PrimaryKeys) > 0 && (o.MergeEngine == "first-row" || o.ChangelogProducer == ChangelogLookup || o.DeletionVectors || readBool(r, "force-lookup", false))
	o.Engine = parseEngine(r, s, &o)
	return o, r.err
}

// readStats reads what manifests keep of columns. A mode of changelog files
// counts for all levels.
func readStats(r *optionReader, s *spec.TableSchema, o *Options) {
	plan := mergetree.StatsPlan{
		Mode:      read(r, "metadata.stats-mode", spec.DefaultStatsMode, spec.ParseStatsMode),
		Levels:    read(r, "metadata.stats-mode.per.level", nil, parseStatsLevels),
		Columns:   map[string]spec.StatsMode{},
		KeepFirst: readInt(r, "metadata.stats-keep-first-n-columns", -1),
	}
	for i := range s.Fields {
		key := "fields." + s.Fields[i].Name + ".stats-mode"
		if _, ok := s.Options[key]; ok {
			plan.Columns[s.Fields[i].Name] = read(r, key, plan.Mode, spec.ParseStatsMode)
		}
	}
	o.Stats, o.ChangelogStats = plan, plan
	if _, ok := s.Options["changelog-file.stats-mode"]; ok {
		o.ChangelogStats.Mode = read(r, "changelog-file.stats-mode", plan.Mode, spec.ParseStatsMode)
		o.ChangelogStats.Levels = nil
	}
}

// parseStatsLevels reads modes of levels, such as "0:none,5:full".
func parseStatsLevels(text string) (map[int32]spec.StatsMode, error) {
	words, err := configs.ParseLevels(text)
	if err != nil {
		return nil, err
	}
	out := make(map[int32]spec.StatsMode, len(words))
	for level, word := range words {
		if out[level], err = spec.ParseStatsMode(word); err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
	}
	return out, nil
}
