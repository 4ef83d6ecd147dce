package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
)

// function is an operator or a function of the dialect.
type function struct {
	name string
	// label is how String writes the name, where it is another one.
	label string
	form  form
	// volatile functions give another value at another time.
	volatile bool
	// minArgs and maxArgs bound the number of arguments; maxArgs -1 is any number.
	minArgs, maxArgs int
	// bind checks the argument types and gives the result type and the arguments
	// with the casts that the function needs.
	bind func(f *function, args []Expr) (columnar.DataType, []Expr, error)
	// build gives the node that computes e.
	build func(c *compiler, e *callExpr) (node, error)
	// expand, where given, replaces the call by other calls; bind and build are nil then.
	expand func(f *function, args []Expr) (Expr, error)
}

// form says how String writes a call.
type form uint8

const (
	prefixForm form = iota // NAME(a, b)
	infixForm              // a NAME b
	postfixForm
	unaryForm // NAME a
)

// functions holds everything Call knows, by upper-case name.
var functions = map[string]*function{}

func init() {
	for _, group := range [][]*function{
		arithmeticFunctions, compareFunctions, logicFunctions, conditionalFunctions, numericFunctions,
		textFunctions, patternFunctions, hashFunctions, timeFunctions, timestampFunctions,
		buildingFunctions, arrayFunctions, mapFunctions, jsonFunctions,
	} {
		for _, f := range group {
			functions[f.name] = f
		}
	}
	for alias, name := range aliases {
		functions[alias] = functions[name]
	}
}

// aliases are further names of functions.
var aliases = map[string]string{
	"!=": "<>", "MOD": "%", "CHARACTER_LENGTH": "CHAR_LENGTH", "SUBSTR": "SUBSTRING", "CEILING": "CEIL",
	"POW": "POWER", "NEGATE": "-",
}

// hints say what to write in place of functions that users of other databases try.
var hints = map[string]string{
	"LENGTH": "write CHAR_LENGTH(s)", "OCTET_LENGTH": "write CHAR_LENGTH(CAST(s AS BYTES)) on Flink 2.0, or CHAR_LENGTH(s) for characters",
	"NVL": "write IFNULL(a, b)", "IF_NULL": "write IFNULL(a, b)", "CURDATE": "write CURRENT_DATE", "SYSDATE": "write CURRENT_TIMESTAMP",
	"DATEDIFF": "write TIMESTAMPDIFF(DAY, a, b)", "DATE_ADD": "write TIMESTAMPADD(DAY, n, d)", "DATE_SUB": "write TIMESTAMPADD(DAY, -n, d)",
	"CONVERT": "write CAST(x AS type)", "<=>": "write a IS NOT DISTINCT FROM b", "DIV": "write a / b; integers divide to an integer",
	"RLIKE": "write REGEXP(a, b)", "==": "write a = b",
}

// Functions lists the names that Call knows, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

// Call binds an operator or a function, whose name is given in upper case. Parts
// of the syntax that are no values come as literals: the unit of EXTRACT and of
// "FLOOR TO" and "CEIL TO" is a string literal in front.
//
//	CASE      cond, value, cond, value, …, else (the last argument; LitNull for none)
//	BETWEEN   x, low, high (also NOT BETWEEN, BETWEEN SYMMETRIC, NOT BETWEEN SYMMETRIC)
//	IN        x, element, … (also NOT IN)
//	LIKE      x, pattern[, escape] (also NOT LIKE, SIMILAR TO, NOT SIMILAR TO)
//	TRIM      s[, characters] (also LTRIM, RTRIM for LEADING, TRAILING)
//	EXTRACT   unit, x;  TIMESTAMPADD unit, n, x;  TIMESTAMPDIFF unit, a, b
//	POSITION  part, s
//	OVERLAY   s, replacement, start[, length]
//
// The words may also be part of the name: EXTRACT_DAY(x), TIMESTAMPADD_DAY(n, x),
// TIMESTAMPDIFF_DAY(a, b), FLOOR_HOUR(x), CEIL_HOUR(x), TRIM_LEADING(characters, s).
func Call(name string, args ...Expr) (Expr, error) {
	f, ok := functions[name]
	if !ok {
		if name, args, ok := splitWord(name, args); ok {
			return Call(name, args...)
		}
		return nil, unknownFunction(name)
	}
	if len(args) < f.minArgs || f.maxArgs >= 0 && len(args) > f.maxArgs {
		return nil, typeError("write "+f.usage(), "%s does not take %s", name, countText(len(args), "argument"))
	}
	if f.expand != nil {
		return f.expand(f, args)
	}
	t, bound, err := f.bind(f, args)
	if err != nil {
		return nil, err
	}
	return &callExpr{fn: f, args: bound, t: t}, nil
}

// splitWord takes the word of a special syntax out of the name.
func splitWord(name string, args []Expr) (string, []Expr, bool) {
	head, word, ok := strings.Cut(name, "_")
	if !ok {
		return "", nil, false
	}
	unit := append([]Expr{LitString(word)}, args...)
	switch head {
	case "EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF":
		return head, unit, true
	case "FLOOR", "CEIL":
		return head + " TO", unit, true
	case "TRIM":
		trim := map[string]string{"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[word]
		swapped := slices.Clone(args)
		slices.Reverse(swapped)
		return trim, swapped, trim != ""
	}
	return "", nil, false
}

func unknownFunction(name string) *diag.Error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownFunc, Msg: fmt.Sprintf("there is no function %s", name)}
	if h, ok := hints[name]; ok {
		e.Hint = h
		return e
	}
	if best := configs.Nearest(name, Functions()); best != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", best)
	} else {
		e.Hint = "use a function of Flink SQL that leat knows; user-defined functions need Flink"
	}
	return e
}

func (f *function) usage() string {
	n := f.minArgs
	names := make([]string, 0, n+1)
	for i := range n {
		names = append(names, string(rune('a'+i)))
	}
	if f.maxArgs < 0 {
		names = append(names, "…")
	} else if f.maxArgs > n {
		names = append(names, "[…]")
	}
	return writeCall(f, names)
}

func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func writeCall(f *function, args []string) string {
	switch {
	case f.form == infixForm && len(args) == 2:
		return args[0] + " " + f.name + " " + args[1]
	case f.form == infixForm && len(args) > 2:
		return args[0] + " " + f.name + " (" + strings.Join(args[1:], ", ") + ")"
	case f.form == postfixForm && len(args) == 1:
		return args[0] + " " + f.name
	case (f.form == unaryForm || f.form == infixForm) && len(args) == 1:
		sep := " "
		if f.name == "-" || f.name == "+" {
			sep = ""
		}
		return f.name + sep + args[0]
	case f.label != "":
		return f.label + "(" + strings.Join(args, ", ") + ")"
	default:
		return f.name + "(" + strings.Join(args, ", ") + ")"
	}
}

// argError lists the types that f does not take; hint says what to write.
func argError(f *function, args []Expr, hint string) *diag.Error {
	types := make([]string, len(args))
	for i, a := range args {
		types[i] = typeName(a.Type())
	}
	return typeError(hint, "%s does not take (%s)", f.name, strings.Join(types, ", "))
}
