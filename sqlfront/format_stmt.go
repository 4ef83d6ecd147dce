package sqlfront

import (
	"strconv"
	"strings"
)

func (w *writer) statement(st Statement) {
	switch s := st.(type) {
	case *Set:
		w.put("SET ", QuoteString(s.Key), " = ")
		w.value(s.Option)
	case *SetList:
		w.put("SET")
	case *Reset:
		w.put("RESET")
		if s.Key != "" {
			w.put(" ", QuoteString(s.Key))
		}
	case *UseCatalog:
		w.put("USE CATALOG ", QuoteName(s.Name.Text))
	case *Use:
		w.put("USE ")
		w.object(s.Name)
	case *CreateCatalog:
		w.put("CREATE CATALOG ")
		w.putIf(s.IfNotExists, "IF NOT EXISTS ")
		w.object(ObjectName{Parts: []Name{s.Name}})
		w.commentAndOptions(s.Comment, s.Options)
	case *CreateDatabase:
		w.put("CREATE DATABASE ")
		w.putIf(s.IfNotExists, "IF NOT EXISTS ")
		w.object(s.Name)
		w.commentAndOptions(s.Comment, s.Options)
	case *CreateTable:
		w.createTable(s)
	case *CreateView:
		w.createView(s)
	case *AlterView:
		w.put("ALTER VIEW ")
		w.object(s.Name)
		if s.Query == nil {
			w.put(" RENAME TO ")
			w.object(s.NewName)
			return
		}
		w.put(" AS\n")
		w.sep = "\n"
		w.query(s.Query)
	case *AlterOptions:
		w.alterOptions(s)
	case *Drop:
		w.drop(s)
	case *Truncate:
		w.put("TRUNCATE TABLE ")
		w.object(s.Name)
	case *AlterTable:
		w.alterTable(s)
	case *Insert:
		w.insert(s)
	case *Update:
		w.update(s)
	case *Delete:
		w.put("DELETE FROM ")
		w.changed(s.Target, s.Hints, s.Alias)
		w.where(s.Where)
	case *QueryStatement:
		w.sep = "\n"
		w.query(s.Query)
	default:
		w.otherStatement(st)
	}
}

func (w *writer) otherStatement(st Statement) {
	switch s := st.(type) {
	case *StatementSet:
		w.put("EXECUTE STATEMENT SET\n")
		w.set(s)
	case *Explain:
		w.put("EXPLAIN ")
		if len(s.Details) > 0 {
			w.put(strings.Join(s.Details, ", "), " ")
		}
		if set, ok := s.Statement.(*StatementSet); ok {
			w.put("STATEMENT SET\n")
			w.set(set)
			return
		}
		w.statement(s.Statement)
	case *CallProcedure:
		w.put("CALL ")
		w.object(s.Name)
		w.put("(")
		w.list(len(s.Args), ", ", func(i int) {
			if n := s.Args[i].Name.Text; n != "" {
				w.put(QuoteName(n), " => ")
			}
			w.expr(s.Args[i].Value, 0)
		})
		w.put(")")
	case *Show:
		w.show(s)
	case *Describe:
		w.put("DESCRIBE ")
		w.putIf(s.What != "TABLE", s.What+" ")
		w.putIf(s.Extended, "EXTENDED ")
		if s.What == "JOB" {
			w.put(QuoteString(s.Name.String()))
			return
		}
		w.object(s.Name)
	case *StopJob:
		w.put("STOP JOB ", QuoteString(s.Job))
		w.putIf(s.Savepoint, " WITH SAVEPOINT")
		w.putIf(s.Drain, " WITH DRAIN")
	default: // *Ignored and *Unsupported keep no tree
		w.put(st.Text())
	}
}

func (w *writer) set(s *StatementSet) {
	w.put("BEGIN\n")
	for _, st := range s.Statements {
		w.statement(st)
		w.put(";\n")
	}
	w.put("END")
}

