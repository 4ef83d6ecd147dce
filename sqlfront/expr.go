package sqlfront

import (
	"leat/internal/columnar"
	"leat/internal/diag"
)

// Expr is an expression.
type Expr interface {
	// Pos covers the expression as far as its first line goes.
	Pos() diag.Pos
	expr()
}

// Node is the place of an expression.
type Node struct{ At diag.Pos }

// Pos covers the expression as far as its first line goes.
func (n *Node) Pos() diag.Pos { return n.At }

func (*Node) expr() {}

// Ident is a column name, perhaps qualified.
type Ident struct {
	Node
	Parts []Name
}

// String gives the parts joined with dots, without quoting.
func (i *Ident) String() string { return ObjectName{Parts: i.Parts}.String() }

// LiteralKind is the kind of a literal.
type LiteralKind uint8

// The kinds of literals.
const (
	LitNull LiteralKind = iota
	LitBool
	LitInt     // fits 32 bits
	LitBigInt  // fits 64 bits
	LitDecimal // with a point and without an exponent
	LitDouble  // with an exponent
	LitString
	LitBinary
	LitDate
	LitTime
	LitTimestamp
	LitTimestampLTZ // wall clock in the session's time zone
	LitInterval
)

// Literal is a constant. Which fields are set depends on Kind.
type Literal struct {
	Node
	Kind LiteralKind
	// Text is the digits of a number; the value of a string, ${NAME} replaced; the
	// canonical text of DATE, TIME, TIMESTAMP ("2024-01-02 03:04:05.67"); the text
	// between the quotes of INTERVAL.
	Text string
	// Bool is the value of LitBool. UNKNOWN is LitNull with Unknown set.
	Bool    bool
	Unknown bool
	// Int is the value of LitInt and LitBigInt; days since 1970-01-01 of LitDate;
	// seconds of the day of LitTime; seconds since 1970-01-01 00:00:00 of the wall
	// clock of LitTimestamp and LitTimestampLTZ; months or seconds of LitInterval.
	Int int64
	// Nanos is the fraction of the second of times and intervals; 0 to 999,999,999.
	Nanos int32
	Bytes []byte
	// Precision is the digits of LitDecimal and the digits of the fraction of times.
	Precision int
	Scale     int
	// Unit tells what LitInterval counts.
	Unit IntervalUnit
	// Raw is the literal as written, quotes included, if it has ${NAME} in it.
	Raw string
}

// IntervalUnit is the qualifier of an interval.
type IntervalUnit struct {
	// From is "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE" or "SECOND".
	From string
	// To is the last field, empty for a single field.
	To string
	// Lead is the precision given for the first field, 0 if none.
	Lead int
}

// Months reports whether the interval counts months rather than seconds.
func (u IntervalUnit) Months() bool {
	return u.From == "YEAR" || u.From == "QUARTER" || u.From == "MONTH"
}

// Type gives the type of the literal as Flink types it: CHAR(n) for strings,
// BINARY(n) for bytes, TIMESTAMP(digits given). NULL and intervals are Invalid.
func (l *Literal) Type() columnar.DataType {
	switch l.Kind {
	case LitNull:
		if l.Unknown {
			return columnar.Of(columnar.Boolean)
		}
		return columnar.DataType{}
	case LitBool:
		return columnar.Of(columnar.Boolean).NotNull()
	case LitInt:
		return columnar.Of(columnar.Int).NotNull()
	case LitBigInt:
		return columnar.Of(columnar.BigInt).NotNull()
	case LitDecimal:
		return columnar.DecimalOf(l.Precision, l.Scale).NotNull()
	case LitDouble:
		return columnar.Of(columnar.Double).NotNull()
	case LitString:
		return columnar.DataType{Kind: columnar.Char, Length: len([]rune(l.Text))}
	case LitBinary:
		return columnar.DataType{Kind: columnar.Binary, Length: len(l.Bytes)}
	case LitDate:
		return columnar.Of(columnar.Date).NotNull()
	case LitTime:
		return columnar.DataType{Kind: columnar.Time, Precision: l.Precision}
	case LitTimestamp:
		return columnar.TimestampOf(l.Precision).NotNull()
	case LitTimestampLTZ:
		return columnar.DataType{Kind: columnar.TimestampLTZ, Precision: l.Precision}
	default:
		return columnar.DataType{}
	}
}

// Op is an operator, written as Format prints it.
type Op string

// The operators of Unary and Binary.
const (
	OpOr           Op = "OR"
	OpAnd          Op = "AND"
	OpNot          Op = "NOT"
	OpEq           Op = "="
	OpNe           Op = "<>"
	OpLt           Op = "<"
	OpLe           Op = "<="
	OpGt           Op = ">"
	OpGe           Op = ">="
	OpDistinct     Op = "IS DISTINCT FROM"
	OpNotDistinct  Op = "IS NOT DISTINCT FROM"
	OpAdd          Op = "+" // also a sign
	OpSub          Op = "-" // also a sign
	OpMul          Op = "*"
	OpDiv          Op = "/"
	OpMod          Op = "%"
	OpConcat       Op = "||"
	OpIsNull       Op = "IS NULL"
	OpIsNotNull    Op = "IS NOT NULL"
	OpIsTrue       Op = "IS TRUE"
	OpIsNotTrue    Op = "IS NOT TRUE"
	OpIsFalse      Op = "IS FALSE"
	OpIsNotFalse   Op = "IS NOT FALSE"
	OpIsUnknown    Op = "IS UNKNOWN"
	OpIsNotUnknown Op = "IS NOT UNKNOWN"
)

