package planner

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/internal/procedure"
	"leat/sqlfront"
)

func (s *Session) rows(at diag.Pos, columns []string, rows [][]string) {
	st := s.step(StepRows, at, nil, "", "")
	st.Columns, st.Rows = columns, rows
	s.add(st)
}

// list gives names as rows of one column, as far as LIKE lets them through.
func (s *Session) list(v *sqlfront.Show, column string, names []string) {
	var rows [][]string
	for _, n := range names {
		if likes(v, n) {
			rows = append(rows, []string{n})
		}
	}
	s.rows(v.Pos(), []string{column}, rows)
}

// likes applies [NOT] LIKE and ILIKE of SHOW.
func likes(v *sqlfront.Show, name string) bool {
	if v.Like == nil {
		return true
	}
	var re strings.Builder
	for _, r := range *v.Like {
		switch r {
		case '%':
			re.WriteString(".*")
		case '_':
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	flags := "(?s)"
	if v.ILike {
		flags = "(?si)"
	}
	match, err := regexp.MatchString(flags+"^"+re.String()+"$", name)
	return err == nil && match != v.NotLike
}

func (s *Session) show(ctx context.Context, v *sqlfront.Show) {
	switch v.What {
	case "CATALOGS":
		s.list(v, "catalog name", slices.Sorted(maps.Keys(s.catalogs)))
	case "CURRENT CATALOG":
		s.rows(v.Pos(), []string{"current catalog name"}, [][]string{{s.current.name}})
	case "CURRENT DATABASE":
		s.rows(v.Pos(), []string{"current database name"}, [][]string{{s.database}})
	case "DATABASES":
		s.showDatabases(ctx, v)
	case "TABLES":
		s.showTables(ctx, v)
	case "VIEWS":
		s.showViews(v)
	case "PROCEDURES":
		s.list(v, "procedure name", procedureNames())
	case "PARTITIONS":
		s.showPartitions(ctx, v)
	case "JOBS":
		s.add(s.step(StepShowJobs, v.Pos(), nil, "", ""))
	case "CREATE CATALOG":
		if c, ok := s.findCatalog(v.Name.Parts[0]); ok {
			s.rows(v.Pos(), []string{"result"}, [][]string{{catalogText(c)}})
		}
	case "JARS":
		s.list(v, "jars", nil)
	case "USER FUNCTIONS":
		s.list(v, "function name", nil)
	case "FUNCTIONS":
		s.list(v, "function name", expr.Functions())
	case "MODULES", "FULL MODULES":
		s.list(v, "module name", []string{"core"})
	case "CREATE VIEW":
		s.showCreateView(v)
	case "CREATE TABLE":
		if t := s.findTable(ctx, v.Name); t != nil {
			s.rows(v.Pos(), []string{"result"}, [][]string{{createText(t)}})
		}
	case "COLUMNS":
		if w := s.viewOf(v.Name); w != nil {
			s.describeView(ctx, v.Pos(), w, func(name string) bool { return likes(v, name) })
			return
		}
		if t := s.findTable(ctx, v.Name); t != nil {
			s.describeTable(v.Pos(), t, func(name string) bool { return likes(v, name) })
		}
	default:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "SHOW " + v.What + " does not run in leat", Hint: "show CATALOGS, DATABASES, TABLES, COLUMNS, PARTITIONS, PROCEDURES, FUNCTIONS, JOBS, CREATE TABLE or CREATE CATALOG"})
	}
}

// catalogText gives the CREATE CATALOG that makes a catalog.
func catalogText(c *namespace) string {
	st := &sqlfront.CreateCatalog{Name: sqlfront.Name{Text: c.name}}
	kind := "generic_in_memory"
	if c.lake != nil {
		kind = "paimon"
	}
	st.Options = append(st.Options, sqlfront.Option{Key: "type", Value: kind})
	for _, k := range slices.Sorted(maps.Keys(c.options)) {
		if k != "type" {
			st.Options = append(st.Options, sqlfront.Option{Key: k, Value: c.options[k]})
		}
	}
	return sqlfront.Format(st)
}

func procedureNames() []string {
	names := slices.Concat(procedure.Names(), slices.Collect(maps.Keys(syncCalls)))
	slices.Sort(names)
	for i := range names {
		names[i] = "sys." + names[i]
	}
	return names
}

