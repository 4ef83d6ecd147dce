package sqlfront

import (
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// Script is a parsed script.
type Script struct {
	File string
	// Text is the text as given, byte order mark included.
	Text string
	// Statements are those that could be read, in order.
	Statements []Statement
	// Notices are remarks that do not stop the script, in order.
	Notices []Notice
}

// Notice is a remark about a place in a script.
type Notice struct {
	Pos diag.Pos
	Msg string
	// Portable marks text that leat accepts and Flink refuses.
	Portable bool
}

// Statement is one statement of a script.
type Statement interface {
	// Pos is the first word of the statement.
	Pos() diag.Pos
	// Text is the source text without the closing ";" and surrounding space.
	Text() string
	stmt()
}

// Span is the place and the source text of a statement.
type Span struct {
	At     diag.Pos
	Source string
}

// Pos is the first word of the statement.
func (s *Span) Pos() diag.Pos { return s.At }

// Text is the source text of the statement.
func (s *Span) Text() string { return s.Source }

func (*Span) stmt() {}

// Name is one part of a name, without backticks.
type Name struct {
	Text string
	At   diag.Pos
}

// ObjectName is a name of one to three parts: [catalog.][database.]object.
type ObjectName struct {
	Parts []Name
	At    diag.Pos
}

// String gives the parts joined with dots, without quoting.
func (n ObjectName) String() string {
	return strings.Join(n.Strings(), ".")
}

// Strings gives the texts of the parts.
func (n ObjectName) Strings() []string {
	s := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		s[i] = p.Text
	}
	return s
}

// Option is one 'key' = 'value' of WITH, SET or an OPTIONS hint.
type Option struct {
	Key      string
	KeyPos   diag.Pos
	Value    string
	ValuePos diag.Pos
	// Raw is the value as written, quotes included, if it has ${NAME} in it; else
	// empty. Format prints it instead of Value, so that secrets stay out of texts.
	Raw string
}

// Options are options in the order of the script.
type Options []Option

// Get gives the last option with that key.
func (o Options) Get(key string) (Option, bool) {
	for _, option := range slices.Backward(o) {
		if option.Key == key {
			return option, true
		}
	}
	return Option{}, false
}

// Set is SET 'key' = 'value'.
type Set struct {
	Span
	Option
}

// SetList is SET without arguments: list all settings.
type SetList struct{ Span }

// Reset is RESET 'key'; an empty Key resets all.
type Reset struct {
	Span
	Key    string
	KeyPos diag.Pos
}

// CreateCatalog is CREATE CATALOG.
type CreateCatalog struct {
	Span
	IfNotExists bool
	Name        Name
	Comment     *string
	Options     Options
}

// UseCatalog is USE CATALOG.
type UseCatalog struct {
	Span
	Name Name
}

// Use is USE [catalog.]database.
type Use struct {
	Span
	Name ObjectName
}

// CreateDatabase is CREATE DATABASE.
type CreateDatabase struct {
	Span
	IfNotExists bool
	Name        ObjectName
	Comment     *string
	Options     Options
}

// CreateTable is CREATE TABLE in all its forms.
type CreateTable struct {
	Span
	Temporary   bool
	OrReplace   bool // CREATE OR REPLACE TABLE … AS and REPLACE TABLE … AS
	IfNotExists bool
	Name        ObjectName
	Columns     []Column
	// Watermark is nil if there is none.
	Watermark *Watermark
	// PrimaryKey is nil if there is none; a key declared at its column is here too.
	PrimaryKey    *PrimaryKey
	Comment       *string
	Distributed   *Distributed
	PartitionedBy []Name
	Options       Options
	// WithPos is the place of WITH, the zero Pos without one.
	WithPos diag.Pos
	Like    *Like
	// AsQuery is the query of CREATE TABLE … AS.
	AsQuery *Query
}

// ColumnKind tells the three kinds of columns apart.
type ColumnKind uint8

// The kinds of columns.
const (
	Physical ColumnKind = iota
	Computed
	Metadata
)