// JSONCall is JSON_VALUE, JSON_QUERY or JSON_EXISTS with clauses; without them it is a Call.
type JSONCall struct {
	Node
	Func    string
	X, Path Expr
	// Returning is the type of RETURNING; the zero type without it.
	Returning columnar.DataType
	// Wrapper is "", "WITHOUT", "WITH CONDITIONAL" or "WITH UNCONDITIONAL".
	Wrapper          string
	OnEmpty, OnError JSONBehavior
}

// JSONBehavior is what stands in front of ON EMPTY and ON ERROR.
type JSONBehavior struct {
	// Word is "" without the clause, else "NULL", "ERROR", "DEFAULT", "EMPTY ARRAY", "EMPTY
	// OBJECT", "TRUE", "FALSE" or "UNKNOWN".
	Word string
	// Default is the value of DEFAULT.
	Default Expr
}

// Unary is NOT x, -x, +x, or x IS [NOT] NULL, TRUE, FALSE, UNKNOWN.
type Unary struct {
	Node
	Op Op
	X  Expr
}

// Binary is an operator between two expressions.
type Binary struct {
	Node
	Op    Op
	OpPos diag.Pos
	L, R  Expr
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Node
	X, Low, High   Expr
	Not, Symmetric bool
}

// In is x [NOT] IN (list) or x [NOT] IN (query).
type In struct {
	Node
	X     Expr
	Not   bool
	List  []Expr
	Query *Query // nil with a list
}

// LikeExpr is x [NOT] LIKE pattern [ESCAPE escape]; Similar is SIMILAR TO.
type LikeExpr struct {
	Node
	X, Pattern   Expr
	Escape       Expr // nil if not given
	Not, Similar bool
}

// Case is CASE [operand] WHEN … THEN … [ELSE …] END.
type Case struct {
	Node
	Operand Expr // nil for the searched form
	Whens   []When
	Else    Expr // nil if not given
}

// When is one branch of Case.
type When struct{ Cond, Then Expr }

// Cast is CAST(x AS type) or TRY_CAST(x AS type).
type Cast struct {
	Node
	X       Expr
	Type    columnar.DataType
	TypePos diag.Pos
	Try     bool
}

// Call is a function call. Special syntaxes become plain arguments:
//
//	SUBSTRING(x FROM a FOR b)            SUBSTRING(x, a, b)
//	TRIM(BOTH c FROM x)                  TRIM(Symbol BOTH, c, x); TRIM(LEADING FROM x) has ' ' as c
//	EXTRACT(DAY FROM x)                  EXTRACT(Symbol DAY, x)
//	POSITION(a IN b)                     POSITION(a, b)
//	OVERLAY(x PLACING y FROM a FOR b)    OVERLAY(x, y, a, b)
//	CEIL(x TO HOUR), FLOOR(x TO HOUR)    FLOOR(x, Symbol HOUR)
//	TIMESTAMPADD(DAY, n, x)              TIMESTAMPADD(Symbol DAY, n, x)
//
// CURRENT_TIMESTAMP and its like are calls with Bare set.
type Call struct {
	Node
	// Name is as written; Func is its upper-case text if it has one part.
	Name     ObjectName
	Func     string
	Args     []Expr
	Distinct bool
	// Bare is a call without parentheses, such as CURRENT_DATE.
	Bare bool
	// Filter is FILTER (WHERE …), nil without it.
	Filter Expr
	// Over is OVER (…), nil without it.
	Over *Window
}

// Window is the window of OVER; Frame is the source text of ROWS or RANGE. Base is
// the name of a window of the clause WINDOW that it is, or begins with.
type Window struct {
	At          diag.Pos
	Base        Name
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       string
}

// Symbol is a keyword as an argument, in upper case: DAY, BOTH, ….
type Symbol struct {
	Node
	Text string
}

// Star is * or table.*, in a select list or as the argument of COUNT.
type Star struct {
	Node
	Qualifier []Name
}

// RowExpr is (a, b, …) or ROW(a, …).
type RowExpr struct {
	Node
	Items []Expr
}

// Subquery is a query as a value; Exists is EXISTS (query).
type Subquery struct {
	Node
	Query  *Query
	Exists bool
}

// Collection is ARRAY[a, …] or MAP[key, value, …].
type Collection struct {
	Node
	Word  string // "ARRAY" or "MAP"
	Items []Expr
}

// Element is x[index].
type Element struct {
	Node
	X, Index Expr
}

// FieldRef is x.field, where x is no name: those are Idents of several parts.
type FieldRef struct {
	Node
	X     Expr
	Field Name
}

// Overlaps is (a, b) OVERLAPS (c, d) and the like; Op is the word between.
type Overlaps struct {
	Node
	Op   string
	L, R Expr
}

// Quantified is x op ANY (query) or x op ALL (query); ANY stands for SOME too.
type Quantified struct {
	Node
	X     Expr
	Op    Op
	All   bool
	Query *Query
}

// UnsupportedExpr is an expression that leat does not evaluate, such as JSON_VALUE with clauses.
type UnsupportedExpr struct {
	Node
	What string
	Text string // source text
	Hint string
}

// Error gives the refusal of the expression.
func (u *UnsupportedExpr) Error() *diag.Error { return unsupported(u.At, u.What, u.Hint) }