func (s *Session) showDatabases(ctx context.Context, v *sqlfront.Show) {
	c := s.current
	if len(v.Name.Parts) > 0 {
		var ok bool
		if c, ok = s.findCatalog(v.Name.Parts[0]); !ok {
			return
		}
	}
	names := slices.Collect(maps.Keys(c.databases))
	if c.lake != nil {
		stored, err := c.lake.Databases(ctx)
		if err != nil {
			s.fail(placed(err, v.Pos()))
			return
		}
		for _, n := range stored {
			if !c.gone[n+"."] {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	s.list(v, "database name", slices.Compact(names))
}

func (s *Session) showTables(ctx context.Context, v *sqlfront.Show) {
	c, db := s.current, s.database
	if len(v.Name.Parts) > 0 {
		var ok bool
		if c, db, ok = s.splitDatabase(v.Name); !ok {
			return
		}
	}
	if !s.databaseExists(ctx, c, db, v.Pos()) {
		return
	}
	var names []string
	for k, t := range c.tables {
		if name, ok := strings.CutPrefix(k, db+"."); ok && t != nil {
			names = append(names, name)
		}
	}
	if c.lake != nil && !c.gone[db+"."] {
		has, err := c.lake.HasDatabase(ctx, db)
		if err == nil && has {
			var stored []string
			stored, err = c.lake.Tables(ctx, db)
			for _, n := range stored {
				if !c.gone[db+"."+n] {
					names = append(names, n)
				}
			}
		}
		if err != nil {
			s.fail(placed(err, v.Pos()))
			return
		}
	}
	names = append(names, c.viewNames(db)...)
	slices.Sort(names)
	s.list(v, "table name", slices.Compact(names))
}

func (s *Session) showPartitions(ctx context.Context, v *sqlfront.Show) {
	c, db, name, t, ok := s.lakeTarget(ctx, v.Name, false)
	if !ok {
		return
	}
	if len(t.def.PartitionKeys) == 0 {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Pos: v.Name.At, Table: t.full, Msg: "it has no partitions", Hint: "declare PARTITIONED BY when it is created"})
		return
	}
	want := map[string]string{}
	for _, p := range v.Partition {
		if p.Value == nil {
			continue
		}
		val, err := s.constant(p.Value)
		if err != nil {
			s.fail(err)
			return
		}
		want[p.Column.Text] = val.Value
	}
	paths, err := c.lake.Partitions(ctx, db, name)
	if err != nil {
		s.fail(placed(err, v.Name.At))
		return
	}
	var rows [][]string
	for _, p := range paths {
		if partitionHas(p, want) {
			rows = append(rows, []string{p})
		}
	}
	s.rows(v.Pos(), []string{"partition name"}, rows)
}

func partitionHas(path string, want map[string]string) bool {
	left := len(want)
	for part := range strings.SplitSeq(path, "/") {
		k, v, _ := strings.Cut(part, "=")
		if w, ok := want[k]; ok && w == v {
			left--
		}
	}
	return left == 0
}

func (s *Session) describe(ctx context.Context, v *sqlfront.Describe) {
	switch v.What {
	case "TABLE":
		if w := s.viewOf(v.Name); w != nil {
			s.describeView(ctx, v.Pos(), w, func(string) bool { return true })
			return
		}
		if t := s.findTable(ctx, v.Name); t != nil {
			s.describeTable(v.Pos(), t, func(string) bool { return true })
		}
	case "CATALOG":
		c, ok := s.findCatalog(v.Name.Parts[0])
		if !ok {
			return
		}
		rows := [][]string{{"name", c.name}}
		for _, k := range slices.Sorted(maps.Keys(c.options)) {
			rows = append(rows, []string{"option:" + k, c.options[k]})
		}
		s.rows(v.Pos(), []string{"info name", "info value"}, rows)
	case "JOB":
		st := s.step(StepDescribeJob, v.Pos(), nil, "", "")
		st.Job = v.Name.String()
		s.add(st)
	default:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "DESCRIBE " + v.What + " does not run in leat", Hint: "describe a table, a catalog or a job"})
	}
}

func (s *Session) stopJob(v *sqlfront.StopJob) {
	if v.Drain {
		s.notice(configs.Notice{Pos: v.Pos(), Key: "WITH DRAIN", Msg: "WITH DRAIN does nothing more: no operator holds rows back for a watermark"})
	}
	st := s.step(StepStopJob, v.JobPos, nil, "", "")
	st.Job, st.Savepoint = v.Job, v.Savepoint
	s.add(st)
}

// describeTable gives columns as Flink's DESCRIBE does.
func (s *Session) describeTable(at diag.Pos, t *table, want func(string) bool) {
	columns := []string{"name", "type", "null", "key", "extras", "watermark"}
	comments := false
	for _, f := range t.def.Schema.Fields {
		comments = comments || f.Comment != ""
	}
	if comments {
		columns = append(columns, "comment")
	}
	key := "PRI(" + strings.Join(t.def.PrimaryKey, ", ") + ")"
	var rows [][]string
	for _, f := range t.def.Schema.Fields {
		if !want(f.Name) {
			continue
		}
		row := []string{f.Name, f.Type.AsNullable().String(), "TRUE", "", "", ""}
		if !f.Type.Nullable {
			row[2] = "FALSE"
		}
		if slices.Contains(t.def.PrimaryKey, f.Name) {
			row[3] = key
		}
		if comments {
			row = append(row, f.Comment)
		}
		rows = append(rows, row)
	}
	s.rows(at, columns, rows)
}

// createText gives the CREATE TABLE that makes a table, without its path.
func createText(t *table) string {
	st := &sqlfront.CreateTable{}
	for _, n := range strings.SplitN(t.full, ".", 3) {
		st.Name.Parts = append(st.Name.Parts, sqlfront.Name{Text: n})
	}
	from := definitionOf(t)
	st.Columns, st.PrimaryKey, st.PartitionedBy = from.Columns, from.PrimaryKey, from.PartitionedBy
	var set *configs.Set
	if t.schema != nil {
		set = configs.LakeTable
		if t.schema.Comment != "" {
			st.Comment = &t.schema.Comment
		}
	} else if t.connector != nil {
		set = t.connector.Options()
		st.Temporary = true
		st.Options = append(st.Options, sqlfront.Option{Key: "connector", Value: t.connector.Name()})
	}
	if set != nil {
		shown := set.Redact(t.def.Options)
		for _, k := range slices.Sorted(maps.Keys(shown)) {
			st.Options = append(st.Options, sqlfront.Option{Key: k, Value: shown[k]})
		}
	}
	return sqlfront.Format(st)
}

// listSettings is SET without arguments.
func (s *Session) listSettings(v *sqlfront.SetList) {
	shown := configs.Session.Redact(s.settings)
	var rows [][]string
	for _, k := range slices.Sorted(maps.Keys(shown)) {
		rows = append(rows, []string{k, shown[k]})
	}
	s.rows(v.Pos(), []string{"key", "value"}, rows)
}
