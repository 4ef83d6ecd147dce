package sqlfront

import (
	"fmt"
	"slices"
	"strings"
)

// spanOf gives the Span to fill in, nil for no statement.
func spanOf(st Statement) *Span {
	if s, ok := st.(interface{ span() *Span }); ok {
		return s.span()
	}
	return nil
}

func (s *Span) span() *Span { return s }

// statement reads one statement by its first word.
func (p *parser) statement() Statement {
	t := p.peek()
	if t.is("(") {
		return &QueryStatement{Query: p.query()}
	}
	if t.kind != tokWord {
		p.unexpected("a statement")
		return nil
	}
	switch t.up {
	case "SET", "RESET", "USE", "HELP", "CLEAR", "QUIT", "EXIT", "ADD", "REMOVE", "LOAD", "UNLOAD", "ANALYZE":
		return p.sessionStatement()
	case "CREATE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "INSERT":
		return p.insert()
	case "UPDATE":
		return p.update()
	case "DELETE":
		return p.delete()
	case "SELECT", "WITH", "VALUES", "TABLE":
		return &QueryStatement{Query: p.query()}
	case "EXECUTE":
		return p.execute()
	case "BEGIN":
		if p.is("BEGIN", "STATEMENT", "SET") {
			p.i += 3
			p.expectOp(";")
			return p.statementSet()
		}
	case "EXPLAIN":
		return p.explain()
	case "CALL":
		return p.call()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		return p.describe()
	case "STOP":
		return p.stopJob()
	case "TRUNCATE":
		p.i++
		p.expect("TABLE")
		return &Truncate{Name: p.objectName("the name of a table")}
	case "REPLACE":
		if p.is("REPLACE", "TABLE") {
			p.i++
			return p.createTable(&CreateTable{OrReplace: true})
		}
	}
	return p.otherStatement(t)
}

// refused are statements that are errors here and in Flink.
var refused = map[string]string{
	"UPSERT":    "write INSERT INTO: tables with a primary key upsert already",
	"REPLACE":   "write INSERT INTO: tables with a primary key upsert already",
	"MERGE":     "this part needs Flink: its procedure sys.merge_into does it",
	"COMPILE":   "use EXPLAIN to see the plan",
	"BEGIN":     "remove it: there are no transactions; BEGIN STATEMENT SET; … END; joins INSERTs into one job",
	"START":     "remove it: there are no transactions",
	"COMMIT":    "remove it: there are no transactions",
	"ROLLBACK":  "remove it: there are no transactions",
	"DELIMITER": "remove it: statements end with ;",
	"SOURCE":    "pass the file to leat run",
	"GRANT":     "set permissions where the warehouse is stored",
	"REVOKE":    "set permissions where the warehouse is stored",
}

func (p *parser) otherStatement(t token) Statement {
	p.i++
	if hint, ok := refused[t.up]; ok {
		p.refuse(p.posOf(t), t.up, hint)
		return nil
	}
	hint := "statements start with " + strings.Join(commonStatements, ", ") + ", …"
	if near := nearestWord(t.up); near != "" {
		hint = "did you mean " + near + "?"
	}
	p.fail(p.posOf(t), fmt.Sprintf("no statement starts with '%s'", t.text), hint)
	return nil
}

var commonStatements = []string{"SET", "CREATE", "USE", "INSERT", "SELECT", "EXECUTE", "EXPLAIN", "SHOW", "DESCRIBE", "ALTER", "DROP", "CALL"}

