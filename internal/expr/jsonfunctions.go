package expr

import (
	"slices"

	"leat/internal/columnar"
)

var jsonFunctions = []*function{
	{name: "JSON_VALUE", minArgs: 2, maxArgs: 2, expand: func(_ *function, args []Expr) (Expr, error) {
		return JSON("JSON_VALUE", args[0], args[1], JSONClauses{})
	}},
	{name: "JSON_QUERY", minArgs: 2, maxArgs: 2, expand: func(_ *function, args []Expr) (Expr, error) {
		return JSON("JSON_QUERY", args[0], args[1], JSONClauses{})
	}},
	{name: "JSON_EXISTS", minArgs: 2, maxArgs: 2, expand: func(_ *function, args []Expr) (Expr, error) {
		return JSON("JSON_EXISTS", args[0], args[1], JSONClauses{})
	}},
	{name: "JSON_STRING", minArgs: 1, maxArgs: 1, bind: bindJSONString, build: buildJSONString},
	{name: "IS JSON", form: postfixForm, minArgs: 1, maxArgs: 1, bind: takes(always(boolType(true)), textParam), build: isJSON("")},
	{name: "IS JSON VALUE", form: postfixForm, minArgs: 1, maxArgs: 1, bind: takes(always(boolType(true)), textParam), build: isJSON("")},
	{name: "IS JSON OBJECT", form: postfixForm, minArgs: 1, maxArgs: 1, bind: takes(always(boolType(true)), textParam), build: isJSON("{")},
	{name: "IS JSON ARRAY", form: postfixForm, minArgs: 1, maxArgs: 1, bind: takes(always(boolType(true)), textParam), build: isJSON("[")},
	{name: "IS JSON SCALAR", form: postfixForm, minArgs: 1, maxArgs: 1, bind: takes(always(boolType(true)), textParam), build: isJSON("x")},
}

// JSONClauses are the clauses of JSON_VALUE, JSON_QUERY and JSON_EXISTS.
type JSONClauses struct {
	// Returning is the type of JSON_VALUE; the zero type is STRING.
	Returning columnar.DataType
	// Wrapper of JSON_QUERY is "" for none, "CONDITIONAL" or "UNCONDITIONAL".
	Wrapper string
	// OnEmpty and OnError say what comes where there is no value, and where there is a
	// wrong one: "" (NULL; FALSE for JSON_EXISTS), "NULL", "ERROR", "DEFAULT", "EMPTY
	// ARRAY", "EMPTY OBJECT", "TRUE", "FALSE" or "UNKNOWN".
	OnEmpty, OnError string
	// EmptyDefault and ErrorDefault are the values of DEFAULT.
	EmptyDefault, ErrorDefault Expr
}

// jsonCalls are the functions of JSON once their clauses are bound: the arguments are
// the JSON, the path, and the clauses as literals, with the values of DEFAULT between.
var jsonCalls = map[string]*function{
	"JSON_VALUE":  {name: "JSON_VALUE", build: buildJSON},
	"JSON_QUERY":  {name: "JSON_QUERY", build: buildJSON},
	"JSON_EXISTS": {name: "JSON_EXISTS", build: buildJSON},
}

// JSON binds JSON_VALUE, JSON_QUERY or JSON_EXISTS.
func JSON(name string, x, path Expr, c JSONClauses) (Expr, error) {
	f := jsonCalls[name]
	if x.Type().Kind == columnar.Invalid {
		return nil, errBareNull()
	}
	if !x.Type().IsText() {
		return nil, argError(f, []Expr{x, path}, "write "+name+"(text, '$.name')")
	}
	text, ok := constantText(path)
	if !ok {
		return nil, argError(f, []Expr{x, path}, "write the path as a constant, such as '$.name'")
	}
	if _, ok := parseJSONPath(text); !ok {
		return nil, typeError("write $.name, $['name'], $[0] and the like", "'%s' is no JSON path that leat runs", text)
	}
	defaults := []Expr{c.EmptyDefault, c.ErrorDefault}
	for i, d := range defaults {
		if d == nil || d.Type().Kind == columnar.Invalid {
			defaults[i] = LitNull(columnar.StringType())
			continue
		}
		t, err := Cast(d, columnar.StringType(), false)
		if err != nil {
			return nil, err
		}
		defaults[i] = t
	}
	t := columnar.StringType()
	if name == "JSON_EXISTS" {
		t = boolType(true)
	}
	var out Expr = &callExpr{fn: f, t: t, args: []Expr{x, path, defaults[0], defaults[1], LitString(c.OnEmpty), LitString(c.OnError), LitString(c.Wrapper)}}
	if name == "JSON_VALUE" && c.Returning.Kind != columnar.Invalid {
		return Cast(out, c.Returning, true)
	}
	return out, nil
}

