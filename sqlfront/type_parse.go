package sqlfront

import (
	"fmt"
	"strconv"

	"leat/internal/columnar"
)

// plainTypes take no parameter.
var plainTypes = map[string]columnar.Kind{
	"BOOLEAN": columnar.Boolean, "TINYINT": columnar.TinyInt, "SMALLINT": columnar.SmallInt, "INT": columnar.Int,
	"INTEGER": columnar.Int, "BIGINT": columnar.BigInt, "FLOAT": columnar.Float, "DOUBLE": columnar.Double, "DATE": columnar.Date,
}

// foreignTypes are types of MySQL and others with the type to write.
var foreignTypes = map[string]string{
	"DATETIME": "TIMESTAMP(0)", "TEXT": "STRING", "TINYTEXT": "STRING", "MEDIUMTEXT": "STRING", "LONGTEXT": "STRING", "NVARCHAR": "STRING",
	"NCHAR": "STRING", "CLOB": "STRING", "JSON": "STRING", "ENUM": "STRING", "SET": "ARRAY<STRING>", "UUID": "STRING",
	"BLOB": "BYTES", "TINYBLOB": "BYTES", "MEDIUMBLOB": "BYTES", "LONGBLOB": "BYTES", "BYTEA": "BYTES",
	"MEDIUMINT": "INT", "INT1": "TINYINT", "INT2": "SMALLINT", "INT4": "INT", "INT8": "BIGINT", "LONG": "BIGINT", "SERIAL": "DECIMAL(20, 0)",
	"YEAR": "INT", "BOOL": "BOOLEAN", "BIT": "BOOLEAN for BIT(1), else BINARY(n)", "REAL": "FLOAT or DOUBLE", "NUMBER": "DECIMAL(p, s)",
	"FLOAT4": "FLOAT", "FLOAT8": "DOUBLE", "TIMESTAMPTZ": "TIMESTAMP_LTZ(6)", "GEOMETRY": "STRING", "POINT": "STRING", "LIST": "ARRAY<…>",
	"STRUCT": "ROW<…>", "VARCHAR2": "STRING",
}

// wider is the type that holds the unsigned values of a MySQL type.
var wider = map[string]string{
	"TINYINT": "SMALLINT", "SMALLINT": "INT", "MEDIUMINT": "INT", "INT": "BIGINT", "INTEGER": "BIGINT", "BIGINT": "DECIMAL(20, 0)",
	"FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "DECIMAL": "DECIMAL(p, s)", "NUMERIC": "DECIMAL(p, s)",
}

var typeWords = wordSet("CHAR CHARACTER VARCHAR STRING BINARY VARBINARY BYTES DECIMAL DEC NUMERIC TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP ROW MULTISET RAW VARIANT INTERVAL")

func isTypeWord(up string) bool {
	_, plain := plainTypes[up]
	_, foreign := foreignTypes[up]
	return plain || foreign || typeWords[up]
}

// dataType reads a type with its NOT NULL and the ARRAY and MULTISET behind it.
func (p *parser) dataType() columnar.DataType {
	if !p.enter() {
		return columnar.DataType{}
	}
	defer p.leave()
	t := p.baseType()
	for ; !p.failed; p.link() {
		switch {
		case p.accept("NOT", "NULL"):
			t.Nullable = false
		case p.is("NULL"):
			p.i++
			t.Nullable = true
		case p.accept("ARRAY"):
			elem := t
			t = columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &elem}
		case p.accept("MULTISET"):
			elem := t
			t = columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: &elem}
		default:
			return t
		}
	}
	return t
}

func (p *parser) baseType() columnar.DataType {
	start := p.i
	t := p.peek()
	if t.kind != tokWord {
		p.unexpected("a type")
		return columnar.DataType{}
	}
	if use, ok := foreignTypes[t.up]; ok {
		return p.foreignType(t, use)
	}
	if kind, ok := plainTypes[t.up]; ok {
		p.i++
		return p.plainType(t, kind, start)
	}
	switch t.up {
	case "CHAR", "CHARACTER", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES":
		return p.lengthType()
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimalType()
	case "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		return p.timeType()
	case "ARRAY", "MULTISET", "MAP":
		return p.collectionType()
	case "ROW":
		return p.rowType()
	case "RAW", "VARIANT", "INTERVAL":
		p.refuse(p.posOf(t), "the type "+t.up, "")
		return columnar.DataType{}
	}
	p.fail(p.posOf(t), fmt.Sprintf("'%s' is not a type", t.text), "write one of BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, CHAR(n), VARCHAR(n), BYTES, DATE, TIME(p), TIMESTAMP(p), TIMESTAMP_LTZ(p), ARRAY<t>, MAP<k, v>, ROW<n t>")
	return columnar.DataType{}
}

// foreignType reports a type of another system, steps over its parameters and
// gives NULL-able STRING in its place.
func (p *parser) foreignType(t token, use string) columnar.DataType {
	start := p.i
	p.i++
	if p.isOp("(") {
		if n := p.peekAt(1); t.up == "DATETIME" && n.kind == tokNumber {
			use = "TIMESTAMP(" + n.text + ")"
		}
		p.skipParens()
	}
	if p.is("UNSIGNED") && wider[t.up] != "" {
		use = wider[t.up]
	}
	p.acceptSign()
	p.typeError(p.since(start), fmt.Sprintf("%s is not a type here", p.text(start)), use)
	return columnar.StringType()
}

// acceptSign steps over the attributes of MySQL numbers and reports whether there were any.
func (p *parser) acceptSign() bool {
	found := false
	for p.accept("UNSIGNED") || p.accept("SIGNED") || p.accept("ZEROFILL") {
		found = true
	}
	return found
}