// nearestWord gives the statement word at most two edits away.
func nearestWord(word string) string {
	best, bestDistance := "", 3
	for _, w := range commonStatements {
		if d := editDistance(word, w); d < bestDistance && d < len(w) {
			best, bestDistance = w, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	if len(a) > 32 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

func (p *parser) execute() Statement {
	t := p.next()
	switch {
	case p.accept("STATEMENT", "SET"):
		p.expect("BEGIN")
		return p.statementSet()
	case p.is("INSERT"):
		return p.insert()
	case p.is("SELECT"), p.is("WITH"), p.is("VALUES"):
		return &QueryStatement{Query: p.query()}
	case p.is("PLAN"):
		p.refuse(p.posOf(t), "EXECUTE PLAN", "run the INSERT statement itself")
	default:
		p.unexpected("STATEMENT SET, INSERT or SELECT")
	}
	return nil
}

// statementSet reads statements up to END.
func (p *parser) statementSet() Statement {
	set := &StatementSet{}
	start := p.i
	for !p.failed && !p.is("END") && p.peek().kind != tokEOF {
		if p.acceptOp(";") {
			continue
		}
		at := p.i
		st := p.one(true)
		if st == nil {
			continue
		}
		switch ct, isTable := st.(*CreateTable); {
		case isTable && ct.AsQuery != nil:
		case isTable:
			p.soft(p.tokenPos(at), "a statement set holds INSERT and CREATE TABLE … AS only", "move CREATE TABLE before the set")
		default:
			if _, ok := st.(*Insert); !ok {
				p.soft(p.tokenPos(at), "a statement set holds INSERT and CREATE TABLE … AS only", "move this statement before or behind the set")
			}
		}
		set.Statements = append(set.Statements, st)
		if !p.is("END") && !p.isOp(";") && p.peek().kind != tokEOF {
			continue // the missing ";" is reported
		}
	}
	p.set = true
	switch {
	case p.failed:
	case !p.is("END"):
		p.fail(p.tokenPos(max(start-1, 0)), "this statement set is never closed", "write END; behind its last INSERT")
	case len(set.Statements) == 0:
		p.soft(p.tokenPos(p.i), "the statement set is empty", "put INSERT statements between BEGIN and END")
		p.i++
	default:
		p.i++
	}
	return set
}

var explainDetails = []string{"ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN"}

func (p *parser) explain() Statement {
	p.i++
	e := &Explain{}
	switch {
	case p.accept("PLAN", "FOR"):
		e.Details = append(e.Details, "PLAN FOR")
	case p.accept("ANALYZE"):
		p.notice(p.tokenPos(p.i-1), "EXPLAIN ANALYZE is leat's own: Flink does not know it")
		e.Details = append(e.Details, "ANALYZE")
	default:
		for slices.Contains(explainDetails, p.peek().up) {
			e.Details = append(e.Details, p.next().up)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	start := p.i
	switch {
	case p.accept("STATEMENT", "SET"), p.accept("EXECUTE", "STATEMENT", "SET"):
		p.expect("BEGIN")
		e.Statement = p.statementSet()
	case p.is("INSERT"):
		e.Statement = p.insert()
	case p.is("UPDATE"):
		e.Statement = p.update()
	case p.is("DELETE"):
		e.Statement = p.delete()
	case p.is("CREATE"):
		e.Statement = p.create()
	case p.is("SELECT"), p.is("WITH"), p.is("VALUES"), p.is("TABLE"), p.isOp("("):
		e.Statement = &QueryStatement{Query: p.query()}
	default:
		p.unexpected("a query, INSERT or STATEMENT SET")
	}
	if span := spanOf(e.Statement); span != nil && !p.failed {
		span.At, span.Source = p.tokenPos(start), p.text(start)
	}
	return e
}

func (p *parser) call() Statement {
	p.i++
	c := &CallProcedure{Name: p.objectName("the name of a procedure")}
	p.expectOp("(")
	for !p.isOp(")") && !p.failed {
		arg, start := ProcedureArg{}, p.i
		if t := p.peek(); (t.kind == tokWord || t.kind == tokQuoted) && p.peekAt(1).is("=>") {
			arg.Name = p.columnName("an argument name")
			p.i++
		}
		arg.Value = p.expr()
		if len(c.Args) > 0 && (c.Args[0].Name.Text == "") != (arg.Name.Text == "") {
			p.soft(p.since(start), "arguments by position and by name are mixed", "name all arguments or none")
		}
		c.Args = append(c.Args, arg)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return c
}