// jsonOutcome is what a path led to.
type jsonOutcome uint8

const (
	jsonFound jsonOutcome = iota
	jsonEmpty
	jsonWrong
)

func buildJSON(c *compiler, e *callExpr) (node, error) {
	text, _ := constantText(e.args[1])
	path, _ := parseJSONPath(text)
	word := func(i int) string { s, _ := constantText(e.args[i]); return s }
	onEmpty, onError, wrapper := word(4), word(5), word(6)
	args, err := c.all([]Expr{e.args[0], e.args[2], e.args[3]})
	if err != nil {
		return nil, err
	}
	if e.fn.name == "JSON_EXISTS" {
		return newLoop(existsLoop(e, &path, onError), args[0]), nil
	}
	pick := scalarOf
	if e.fn.name == "JSON_QUERY" {
		pick = func(out *scratch, found []string, many bool) (string, jsonOutcome) {
			return structureOf(out, found, many, wrapper)
		}
	}
	return newLoop(func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in[0])
		for i := range d {
			d[i] = ""
			if !out.isValid(i) {
				continue
			}
			s, outcome := jsonAt(&path, in[0].strs[i], out, pick)
			how, instead := onError, in[2]
			if outcome == jsonEmpty {
				how, instead = onEmpty, in[1]
			}
			switch {
			case outcome == jsonFound:
			case how == "ERROR" && f.isActive(i):
				return valueError(e, "leave ERROR out: NULL comes instead", "no value at '%s' in %s", text, shorten(in[0].strs[i]))
			case how == "DEFAULT" && instead.isValid(i):
				s = instead.strs[i]
			case how == "EMPTY ARRAY":
				s = "[]"
			case how == "EMPTY OBJECT":
				s = "{}"
			default:
				out.setNull(i, n)
			}
			d[i] = s
		}
		return nil
	}, args...), nil
}

// jsonAt gives the value of a path in a text.
func jsonAt(path *jsonPath, doc string, out *scratch, pick func(*scratch, []string, bool) (string, jsonOutcome)) (string, jsonOutcome) {
	if !validJSON(doc) {
		return "", jsonWrong
	}
	found := path.find(doc)
	if len(found) == 0 && !path.many {
		if path.strict {
			return "", jsonWrong
		}
		return "", jsonEmpty
	}
	return pick(out, found, path.many)
}

// scalarOf gives the text of the one scalar that was found.
func scalarOf(out *scratch, found []string, many bool) (string, jsonOutcome) {
	v := "["
	if !many {
		v = found[0]
	}
	switch v[0] {
	case '{', '[':
		return "", jsonWrong
	case 'n':
		return "", jsonEmpty
	case '"':
		return jsonText(v), jsonFound
	case 't', 'f':
		return v, jsonFound
	default:
		start := len(out.arena)
		out.arena = appendJSONNumber(out.arena, v)
		return out.since(start), jsonFound
	}
}

// structureOf gives the object or array that was found as JSON, a scalar in brackets only.
func structureOf(out *scratch, found []string, many bool, wrapper string) (string, jsonOutcome) {
	scalar := !many && found[0][0] != '{' && found[0][0] != '['
	wrapped := many || wrapper == "UNCONDITIONAL" || wrapper == "CONDITIONAL" && scalar
	if scalar && !wrapped {
		if found[0] == "null" {
			return "", jsonEmpty
		}
		return "", jsonWrong
	}
	start := len(out.arena)
	if wrapped {
		out.arena = append(out.arena, '[')
	}
	for i, v := range found {
		if i > 0 {
			out.arena = append(out.arena, ',')
		}
		out.arena = appendJSON(out.arena, v)
	}
	if wrapped {
		out.arena = append(out.arena, ']')
	}
	return out.since(start), jsonFound
}