// Column is a column of CREATE TABLE.
type Column struct {
	Name Name
	Kind ColumnKind
	// Type is Invalid for a computed column. A column without NOT NULL is
	// nullable here even if it is part of the primary key.
	Type    columnar.DataType
	TypePos diag.Pos
	// Expr is the expression of a computed column.
	Expr Expr
	// MetadataKey is the key after METADATA FROM; empty means the column's name.
	MetadataKey    string
	MetadataKeyPos diag.Pos
	Virtual        bool
	Comment        *string
}

// Watermark is WATERMARK FOR column AS expr.
type Watermark struct {
	At     diag.Pos
	Column ObjectName
	Expr   Expr
}

// PrimaryKey is [CONSTRAINT name] PRIMARY KEY (columns) NOT ENFORCED.
type PrimaryKey struct {
	At         diag.Pos
	Constraint string
	Columns    []Name
}

// Distributed is DISTRIBUTED [BY [HASH|RANGE] (columns)] [INTO n BUCKETS].
type Distributed struct {
	At      diag.Pos
	Kind    string // "", "HASH" or "RANGE"
	Columns []Name
	Buckets int // 0 if not given
}

// Like is LIKE source (options).
type Like struct {
	At      diag.Pos
	Source  ObjectName
	Options []LikeOption
}

// LikeOption is one of INCLUDING, EXCLUDING, OVERWRITING with what it is about.
type LikeOption struct {
	Action string
	What   string
}

// CreateView is CREATE VIEW.
type CreateView struct {
	Span
	Temporary, OrReplace, IfNotExists bool

	Name ObjectName
	// Columns is nil if the columns keep the names of the query.
	Columns []Name
	Comment *string
	Query   *Query
}

// AlterOptions is ALTER CATALOG or ALTER DATABASE.
type AlterOptions struct {
	Span
	Word string // "CATALOG" or "DATABASE"
	Name ObjectName
	// Action is "SET", "RESET" (Options holds the keys) or "COMMENT".
	Action  string
	Options Options
	Comment *string
}

// AlterView is ALTER VIEW … RENAME TO or AS; the other one of NewName and Query is empty.
type AlterView struct {
	Span
	Name    ObjectName
	NewName ObjectName
	Query   *Query
}

// DropKind is what DROP drops.
type DropKind uint8

// The objects that DROP knows.
const (
	DropTable DropKind = iota
	DropDatabase
	DropCatalog
	DropView
)

// Drop is DROP TABLE, DATABASE, CATALOG or VIEW.
type Drop struct {
	Span
	Kind      DropKind
	Temporary bool
	IfExists  bool
	Name      ObjectName
	// Cascade is DROP DATABASE … CASCADE.
	Cascade bool
}

// Truncate is TRUNCATE TABLE.
type Truncate struct {
	Span
	Name ObjectName
}

// Insert is INSERT INTO or INSERT OVERWRITE.
type Insert struct {
	Span
	Overwrite bool
	Target    ObjectName
	Hints     []Hint
	Partition []PartitionValue
	// Columns is nil if there is no column list.
	Columns []Name
	Query   *Query
}

// Update is UPDATE table SET column = value, … [WHERE condition].
type Update struct {
	Span
	Target ObjectName
	Hints  []Hint
	Alias  Name
	Set    []Assignment
	// Where is nil for all rows.
	Where Expr
}

// Assignment is one column = value of UPDATE.
type Assignment struct {
	Column ObjectName
	Value  Expr
}

// Delete is DELETE FROM table [WHERE condition].
type Delete struct {
	Span
	Target ObjectName
	Hints  []Hint
	Alias  Name
	// Where is nil for all rows.
	Where Expr
}

// PartitionValue is one column of a PARTITION clause; Value is nil for a column alone.
type PartitionValue struct {
	Column Name
	Value  Expr
}

// StatementSet is EXECUTE STATEMENT SET BEGIN … END, also in its older form.
type StatementSet struct {
	Span
	// Statements are *Insert, or *CreateTable with a query.
	Statements []Statement
}

// Explain is EXPLAIN in all its forms; Details are the upper-case words before the statement.
type Explain struct {
	Span
	Details   []string
	Statement Statement // *Insert, *StatementSet, *QueryStatement or *CreateTable with a query
}

