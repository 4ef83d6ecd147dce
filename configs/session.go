package configs

import (
	"errors"
	"fmt"
	"time"
)

// Session declares the SET keys (DIALECT: Flink's names, old names as aliases).
var Session = NewSet("session")

const oneProcess = "leat is one process and has no such part"

// The SET keys that leat acts by.
var (
	RuntimeMode = Enum(Session, "execution.runtime-mode", "STREAMING",
		"streaming runs until stopped; batch ends when bounded sources end.", []string{"STREAMING", "BATCH", "AUTOMATIC"})
	CheckpointInterval = Duration(Session, "execution.checkpointing.interval", 10*time.Second,
		"Time from one checkpoint to the next; every checkpoint with changes makes a snapshot visible.",
		Check(ParseDuration, func(d time.Duration) error {
			if d < 100*time.Millisecond {
				return errors.New("the interval must be at least 100 ms")
			}
			return nil
		}))
	CheckpointMode = Enum(Session, "execution.checkpointing.mode", "EXACTLY_ONCE",
		"Delivery guarantee.", []string{"EXACTLY_ONCE", "AT_LEAST_ONCE"},
		OnlyNow("EXACTLY_ONCE", "remove it: exactly-once costs almost nothing here"))
	CheckpointTimeout = Duration(Session, "execution.checkpointing.timeout", 10*time.Minute,
		"A checkpoint that takes longer counts as failed.", Positive())
	CheckpointMinPause = Duration(Session, "execution.checkpointing.min-pause", 0,
		"Least time between the end of a checkpoint and the start of the next.")
	CheckpointMaxConcurrent = Int(Session, "execution.checkpointing.max-concurrent-checkpoints", 1,
		"Checkpoints under way at one time.", Check(ParseInt, func(n int64) error {
			if n != 1 {
				return errors.New("only 1: one checkpoint at a time keeps the order of commits")
			}
			return nil
		}))
	CheckpointTolerable = Int(Session, "execution.checkpointing.tolerable-failed-checkpoints", 0,
		"Failed checkpoints in a row before the job restarts.", NotNegative())
	CheckpointRetained = Int(Session, "execution.checkpointing.num-retained", 1,
		"Completed checkpoints kept.", WithAliases("state.checkpoints.num-retained"), AtLeast(1))
	CheckpointDir = String(Session, "execution.checkpointing.dir", "",
		"Folder of the checkpoint log; the default is below the state directory.", Optional(),
		WithAliases("state.checkpoints.dir", "state.backend.fs.checkpointdir"))
	SavepointDir = String(Session, "execution.checkpointing.savepoint-dir", "",
		"Folder in which savepoints are made; the default is beside the checkpoint log.", Optional(), WithAliases("state.savepoints.dir"))
	RecoveryPath = String(Session, "execution.state-recovery.path", "",
		"Savepoint to start from, as --from.", Optional(), WithAliases("execution.savepoint.path"))
	IgnoreUnclaimed = Bool(Session, "execution.state-recovery.ignore-unclaimed-state", false,
		"State of sources and sinks that the script no longer has is left behind.", WithAliases("execution.savepoint.ignore-unclaimed-state"))
	ClaimMode = Enum(Session, "execution.state-recovery.claim-mode", "NO_CLAIM",
		"Who owns the savepoint that a job starts from; leat never deletes one by itself.", []string{"NO_CLAIM", "CLAIM", "LEGACY"},
		WithAliases("execution.savepoint-restore-mode"), RefuseWords("NO_CLAIM", "CLAIM"))
	CheckpointRetention = Enum(Session, "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION",
		"Whether checkpoints stay when a job is cancelled.",
		[]string{"RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"})
	Unaligned = Bool(Session, "execution.checkpointing.unaligned.enabled", false,
		"Barriers may overtake batches.", WithAliases("execution.checkpointing.unaligned"),
		NoMeaningHere("edges into a sink are always aligned and the job has no other inputs to align"))
	AlignmentTimeout = Duration(Session, "execution.checkpointing.aligned-checkpoint-timeout", 0,
		"Time after which a barrier may overtake.", WithAliases("execution.checkpointing.alignment-timeout"),
		NoMeaningHere("edges into a sink are always aligned and the job has no other inputs to align"))
	StateBackend = Enum(Session, "state.backend.type", "hashmap",
		"Where keyed state is kept.", []string{"hashmap", "rocksdb", "forst"}, WithAliases("state.backend"),
		NoMeaningHere("the job has no keyed state"))
	StateIncremental = Bool(Session, "execution.checkpointing.incremental", false,
		"Upload only what is new.", WithAliases("state.backend.incremental"),
		NoMeaningHere("checkpoints are always incremental"))

	RestartStrategy = Enum(Session, "restart-strategy.type", "fixed-delay",
		"What happens after a failure that may pass.",
		[]string{"none", "off", "disable", "fixed-delay", "fixeddelay", "failure-rate", "failurerate", "exponential-delay", "exponentialdelay"},
		WithAliases("restart-strategy"),
		RefuseWords("fixed-delay", "failure-rate", "failurerate", "exponential-delay", "exponentialdelay"))
	RestartAttempts = Int(Session, "restart-strategy.fixed-delay.attempts", 1<<31-1,
		"Restarts before the job fails for good.", NotNegative())
	RestartDelay = Duration(Session, "restart-strategy.fixed-delay.delay", time.Second, "Pause before a restart.")

	PipelineName = String(Session, "pipeline.name", "", "Name of the job; part of its identity.", Optional())
	Parallelism  = Int(Session, "parallelism.default", 1, "Subtasks of the sinks.",
		WithAliases("table.exec.resource.default-parallelism"), AtLeast(1))
	AllowLossy    = Bool(Session, "leat.alter.allow-lossy", false, "ALTER TABLE … MODIFY may give a type that does not hold every value: those stored are cut, changed, NULL, or an error for readers.")
	ForceDrop     = Bool(Session, "leat.drop.force", false, "DROP TABLE, DROP DATABASE and sys.rollback_to… work under a running job too.")
	LocalTimeZone = String(Session, "table.local-time-zone", "default", "Zone of TIMESTAMP_LTZ in text and of the current time.",
		Check(func(s string) (string, error) { return s, nil }, func(s string) error {
			if s == "default" {
				return nil
			}
			if _, err := ParseZone(s); err != nil {
				return err
			}
			return nil
		}))
	NotNullEnforcer = Enum(Session, "table.exec.sink.not-null-enforcer", "ERROR",
		"What happens to a NULL for a NOT NULL column of a sink.", []string{"ERROR", "DROP"})
	DMLSync    = Bool(Session, "table.dml-sync", false, "In the shell an INSERT that is a job waits for its end, and Ctrl-C ends it; `leat run` always waits.")
	SQLDialect = Enum(Session, "table.sql-dialect", "default", "SQL dialect.", []string{"default", "hive"},
		OnlyNow("default", "write the script in Flink's default dialect"))
	LegacyCast = Enum(Session, "table.exec.legacy-cast-behaviour", "DISABLED", "ENABLED makes CAST give NULL where it would fail.",
		[]string{"ENABLED", "DISABLED"})

	// ReadWaitFor and ReadWaitTimeout let a SELECT see what was written to the source before.
	ReadWaitFor = String(Session, "leat.read.wait-for", "",
		"A SELECT waits until its table holds the source up to here: a GTID set, file:offset, or 'now'.", Optional())
	ReadWaitTimeout = Duration(Session, "leat.read.wait-timeout", time.Minute, "How long a SELECT waits for leat.read.wait-for.", Positive())

	// MemoryLimit bounds what write buffers may hold over all tables of a job.
	MemoryLimit = Size(Session, "leat.memory.write-buffers", 192<<20,
		"Memory of all write buffers of a job; rows beyond it go to level-0 files early.", Check(ParseSize, func(n int64) error {
			if n < 16<<20 {
				return errors.New("at least 16 mb")
			}
			return nil
		}))

	// QueryMemory bounds a SELECT that DuckDB runs.
	QueryMemory = Size(Session, "leat.query.memory", 1<<30,
		"Memory of a query that joins, groups or sorts; what goes beyond it is spilled to the folder for temporary files.", Check(ParseSize, func(n int64) error {
			if n < 32<<20 {
				return errors.New("at least 32 mb")
			}
			return nil
		}))
)