func existsLoop(e *callExpr, path *jsonPath, onError string) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[bool](out, n)
		out.mergeValid(n, in[0])
		for i := range d {
			d[i] = false
			if !out.isValid(i) {
				continue
			}
			doc := in[0].strs[i]
			if validJSON(doc) {
				d[i] = len(path.find(doc)) > 0
				continue
			}
			switch {
			case onError == "ERROR" && f.isActive(i):
				return valueError(e, "leave ERROR out: FALSE comes instead", "%s is no JSON", shorten(doc))
			case onError == "UNKNOWN":
				out.setNull(i, n)
			default:
				d[i] = onError == "TRUE"
			}
		}
		return nil
	}
}

// isJSON tests for JSON, of one form where first is its first byte, and "x" is a scalar.
func isJSON(first string) func(*compiler, *callExpr) (node, error) {
	return building(func() loop {
		return fixedRows(func(in []*vector, i int) (bool, bool) {
			s := in[0].strs[i]
			if !validJSON(s) || first == "" {
				return first == "" && validJSON(s), true
			}
			for j := range s {
				if slices.Contains([]byte(jsonSpace), s[j]) {
					continue
				}
				isOpen := s[j] == '{' || s[j] == '['
				return first == s[j:j+1] || first == "x" && !isOpen, true
			}
			return false, true
		})
	})
}

func bindJSONString(_ *function, args []Expr) (columnar.DataType, []Expr, error) {
	if args[0].Type().Kind == columnar.Invalid {
		return columnar.DataType{}, nil, errBareNull()
	}
	return withNull(columnar.StringType(), args), args, nil
}

// buildJSONString writes values as JSON.
func buildJSONString(c *compiler, e *callExpr) (node, error) {
	text := c.jsonOf(e.args[0].Type())
	return c.loopOver(e, textRowsOf(func(in []*vector, i int, out *scratch) string {
		start := len(out.arena)
		out.arena = text(out.arena, in[0], i)
		return out.since(start)
	}))
}

// jsonOf gives the JSON of values: numbers and BOOLEAN as they are, others as text, MAP
// and ROW as objects.
func (c *compiler) jsonOf(t columnar.DataType) valueText {
	inner := func(t columnar.DataType) valueText {
		text := c.jsonOf(t)
		return func(b []byte, v *vector, i int) []byte {
			if !v.isValid(i) {
				return append(b, "null"...)
			}
			return text(b, v, i)
		}
	}
	switch {
	case t.Kind == columnar.Array:
		elem := inner(*t.Elem)
		return func(b []byte, v *vector, i int) []byte {
			b = append(b, '[')
			for j := int(v.from[i]); j < int(v.to[i]); j++ {
				if j > int(v.from[i]) {
					b = append(b, ',')
				}
				b = elem(b, v.kids[0], j)
			}
			return append(b, ']')
		}
	case t.Kind == columnar.Map || t.Kind == columnar.Multiset:
		kids := kidTypes(t)
		key, value := c.textOf(kids[0]), inner(kids[1])
		return func(b []byte, v *vector, i int) []byte {
			b = append(b, '{')
			for j := int(v.from[i]); j < int(v.to[i]); j++ {
				if j > int(v.from[i]) {
					b = append(b, ',')
				}
				b = append(appendQuoted(b, string(key(nil, v.kids[0], j))), ':')
				b = value(b, v.kids[1], j)
			}
			return append(b, '}')
		}
	case t.Kind == columnar.Row:
		fields := make([]valueText, len(t.Fields))
		for k := range fields {
			fields[k] = inner(t.Fields[k].Type)
		}
		return func(b []byte, v *vector, i int) []byte {
			b = append(b, '{')
			for k, text := range fields {
				if k > 0 {
					b = append(b, ',')
				}
				b = append(appendQuoted(b, t.Fields[k].Name), ':')
				b = text(b, v.kids[k], i)
			}
			return append(b, '}')
		}
	case t.IsNumeric():
		return c.textOf(t)
	case t.Kind == columnar.Boolean:
		return func(b []byte, v *vector, i int) []byte {
			if values[bool](v)[i] {
				return append(b, "true"...)
			}
			return append(b, "false"...)
		}
	default:
		text := c.textOf(t)
		return func(b []byte, v *vector, i int) []byte { return appendQuoted(b, string(text(nil, v, i))) }
	}
}