func (w *writer) commentAndOptions(comment *string, options Options) {
	w.comment(comment)
	if options != nil {
		w.put(" WITH ")
		w.options(options, true)
	}
}

func (w *writer) createView(s *CreateView) {
	w.put("CREATE ")
	w.putIf(s.OrReplace, "OR REPLACE ")
	w.putIf(s.Temporary, "TEMPORARY ")
	w.put("VIEW ")
	w.putIf(s.IfNotExists, "IF NOT EXISTS ")
	w.object(s.Name)
	if s.Columns != nil {
		w.put(" ")
		w.names(s.Columns)
	}
	w.comment(s.Comment)
	w.put(" AS\n")
	w.sep = "\n"
	w.query(s.Query)
}

func (w *writer) createTable(s *CreateTable) {
	w.put("CREATE ")
	w.putIf(s.OrReplace, "OR REPLACE ")
	w.putIf(s.Temporary, "TEMPORARY ")
	w.put("TABLE ")
	w.putIf(s.IfNotExists, "IF NOT EXISTS ")
	w.object(s.Name)
	if n := len(s.Columns); n > 0 || s.Watermark != nil || s.PrimaryKey != nil {
		w.tableElements(s)
	}
	if s.Comment != nil {
		w.put("\nCOMMENT ", QuoteString(*s.Comment))
	}
	if d := s.Distributed; d != nil {
		w.distributed(d)
	}
	if s.PartitionedBy != nil {
		w.put("\nPARTITIONED BY ")
		w.names(s.PartitionedBy)
	}
	if s.Options != nil {
		w.put("\nWITH ")
		w.options(s.Options, true)
	}
	if l := s.Like; l != nil {
		w.put("\nLIKE ")
		w.object(l.Source)
		if len(l.Options) > 0 {
			w.put(" (")
			w.list(len(l.Options), " ", func(i int) { w.put(l.Options[i].Action, " ", l.Options[i].What) })
			w.put(")")
		}
	}
	if s.AsQuery != nil {
		w.put("\nAS ")
		w.sep = "\n"
		w.query(s.AsQuery)
	}
}

func (w *writer) distributed(d *Distributed) {
	w.put("\nDISTRIBUTED")
	if d.Columns != nil {
		w.put(" BY ", d.Kind)
		w.names(d.Columns)
	}
	if d.Buckets > 0 {
		w.put(" INTO ", strconv.Itoa(d.Buckets), " BUCKETS")
	}
}

func (w *writer) tableElements(s *CreateTable) {
	w.put(" (\n  ")
	w.list(len(s.Columns), ",\n  ", func(i int) { w.column(&s.Columns[i]) })
	comma := len(s.Columns) > 0
	if m := s.Watermark; m != nil {
		w.putIf(comma, ",\n  ")
		w.put("WATERMARK FOR ")
		w.object(m.Column)
		w.put(" AS ")
		w.expr(m.Expr, 0)
		comma = true
	}
	if k := s.PrimaryKey; k != nil {
		w.putIf(comma, ",\n  ")
		if k.Constraint != "" {
			w.put("CONSTRAINT ", QuoteName(k.Constraint), " ")
		}
		w.put("PRIMARY KEY ")
		w.names(k.Columns)
		w.put(" NOT ENFORCED")
	}
	w.put("\n)")
}

func (w *writer) column(c *Column) {
	w.put(QuoteName(c.Name.Text))
	if c.Kind == Computed {
		w.put(" AS ")
		w.expr(c.Expr, 0)
	} else {
		w.put(" ")
		w.dataType(c.Type)
	}
	if c.Kind == Metadata {
		w.put(" METADATA")
		if c.MetadataKey != "" {
			w.put(" FROM ", QuoteString(c.MetadataKey))
		}
		w.putIf(c.Virtual, " VIRTUAL")
	}
	w.comment(c.Comment)
}