func init() {
	for _, p := range []struct{ prefix, why string }{
		{"state.backend.rocksdb.", "the job has no keyed state"},
		{"taskmanager.", oneProcess},
		{"jobmanager.", oneProcess},
		{"akka.", oneProcess},
		{"pekko.", oneProcess},
		{"rest.", oneProcess},
		{"yarn.", oneProcess},
		{"kubernetes.", oneProcess},
	} {
		Session.Prefix(p.prefix, "Settings of a Flink cluster.", NoMeaningHere(p.why))
	}
	Session.AlsoKnown(known("session"))
}

// Positive refuses durations of 0.
func Positive() Modify {
	return Check(ParseDuration, func(d time.Duration) error {
		if d <= 0 {
			return errors.New("must be more than 0")
		}
		return nil
	})
}

// NotNegative refuses integers below 0.
func NotNegative() Modify { return AtLeast(0) }

// AtLeast refuses integers below n.
func AtLeast(n int64) Modify {
	return Check(ParseInt, func(v int64) error {
		if v < n {
			return fmt.Errorf("must be at least %d", n)
		}
		return nil
	})
}

// ParseZone reads a time zone as Java's ZoneId does: region ids, UTC, and
// offsets such as GMT+08:00 or +08:00. Ambiguous short ids are refused.
func ParseZone(s string) (*time.Location, error) {
	if s == "UTC" || s == "Z" || s == "GMT" {
		return time.UTC, nil
	}
	if d, ok := zoneOffset(s); ok {
		return time.FixedZone(s, d), nil
	}
	if loc, err := time.LoadLocation(s); err == nil && len(s) > 3 {
		return loc, nil
	}
	return nil, fmt.Errorf("'%s' is not a time zone such as 'Asia/Shanghai', 'UTC' or 'GMT+08:00'", s)
}

func zoneOffset(s string) (int, bool) {
	for _, p := range []string{"UTC", "GMT", "UT"} {
		if len(s) > len(p) && s[:len(p)] == p {
			s = s[len(p):]
			break
		}
	}
	if len(s) < 2 || (s[0] != '+' && s[0] != '-') {
		return 0, false
	}
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	for _, layout := range []string{"15:04", "1504", "15", "3"} {
		if t, err := time.Parse(layout, s[1:]); err == nil {
			return sign * (t.Hour()*3600 + t.Minute()*60), true
		}
	}
	return 0, false
}
