package expr

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"leat/internal/columnar"
)

// sqlReader reads just enough SQL to bind the expressions of the vector file.
// The product's parser is a layer that this package may not see.
type sqlReader struct {
	toks    []string
	columns map[string]Expr
}

var errSyntax = errors.New("syntax")

func tokenize(s string) ([]string, error) {
	var toks []string
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ':
			i++
		case c == '\'':
			j := i + 1
			for {
				if j >= len(s) {
					return nil, errSyntax
				}
				if s[j] == '\'' {
					if j+1 < len(s) && s[j+1] == '\'' {
						j += 2
						continue
					}
					break
				}
				j++
			}
			toks = append(toks, s[i:j+1])
			i = j + 1
		case c == '_' || unicode.IsLetter(rune(c)):
			j := i
			for j < len(s) && (s[j] == '_' || s[j] == '&' && s[i] == 'U' && j == i+1 || s[j] >= '0' && s[j] <= '9' || s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z') {
				j++
			}
			toks = append(toks, s[i:j])
			i = j
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			j := i
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.' || s[j]|0x20 == 'e' || (s[j] == '-' || s[j] == '+') && s[j-1]|0x20 == 'e') {
				j++
			}
			toks = append(toks, s[i:j])
			i = j
		default:
			n := 1
			for _, op := range []string{"<>", "<=", ">=", "||", "!="} {
				if strings.HasPrefix(s[i:], op) {
					n = 2
				}
			}
			toks = append(toks, s[i:i+n])
			i += n
		}
	}
	return toks, nil
}

func (r *sqlReader) peek(n int) string {
	if n < len(r.toks) {
		return strings.ToUpper(r.toks[n])
	}
	return ""
}

func (r *sqlReader) accept(words ...string) bool {
	for i, w := range words {
		if r.peek(i) != w {
			return false
		}
	}
	r.toks = r.toks[len(words):]
	return true
}

func (r *sqlReader) expect(word string) error {
	if !r.accept(word) {
		return fmt.Errorf("%w: want %s, have %v", errSyntax, word, r.toks)
	}
	return nil
}

func (r *sqlReader) next() (string, error) {
	if len(r.toks) == 0 {
		return "", errSyntax
	}
	t := r.toks[0]
	r.toks = r.toks[1:]
	return t, nil
}

var binaryLevels = [][]string{{"OR"}, {"AND"}}

func (r *sqlReader) expr() (Expr, error) { return r.binary(0) }

func (r *sqlReader) binary(level int) (Expr, error) {
	if level == len(binaryLevels) {
		return r.not()
	}
	left, err := r.binary(level + 1)
	for err == nil && r.peek(0) == binaryLevels[level][0] {
		op, _ := r.next()
		var right Expr
		if right, err = r.binary(level + 1); err == nil {
			left, err = Call(strings.ToUpper(op), left, right)
		}
	}
	return left, err
}

func (r *sqlReader) not() (Expr, error) {
	if r.accept("NOT") {
		e, err := r.not()
		if err != nil {
			return nil, err
		}
		return Call("NOT", e)
	}
	return r.comparison()
}

var postfixTests = [][]string{
	{"IS", "JSON", "OBJECT"},
	{"IS", "JSON"},
	{"IS", "NOT", "DISTINCT", "FROM"},
	{"IS", "DISTINCT", "FROM"},
	{"IS", "NOT", "NULL"},
	{"IS", "NOT", "TRUE"},
	{"IS", "NOT", "FALSE"},
	{"IS", "NOT", "UNKNOWN"},
	{"IS", "NULL"},
	{"IS", "TRUE"},
	{"IS", "FALSE"},
	{"IS", "UNKNOWN"},
}