func (w *writer) drop(s *Drop) {
	w.put("DROP ")
	w.putIf(s.Temporary, "TEMPORARY ")
	w.put(map[DropKind]string{DropTable: "TABLE ", DropDatabase: "DATABASE ", DropCatalog: "CATALOG ", DropView: "VIEW "}[s.Kind])
	w.putIf(s.IfExists, "IF EXISTS ")
	w.object(s.Name)
	w.putIf(s.Cascade, " CASCADE")
}

func (w *writer) alterTable(s *AlterTable) {
	w.put("ALTER TABLE ")
	w.putIf(s.IfExists, "IF EXISTS ")
	w.object(s.Name)
	w.put(" ", s.Action, " ")
	switch s.Action {
	case "SET":
		w.options(s.Options, true)
	case "RESET":
		w.put("(")
		w.list(len(s.Keys), ", ", func(i int) { w.put(QuoteString(s.Keys[i].Key)) })
		w.put(")")
	case "RENAME TO":
		w.object(s.NewName)
	default:
		w.put(s.Rest)
	}
}

func (w *writer) insert(s *Insert) {
	w.put("INSERT ")
	w.put(map[bool]string{true: "OVERWRITE ", false: "INTO "}[s.Overwrite])
	w.object(s.Target)
	w.hints(s.Hints)
	if len(s.Partition) > 0 {
		w.put(" ")
		w.partition(s.Partition)
	}
	if s.Columns != nil {
		w.put(" ")
		w.names(s.Columns)
	}
	w.put("\n")
	w.sep = "\n"
	w.query(s.Query)
}

func (w *writer) update(s *Update) {
	w.put("UPDATE ")
	w.changed(s.Target, s.Hints, s.Alias)
	w.put("\nSET ")
	w.list(len(s.Set), ", ", func(i int) {
		w.object(s.Set[i].Column)
		w.put(" = ")
		w.expr(s.Set[i].Value, 0)
	})
	w.where(s.Where)
}

// changed writes the table of UPDATE and DELETE.
func (w *writer) changed(name ObjectName, hints []Hint, alias Name) {
	w.object(name)
	w.hints(hints)
	if alias.Text != "" {
		w.put(" AS ", QuoteName(alias.Text))
	}
}

func (w *writer) where(cond Expr) {
	if cond != nil {
		w.put("\nWHERE ")
		w.expr(cond, 0)
	}
}

func (w *writer) partition(values []PartitionValue) {
	w.put("PARTITION (")
	w.list(len(values), ", ", func(i int) {
		w.put(QuoteName(values[i].Column.Text))
		if values[i].Value != nil {
			w.put(" = ")
			w.expr(values[i].Value, 0)
		}
	})
	w.put(")")
}

func (w *writer) show(s *Show) {
	w.put("SHOW ", s.What)
	if len(s.Name.Parts) > 0 {
		direct := s.What == "PARTITIONS" || strings.HasPrefix(s.What, "CREATE ")
		w.put(map[bool]string{true: " ", false: " FROM "}[direct])
		w.object(s.Name)
	}
	if len(s.Partition) > 0 {
		w.put(" ")
		w.partition(s.Partition)
	}
	if s.Like != nil {
		w.putIf(s.NotLike, " NOT")
		w.put(map[bool]string{true: " ILIKE ", false: " LIKE "}[s.ILike], QuoteString(*s.Like))
	}
}

func (w *writer) alterOptions(s *AlterOptions) {
	w.put("ALTER ", s.Word, " ")
	w.object(s.Name)
	w.put(" ", s.Action, " ")
	switch s.Action {
	case "COMMENT":
		w.put(QuoteString(*s.Comment))
	case "RESET":
		w.put("(")
		w.list(len(s.Options), ", ", func(i int) { w.put(QuoteString(s.Options[i].Key)) })
		w.put(")")
	default:
		w.options(s.Options, false)
	}
}
