package diag

// Error numbers. The first digit names the stage: 1 script text, 2 binding,
// types and options, 3 source, 4 lake, 5 job and checkpoints, 6 command line.
// A number is never reused. docs/troubleshooting.md lists them all.
const (
	CodeLex           Code = 1001 // a character or literal that cannot be read
	CodeParse         Code = 1002 // a statement that cannot be parsed
	CodeUnsupported   Code = 1003 // known syntax that leat does not run
	CodeUnsetVariable Code = 1004 // ${NAME} is not set

	CodeUnknownObject Code = 2101 // catalog, database or table does not exist
	CodeUnknownColumn Code = 2102
	CodeUnknownFunc   Code = 2103
	CodeType          Code = 2104 // a type that does not fit
	CodeUnknownOption Code = 2105
	CodeMissingOption Code = 2106
	CodeBadOption     Code = 2107 // an option value that cannot be
	CodeRefusedOption Code = 2108 // known, but leat cannot honour it yet
	CodeExists        Code = 2109 // object exists already
	CodeTableShape    Code = 2110 // table definition that cannot be
	CodeNoPrimaryKey  Code = 2111
	CodeNullability   Code = 2112
	CodeRuntimeValue  Code = 2113 // a value that an expression cannot take at run time

	CodeSourceReach    Code = 3001 // host, port, TLS
	CodeSourceAuth     Code = 3002
	CodeSourceGrant    Code = 3003
	CodeSourceBinlog   Code = 3004 // log_bin, format, row image
	CodeSourceTable    Code = 3005 // table missing at the source
	CodeSourceColumn   Code = 3006 // column missing or of a type that does not fit
	CodeSourcePurged   Code = 3007 // needed binlog is gone
	CodeSourceVersion  Code = 3008
	CodeSourceChanged  Code = 3009 // DDL or row format that the job cannot follow
	CodeSourceIdentity Code = 3010 // another server than before, or server-id clash

	CodeLakeIO       Code = 4001
	CodeLakeCorrupt  Code = 4002
	CodeLakeConflict Code = 4003 // commit conflict with another writer
	CodeLakeShape    Code = 4004 // existing table of another shape
	CodeLakeMissing  Code = 4005 // table or warehouse of a known job is gone
	CodeLakeWriter   Code = 4006 // another leat writer is at work
	CodeLakeInUse    Code = 4007 // something else still needs what is to go

	CodeJobRunning   Code = 5001 // the same job runs already
	CodeJobState     Code = 5002 // stored state does not fit
	CodeJobFenced    Code = 5003 // another process took the job over
	CodeJobUnknown   Code = 5004
	CodeCheckpoint   Code = 5005
	CodeFreshRefused Code = 5006 // --fresh over a non-empty table
	CodeSavepoint    Code = 5007 // a savepoint that cannot be taken, read or restored

	CodeUsage    Code = 6001
	CodeSettings Code = 6002
)