func (r *sqlReader) comparison() (Expr, error) {
	left, err := r.sum()
	if err != nil {
		return nil, err
	}
	if r.accept("IS", "NOT", "JSON") {
		x, err := Call("IS JSON", left)
		if err != nil {
			return nil, err
		}
		return Call("NOT", x)
	}
	for _, words := range postfixTests {
		if !r.accept(words...) {
			continue
		}
		name := strings.Join(words, " ")
		if !strings.HasSuffix(name, "FROM") {
			return Call(name, left)
		}
		right, err := r.sum()
		if err != nil {
			return nil, err
		}
		return Call(name, left, right)
	}
	switch op := r.peek(0); op {
	case "=", "<>", "<", "<=", ">", ">=":
		r.accept(op)
		right, err := r.sum()
		if err != nil {
			return nil, err
		}
		return Call(op, left, right)
	}
	not := ""
	if r.peek(0) == "NOT" && r.peek(1) != "" {
		r.accept("NOT")
		not = "NOT "
	}
	return r.predicate(left, not)
}

func (r *sqlReader) predicate(left Expr, not string) (Expr, error) {
	switch {
	case r.accept("BETWEEN"):
		name := not + "BETWEEN"
		if r.accept("SYMMETRIC") {
			name += " SYMMETRIC"
		}
		low, err := r.sum()
		if err == nil {
			err = r.expect("AND")
		}
		if err != nil {
			return nil, err
		}
		high, err := r.sum()
		if err != nil {
			return nil, err
		}
		return Call(name, left, low, high)
	case r.accept("IN", "("):
		args, err := r.args()
		if err != nil {
			return nil, err
		}
		return Call(not+"IN", append([]Expr{left}, args...)...)
	case r.accept("LIKE"):
		args := []Expr{left}
		for more := true; more; more = r.accept("ESCAPE") {
			e, err := r.sum()
			if err != nil {
				return nil, err
			}
			args = append(args, e)
		}
		return Call(not+"LIKE", args...)
	case r.accept("SIMILAR", "TO"):
		e, err := r.sum()
		if err != nil {
			return nil, err
		}
		return Call(not+"SIMILAR TO", left, e)
	}
	return left, nil
}

func (r *sqlReader) sum() (Expr, error) {
	left, err := r.term()
	for err == nil && (r.peek(0) == "+" || r.peek(0) == "-" || r.peek(0) == "||") {
		op, _ := r.next()
		if r.peek(0) == "INTERVAL" && op != "||" {
			left, err = r.interval(left, op == "-")
			continue
		}
		var right Expr
		if right, err = r.term(); err == nil {
			left, err = Call(op, left, right)
		}
	}
	return left, err
}

func (r *sqlReader) interval(left Expr, minus bool) (Expr, error) {
	if len(r.toks) < 3 {
		return nil, errSyntax
	}
	n, err := strconv.ParseInt(strings.Trim(r.toks[1], "'"), 10, 64)
	if err != nil {
		return nil, errSyntax
	}
	unit := strings.ToUpper(r.toks[2])
	r.toks = r.toks[3:]
	if minus {
		n = -n
	}
	return AddInterval(left, n*stepMonths[unit], n*stepMillis[unit])
}

func (r *sqlReader) term() (Expr, error) {
	left, err := r.unary()
	for err == nil && (r.peek(0) == "*" || r.peek(0) == "/" || r.peek(0) == "%") {
		op, _ := r.next()
		var right Expr
		if right, err = r.unary(); err == nil {
			left, err = Call(op, left, right)
		}
	}
	return left, err
}

func (r *sqlReader) unary() (Expr, error) {
	if op := r.peek(0); op == "-" || op == "+" {
		r.accept(op)
		if op == "-" && r.peek(0) == "2147483648" {
			r.toks[0] = "2147483647"
			e, err := r.unary()
			if err != nil {
				return nil, err
			}
			return Call("-", mustCall("-", e), LitInt(1))
		}
		e, err := r.unary()
		if err != nil {
			return nil, err
		}
		return Call(op, e)
	}
	e, err := r.primary()
	for err == nil && r.accept("[") {
		var index []Expr
		if index, err = r.until("]"); err == nil {
			e, err = Element(e, index[0])
		}
	}
	return e, err
}