// QueryStatement is a query on its own.
type QueryStatement struct {
	Span
	Query *Query
}

// CallProcedure is CALL name(args). Arguments are all positional or all named.
type CallProcedure struct {
	Span
	Name ObjectName
	Args []ProcedureArg
}

// ProcedureArg is an argument of CALL; Name is empty for a positional one.
type ProcedureArg struct {
	Name  Name
	Value Expr
}

// Show is SHOW in all its forms.
type Show struct {
	Span
	// What is the upper-case object, such as "TABLES", "CREATE TABLE", "CURRENT CATALOG".
	What string
	// Name is what follows directly, or after FROM and IN; without parts if nothing.
	Name ObjectName
	// Like is the pattern text, nil without one.
	Like      *string
	NotLike   bool
	ILike     bool
	Partition []PartitionValue
}

// Describe is DESCRIBE or DESC.
type Describe struct {
	Span
	// What is "TABLE", "CATALOG", "DATABASE", "FUNCTION" or "JOB".
	What     string
	Extended bool
	Name     ObjectName
}

// StopJob is STOP JOB 'name' [WITH SAVEPOINT] [WITH DRAIN].
type StopJob struct {
	Span
	// Job is the name or the id of a job, at JobPos.
	Job    string
	JobPos diag.Pos
	// Savepoint makes the last checkpoint a savepoint, Drain goes with it alone.
	Savepoint, Drain bool
}

// AlterTable is ALTER TABLE.
type AlterTable struct {
	Span
	IfExists bool
	Name     ObjectName
	// Action is "SET", "RESET", "RENAME TO", or another first word, such as "ADD".
	Action  string
	Options Options    // of SET
	Keys    []Option   // of RESET; only Key and KeyPos are set
	NewName ObjectName // of RENAME TO
	// Rest is the source text behind the first word of any other action; what it
	// says is in the fields below.
	Rest string
	// Columns are those of ADD and MODIFY, in order.
	Columns []AlterColumn
	// Dropped are the columns of DROP, each by its path.
	Dropped [][]Name
	// Renamed is the column of RENAME and NewColumn its new name.
	Renamed   []Name
	NewColumn Name
	// Partitions are those of ADD PARTITION and DROP PARTITION; with IfPartition
	// one that is there, or missing, is no error.
	Partitions  [][]PartitionValue
	IfPartition bool
	// Watermark is that of ADD and MODIFY; DropWatermark is DROP WATERMARK.
	Watermark     *Watermark
	DropWatermark bool
	// Key is where a primary key or another constraint is changed; zero without one.
	Key diag.Pos
	// OfPartition is the place of ALTER TABLE t PARTITION (…) of older dialects.
	OfPartition diag.Pos
}

// AlterColumn is a column of ADD or MODIFY with its place.
type AlterColumn struct {
	Column
	// Path is the name, with the ROW columns around it in front.
	Path []Name
	// NullabilityGiven says that NULL or NOT NULL was written.
	NullabilityGiven bool
	First            bool
	// After is the column in front; the zero Name without one.
	After Name
}

// Ignored is a statement that leat accepts and does nothing for.
type Ignored struct {
	Span
	// What is its name, such as "ADD JAR".
	What string
	// Reason says why nothing happens.
	Reason string
}

// Unsupported is a statement that Flink knows and leat does not run.
type Unsupported struct {
	Span
	// What is its name, such as "UPDATE".
	What string
	// Hint says what to do instead.
	Hint string
}

// Error gives the refusal of the statement.
func (u *Unsupported) Error() *diag.Error { return unsupported(u.At, u.What, u.Hint) }

// Hint is one hint of /*+ … */.
type Hint struct {
	At diag.Pos
	// Name is in upper case.
	Name    string
	Options Options
	// Args is the source text between the parentheses if they are no options.
	Args string
}

func unsupported(at diag.Pos, what, hint string) *diag.Error {
	if hint == "" {
		hint = "this part needs Flink; the same script runs there"
	}
	return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: what + " is not supported", Hint: hint}
}