// plainType reads what may follow a type without parameters.
func (p *parser) plainType(t token, kind columnar.Kind, start int) columnar.DataType {
	if kind == columnar.Double {
		p.accept("PRECISION")
	}
	use, width := t.up, ""
	if p.isOp("(") {
		if p.peekAt(2).is(")") {
			width = p.peekAt(1).text
		}
		p.skipParens()
		if t.up == "TINYINT" && width == "1" {
			use = "BOOLEAN, or TINYINT if it holds more than 0 and 1"
		}
		if t.up == "FLOAT" {
			use = "FLOAT or DOUBLE"
		}
	}
	if p.is("UNSIGNED") || p.is("ZEROFILL") {
		use = wider[t.up]
	}
	if p.acceptSign() || p.toks[p.i-1].is(")") {
		p.typeError(p.since(start), fmt.Sprintf("%s is not a type here", p.text(start)), use)
	}
	return columnar.Of(kind)
}

// number reads a parameter between lo and hi; hint is for one that is not.
func (p *parser) number(what string, lo, hi int, hint string) int {
	t := p.peek()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokNumber || err != nil && !isDigits(t.text) {
		p.unexpected(what)
		return lo
	}
	p.i++
	if err != nil || n < lo || n > hi {
		p.soft(p.posOf(t), fmt.Sprintf("%s is %d to %d, not %s", what, lo, hi, t.text), hint)
		return min(max(n, lo), hi)
	}
	return n
}

func isDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func (p *parser) lengthType() columnar.DataType {
	t := p.next()
	kind, length := columnar.Char, 1
	switch t.up {
	case "CHAR", "CHARACTER":
		if p.accept("VARYING") {
			kind, length = columnar.VarChar, columnar.MaxLength
		}
	case "VARCHAR", "STRING":
		kind, length = columnar.VarChar, columnar.MaxLength
	case "BINARY":
		kind = columnar.Binary
		if p.accept("VARYING") {
			kind, length = columnar.VarBinary, columnar.MaxLength
		}
	default:
		kind, length = columnar.VarBinary, columnar.MaxLength
	}
	if p.isOp("(") {
		if t.up == "STRING" || t.up == "BYTES" {
			p.fail(p.tokenPos(p.i), t.up+" takes no length", "write VARCHAR(n) or VARBINARY(n)")
		}
		p.i++
		length = p.number("the length", 1, columnar.MaxLength, "write STRING or BYTES for any length")
		p.expectOp(")")
	}
	return columnar.DataType{Kind: kind, Nullable: true, Length: length}
}

func (p *parser) decimalType() columnar.DataType {
	start := p.i
	t := p.next()
	d := columnar.DecimalOf(10, 0)
	if p.acceptOp("(") {
		d.Precision = p.number("the precision of "+t.up, 1, 38, "write DECIMAL(38, s), or STRING to keep all digits")
		if p.acceptOp(",") {
			d.Scale = p.number("the scale of "+t.up, 0, 38, "write DECIMAL(p, s) with s at most p")
		}
		p.expectOp(")")
		if d.Scale > d.Precision && !p.failed {
			p.soft(p.since(start), fmt.Sprintf("the scale %d is larger than the precision %d", d.Scale, d.Precision), "write DECIMAL(p, s) with s at most p")
			d.Scale = d.Precision
		}
	}
	if p.acceptSign() {
		p.typeError(p.since(start), p.text(start)+" is not a type here", fmt.Sprintf("DECIMAL(%d, %d)", d.Precision, d.Scale))
	}
	return d
}

func (p *parser) timeType() columnar.DataType {
	t := p.next()
	d := columnar.TimestampOf(6)
	switch t.up {
	case "TIME":
		d = columnar.DataType{Kind: columnar.Time, Nullable: true}
	case "TIMESTAMP_LTZ":
		d.Kind = columnar.TimestampLTZ
	}
	if p.acceptOp("(") {
		d.Precision = p.number("the precision of "+t.up, 0, 9, "write "+t.up+"(9) or less; MySQL has at most 6 digits")
		p.expectOp(")")
	}
	switch {
	case t.up == "TIMESTAMP_LTZ":
	case p.accept("WITHOUT", "TIME", "ZONE"):
	case t.up == "TIMESTAMP" && p.accept("WITH", "LOCAL", "TIME", "ZONE"):
		d.Kind = columnar.TimestampLTZ
	case p.is("WITH", "TIME", "ZONE"):
		p.fail(p.tokenPos(p.i), t.up+" WITH TIME ZONE is not known", "write TIMESTAMP_LTZ(p)")
	}
	return d
}

// collectionType reads ARRAY<t>, MULTISET<t> and MAP<k, v>.
func (p *parser) collectionType() columnar.DataType {
	t := p.next()
	p.expectOp("<")
	elem := p.dataType()
	d := columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &elem}
	switch t.up {
	case "MULTISET":
		d.Kind = columnar.Multiset
	case "MAP":
		p.expectOp(",")
		value := p.dataType()
		d.Kind, d.Key, d.Elem = columnar.Map, &elem, &value
	}
	p.expectOp(">")
	return d
}

// rowType reads ROW<n t ['comment'], …> and ROW(n t, …).
func (p *parser) rowType() columnar.DataType {
	p.i++
	d := columnar.DataType{Kind: columnar.Row, Nullable: true}
	closing := ">"
	if p.acceptOp("(") {
		closing = ")"
	} else {
		p.expectOp("<")
	}
	for !p.failed {
		f := columnar.Field{Name: p.columnName("a field name").Text, Type: p.dataType()}
		if t := p.peek(); t.kind == tokString {
			p.i++
			f.Comment = t.text
		}
		d.Fields = append(d.Fields, f)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(closing)
	return d
}