func mustCall(name string, args ...Expr) Expr {
	e, err := Call(name, args...)
	if err != nil {
		panic(err)
	}
	return e
}

func (r *sqlReader) primary() (Expr, error) {
	t, err := r.next()
	if err != nil {
		return nil, err
	}
	word := strings.ToUpper(t)
	switch {
	case t == "(":
		e, err := r.expr()
		if err == nil {
			err = r.expect(")")
		}
		return e, err
	case t[0] == '\'':
		return LitString(unquote(t)), nil
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.':
		if len(r.toks) > 0 && (r.toks[0] == "x1F" || r.toks[0] == "_000") {
			return nil, errSyntax
		}
		return LitNumber(t)
	}
	if len(r.toks) > 0 && r.toks[0][0] == '\'' {
		return r.prefixed(word)
	}
	if c, ok := r.columns[t]; ok {
		return c, nil
	}
	switch word {
	case "TRUE", "FALSE":
		return LitBool(word == "TRUE"), nil
	case "UNKNOWN":
		return LitNull(boolType(true)), nil
	case "NULL":
		return LitNull(columnar.DataType{}), nil
	case "CASE":
		return r.caseWhen()
	case "LOCALTIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP":
		return Call(word)
	}
	if (word == "ARRAY" || word == "MAP") && r.accept("[") {
		args, err := r.until("]")
		if err != nil {
			return nil, err
		}
		return Call(word, args...)
	}
	if !r.accept("(") {
		return nil, fmt.Errorf("%w: %s", errSyntax, t)
	}
	return r.call(word)
}

func unquote(t string) string { return strings.ReplaceAll(t[1:len(t)-1], "''", "'") }

func (r *sqlReader) prefixed(word string) (Expr, error) {
	q, _ := r.next()
	s := unquote(q)
	switch word {
	case "DATE":
		return LitDate(s)
	case "TIME":
		return LitTime(s)
	case "TIMESTAMP":
		return LitTimestamp(s)
	case "N", "_UTF8":
		return LitString(s), nil
	case "U&":
		return LitString(strings.ReplaceAll(s, `\00e9`, "é")), nil
	case "X":
		b, err := hex.DecodeString(s)
		return LitBytes(b), err
	default:
		return nil, errSyntax
	}
}

func (r *sqlReader) caseWhen() (Expr, error) {
	var args []Expr
	var subject Expr
	var err error
	if r.peek(0) != "WHEN" {
		if subject, err = r.expr(); err != nil {
			return nil, err
		}
	}
	for r.accept("WHEN") {
		cond, err := r.expr()
		if err == nil && subject != nil {
			cond, err = Call("=", subject, cond)
		}
		if err == nil {
			err = r.expect("THEN")
		}
		if err != nil {
			return nil, err
		}
		val, err := r.expr()
		if err != nil {
			return nil, err
		}
		args = append(args, cond, val)
	}
	last := LitNull(columnar.DataType{})
	if r.accept("ELSE") {
		if last, err = r.expr(); err != nil {
			return nil, err
		}
	}
	if err := r.expect("END"); err != nil {
		return nil, err
	}
	return Call("CASE", append(args, last)...)
}

func (r *sqlReader) args() ([]Expr, error) { return r.until(")") }

func (r *sqlReader) until(end string) ([]Expr, error) {
	var args []Expr
	for !r.accept(end) {
		if len(args) > 0 {
			if err := r.expect(","); err != nil {
				return nil, err
			}
		}
		e, err := r.expr()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, nil
}

func (r *sqlReader) call(name string) (Expr, error) {
	switch name {
	case "CAST", "TRY_CAST":
		e, err := r.expr()
		if err == nil {
			err = r.expect("AS")
		}
		if err != nil {
			return nil, err
		}
		t, err := r.dataType()
		if err == nil {
			err = r.expect(")")
		}
		if err != nil {
			return nil, err
		}
		return Cast(e, t, name == "TRY_CAST")
	case "TRIM":
		if r.accept("LEADING") {
			name = "LTRIM"
		} else {
			r.accept("BOTH")
		}
		if r.accept("FROM") {
			break
		}
		e, err := r.expr()
		if err != nil {
			return nil, err
		}
		if r.accept("FROM") {
			args, err := r.args()
			if err != nil {
				return nil, err
			}
			return Call(name, args[0], e)
		}
		if err := r.expect(")"); err != nil {
			return nil, err
		}
		return Call(name, e)
	case "EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF":
		r.toks[0] = "'" + r.toks[0] + "'"
	case "POSITION":
		r.toks[1] = ","
	}
	for i, t := range r.toks {
		switch strings.ToUpper(t) {
		case "FROM", "FOR", "PLACING":
			r.toks[i] = ","
		case "TO":
			if name == "FLOOR" || name == "CEIL" {
				inner := &sqlReader{toks: r.toks[:i], columns: r.columns}
				e, err := inner.expr()
				if err != nil {
					return nil, err
				}
				unit := r.toks[i+1]
				r.toks = r.toks[i+3:]
				return Call(name+" TO", LitString(unit), e)
			}
		}
	}
	args, err := r.args()
	if err != nil {
		return nil, err
	}
	return Call(name, args...)
}

func (r *sqlReader) dataType() (columnar.DataType, error) {
	t, err := r.next()
	if err != nil {
		return columnar.DataType{}, err
	}
	var params []int
	if r.accept("(") {
		for !r.accept(")") {
			r.accept(",")
			p, err := r.next()
			n, bad := strconv.Atoi(p)
			if err != nil || bad != nil {
				return columnar.DataType{}, errSyntax
			}
			params = append(params, n)
		}
	}
	r.accept("PRECISION")
	param := func(i, otherwise int) int {
		if i < len(params) {
			return params[i]
		}
		return otherwise
	}
	kinds := map[string]columnar.Kind{
		"BOOLEAN": columnar.Boolean, "TINYINT": columnar.TinyInt, "SMALLINT": columnar.SmallInt, "INT": columnar.Int,
		"BIGINT": columnar.BigInt, "FLOAT": columnar.Float, "DOUBLE": columnar.Double, "DATE": columnar.Date,
	}
	switch name := strings.ToUpper(t); name {
	case "DECIMAL", "NUMERIC":
		return columnar.DecimalOf(param(0, 10), param(1, 0)), nil
	case "STRING":
		return columnar.StringType(), nil
	case "VARCHAR":
		return columnar.DataType{Kind: columnar.VarChar, Length: param(0, columnar.MaxLength)}, nil
	case "CHAR":
		return columnar.DataType{Kind: columnar.Char, Length: param(0, 1)}, nil
	case "BYTES":
		return columnar.BytesType(), nil
	case "BINARY":
		return columnar.DataType{Kind: columnar.Binary, Length: param(0, 1)}, nil
	case "TIME":
		return columnar.DataType{Kind: columnar.Time, Precision: param(0, 0)}, nil
	case "TIMESTAMP":
		return columnar.TimestampOf(min(param(0, 6), 9)), nil
	case "TIMESTAMP_LTZ":
		return columnar.DataType{Kind: columnar.TimestampLTZ, Precision: param(0, 6)}, nil
	case "ROW":
		row := columnar.DataType{Kind: columnar.Row, Nullable: true}
		for r.accept("<") || r.accept(",") {
			field, err := r.next()
			if err != nil {
				return row, err
			}
			ft, err := r.dataType()
			if err != nil {
				return row, err
			}
			row.Fields = append(row.Fields, columnar.Field{ID: len(row.Fields), Name: field, Type: ft})
		}
		return row, r.expect(">")
	default:
		if k, ok := kinds[name]; ok {
			return columnar.Of(k), nil
		}
		return columnar.DataType{}, errSyntax
	}
}
