package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/lakehouse/spec"
	"leat/sqlfront"
)

// Built-in names of Flink's session catalog.
const (
	DefaultCatalog  = "default_catalog"
	DefaultDatabase = "default_database"
)

// Lake is an open Paimon catalog, read only.
type Lake interface {
	HasDatabase(ctx context.Context, database string) (bool, error)
	// Table gives the latest schema; nil if there is no such table.
	Table(ctx context.Context, database, table string) (*spec.TableSchema, error)
	// Location is the folder or URL of a table.
	Location(database, table string) string
	Tables(ctx context.Context, database string) ([]string, error)
	Databases(ctx context.Context) ([]string, error)
	// Columns gives the columns that a SELECT finds in a table, a system table or a
	// table at another time; the error says what is missing.
	Columns(ctx context.Context, database, table string, options map[string]string, zone string) (*columnar.Schema, error)
	// History gives all stored schemas of a table, oldest first.
	History(ctx context.Context, database, table string) ([]*spec.TableSchema, error)
	// Partitions gives the paths of the partitions that have files.
	Partitions(ctx context.Context, database, table string) ([]string, error)
	HasSnapshots(ctx context.Context, database, table string) (bool, error)
}

// Env is what planning needs from outside.
type Env struct {
	Registry *connect.Registry
	// Lake is the connector that writes lake tables.
	Lake connect.SinkConnector
	// OpenLake opens the catalog of a warehouse.
	OpenLake func(ctx context.Context, warehouse string) (Lake, error)
	// Settings are set before the first statement (flags, environment, leat.yaml).
	Settings configs.Values
	// Warehouse, if not empty, is opened as catalog `lake` and made current.
	Warehouse string
	// Stored gives what SyncSpec.Stored is for a job of copies in a script: at its
	// start, where it may be nil, and when it is planned again.
	Stored func(settings configs.Values, again bool) func(ctx context.Context, name, warehouse string) (map[string]json.RawMessage, error)
}

// namespace is one catalog of a session. Lake catalogs have a warehouse.
type namespace struct {
	name      string
	warehouse string
	defaultDB string
	lake      Lake
	databases map[string]bool
	// tables holds temporary tables, and in lake catalogs tables to be created, by "db.table".
	tables map[string]*table
	// gone are the tables, and databases as "db.", that the script drops.
	gone map[string]bool
	// options are those of CREATE CATALOG.
	options map[string]string
	// views are those of the session, by "db.view".
	views map[string]*view
}

// table is a table a statement may name.
type table struct {
	full      string
	def       *connect.Table
	connector connect.Connector
	// computed are the columns that are expressions; columns lists all in order.
	columns []column
	lake    bool
	// schema is the stored definition of a lake table.
	schema *spec.TableSchema
}

// column is a column as queries see it: a physical one by index, or an expression.
type column struct {
	name  string
	index int
	expr  sqlfront.Expr
}

// Session carries the state of a script from statement to statement.
type Session struct {
	env      Env
	settings configs.Values
	catalogs map[string]*namespace
	current  *namespace
	database string
	errs     diag.List
	notices  []configs.Notice
	noticed  map[string]bool
	result   *Result
	builder  *builder
	// synced is a job of copies that the script asks for.
	synced *Result
	// script says that a whole script is planned, which may be run again; reruns
	// are the tables at which it looks for what it has done before.
	script bool
	// streaming says that the SELECT being planned may go on as its table changes.
	streaming bool
	// expanding are the views that are being put in place of their names, one in the other.
	expanding []string
	reruns    map[string]*rerun
}

// NewSession starts a session whose statements are planned one by one, each
// after the one before was carried out.
func NewSession(ctx context.Context, env Env) (*Session, error) {
	s := newSession(env)
	if env.Warehouse != "" {
		s.openFlagWarehouse(ctx)
	}
	s.checkSettings()
	return s, s.errs.Err()
}

// Next plans one statement. What was known of lake tables is read again.
func (s *Session) Next(ctx context.Context, st sqlfront.Statement) (*Result, error) {
	s.errs, s.notices, s.result, s.synced = nil, nil, &Result{}, nil
	s.builder = newBuilder(s)
	for _, c := range s.catalogs {
		// A definition that failed is there for its own statement alone.
		maps.DeleteFunc(c.tables, func(_ string, t *table) bool { return t == nil || t.lake })
		if c.lake != nil {
			c.databases, c.gone = map[string]bool{c.defaultDB: true}, map[string]bool{}
		}
	}
	s.statement(ctx, st)
	s.finish()
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	return s.result, nil
}

// Build plans a whole script. The error is a diag.List with everything found.
func Build(ctx context.Context, script *sqlfront.Script, env Env) (*Result, error) {
	s := newSession(env)
	s.script = true
	for _, n := range script.Notices {
		s.notice(configs.Notice{Pos: n.Pos, Key: n.Msg, Msg: n.Msg})
	}
	if env.Warehouse != "" {
		s.openFlagWarehouse(ctx)
	}
	s.checkSettings()
	for _, st := range script.Statements {
		s.statement(ctx, st)
	}
	s.finish()
	if err := s.errs.Err(); err != nil {
		return nil, err
	}
	return s.result, nil
}

func newSession(env Env) *Session {
	mem := &namespace{name: DefaultCatalog, defaultDB: DefaultDatabase, databases: map[string]bool{DefaultDatabase: true}, tables: map[string]*table{}}
	s := &Session{
		env: env, settings: maps.Clone(env.Settings), catalogs: map[string]*namespace{DefaultCatalog: mem},
		current: mem, database: DefaultDatabase, noticed: map[string]bool{}, result: &Result{},
		reruns: map[string]*rerun{},
	}
	if s.settings == nil {
		s.settings = configs.Values{}
	}
	s.builder = newBuilder(s)
	return s
}

func (s *Session) fail(err error) { s.errs.Add(err) }

func (s *Session) notice(n configs.Notice) {
	if s.noticed[n.Key] {
		return
	}
	s.noticed[n.Key] = true
	s.notices = append(s.notices, n)
}

func (s *Session) statement(ctx context.Context, st sqlfront.Statement) {
	switch st.(type) {
	case *sqlfront.Set, *sqlfront.Reset, *sqlfront.CreateCatalog, *sqlfront.UseCatalog, *sqlfront.Use:
		s.result.Shaped = true
	}
	switch v := st.(type) {
	case *sqlfront.Set:
		s.set(v)
	case *sqlfront.Reset:
		s.reset(v)
	case *sqlfront.CreateCatalog:
		s.createCatalog(ctx, v)
	case *sqlfront.UseCatalog:
		s.useCatalog(v)
	case *sqlfront.Use:
		s.use(ctx, v)
	case *sqlfront.CreateDatabase:
		s.createDatabase(ctx, v)
	case *sqlfront.CreateTable:
		s.createTable(ctx, v)
	case *sqlfront.Insert:
		if !s.insertNow(ctx, v) {
			s.insert(ctx, v)
		}
	case *sqlfront.Update:
		s.updateStatement(ctx, v)
	case *sqlfront.Delete:
		s.deleteStatement(ctx, v)
	case *sqlfront.StatementSet:
		for _, in := range v.Statements {
			s.statement(ctx, in)
		}
	case *sqlfront.Explain:
		s.explain(ctx, v)
	case *sqlfront.CreateView:
		s.createView(ctx, v)
	case *sqlfront.AlterView:
		s.alterView(ctx, v)
	case *sqlfront.AlterOptions:
		s.alterOptions(ctx, v)
	case *sqlfront.AlterTable:
		s.alterTable(ctx, v)
	case *sqlfront.Drop:
		s.drop(ctx, v)
	case *sqlfront.Truncate:
		s.truncate(ctx, v)
	case *sqlfront.CallProcedure:
		s.callProcedure(ctx, v)
	case *sqlfront.QueryStatement:
		s.selectStatement(ctx, v.Pos(), v.Query)
	case *sqlfront.Show:
		s.show(ctx, v)
	case *sqlfront.Describe:
		s.describe(ctx, v)
	case *sqlfront.StopJob:
		s.stopJob(v)
	case *sqlfront.SetList:
		s.listSettings(v)
	case *sqlfront.Ignored:
		s.notice(configs.Notice{Pos: v.Pos(), Key: "statement " + v.What, Msg: v.What + " does nothing here: " + v.Reason})
	case *sqlfront.Unsupported:
		s.fail(v.Error())
	default:
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: st.Pos(),
			Msg: fmt.Sprintf("%s does not run in a script yet", firstWords(st.Text())), Hint: "keep SET, CREATE and INSERT statements in the script",
		})
	}
}

func firstWords(text string) string {
	f := strings.Fields(text)
	return strings.ToUpper(strings.Join(f[:min(2, len(f))], " "))
}

func (s *Session) set(v *sqlfront.Set) {
	val := configs.Value{Text: v.Value, KeyPos: v.KeyPos, Pos: v.ValuePos}
	s.checkSetting(strings.TrimSpace(v.Key), val)
}

func (s *Session) checkSetting(key string, val configs.Value) {
	notices, errs := configs.Session.Check(configs.Values{key: val}, configs.CheckOptions{})
	for _, n := range notices {
		s.notice(n)
	}
	if len(errs) > 0 {
		s.fail(errs)
		return
	}
	if d, ok := configs.Session.Find(key); ok && !strings.HasSuffix(d.Key, ".") {
		for _, k := range append([]string{d.Key}, d.Aliases...) {
			delete(s.settings, k)
		}
		key = d.Key
	}
	if key == configs.CheckpointDir.Key && schemeOf(val.Text) != "" && schemeOf(val.Text) != "file" {
		s.notice(configs.Notice{Pos: val.Pos, Key: key, Msg: fmt.Sprintf("option '%s': leat cannot open %s:// yet; the checkpoint log is kept in the state directory", key, schemeOf(val.Text))})
	}
	s.settings[key] = val
}

// schemeOf gives the scheme of a URL, empty for a plain path.
func schemeOf(text string) string {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return ""
	}
	return strings.ToLower(scheme)
}

// checkSettings checks what flags, environment and leat.yaml set.
func (s *Session) checkSettings() {
	given := s.settings
	s.settings = configs.Values{}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		s.checkSetting(k, given[k])
	}
}

func (s *Session) reset(v *sqlfront.Reset) {
	if v.Key == "" {
		s.settings = maps.Clone(s.env.Settings)
		if s.settings == nil {
			s.settings = configs.Values{}
		}
		return
	}
	delete(s.settings, v.Key)
	if d, ok := configs.Session.Find(v.Key); ok {
		delete(s.settings, d.Key)
	}
}

func (s *Session) explain(ctx context.Context, v *sqlfront.Explain) {
	if _, query := v.Statement.(*sqlfront.QueryStatement); !query && slices.Contains(v.Details, "ANALYZE") {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "EXPLAIN ANALYZE carries the statement out: only a SELECT will do", Hint: "write EXPLAIN"})
		return
	}
	if q, ok := v.Statement.(*sqlfront.QueryStatement); ok {
		step, ok := s.bindSelect(ctx, v.Pos(), q.Query)
		switch {
		case !ok:
		case slices.Contains(v.Details, "ANALYZE"):
			step.Analyze = step.explain()
			s.add(step)
		default:
			s.result.Explained = append(s.result.Explained, step.explain())
		}
		return
	}
	if s.planWrite(ctx, v.Statement) {
		if n := len(s.result.Steps); n > 0 && s.result.Steps[n-1].Kind == StepWrite {
			s.result.Explained = append(s.result.Explained, s.result.Steps[n-1].Write.explain())
			s.result.Steps = s.result.Steps[:n-1]
		}
		return
	}
	one := newBuilder(s)
	for _, in := range insertsOf(v.Statement) {
		one.insert(ctx, in)
	}
	if len(one.plan.Pipes) == 0 {
		if len(s.errs) == 0 {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "EXPLAIN of this statement", Hint: "explain an INSERT"})
		}
		return
	}
	one.plan.Name = s.jobName(&one.plan)
	s.result.Explained = append(s.result.Explained, one.plan.Explain())
}

func insertsOf(st sqlfront.Statement) []*sqlfront.Insert {
	switch v := st.(type) {
	case *sqlfront.Insert:
		return []*sqlfront.Insert{v}
	case *sqlfront.StatementSet:
		var out []*sqlfront.Insert
		for _, x := range v.Statements {
			out = append(out, insertsOf(x)...)
		}
		return out
	default:
		return nil
	}
}

func (s *Session) insert(ctx context.Context, v *sqlfront.Insert) { s.builder.insert(ctx, v) }

func (s *Session) finish() {
	s.result.Settings = s.settings
	s.settleReruns(len(s.builder.plan.Pipes) > 0)
	if len(s.builder.plan.Pipes) > 0 {
		pl := &s.builder.plan
		pl.Name = s.jobName(pl)
		pl.Settings = s.settings
		pl.useBefore()
		s.result.Plan = pl
		if s.script {
			s.onceOnly()
		}
		if !configs.CheckpointInterval.IsSet(s.settings) {
			s.notice(configs.Notice{Key: configs.CheckpointInterval.Key, Msg: fmt.Sprintf("'%s' is not set: leat checkpoints every %s", configs.CheckpointInterval.Key, configs.CheckpointInterval.Default)})
		}
		s.checkRuntimeMode(pl)
	}
	s.result.Notices = s.notices
	s.takeSynced()
}

func (s *Session) checkRuntimeMode(pl *Plan) {
	if configs.RuntimeMode.Get(s.settings) != "BATCH" {
		return
	}
	for i := range pl.Sources {
		if src := &pl.Sources[i]; !src.Bounded {
			v, _ := configs.RuntimeMode.Value(s.settings)
			s.fail(&diag.Error{
				Domain: diag.User, Code: diag.CodeBadOption, Pos: v.Pos, Option: configs.RuntimeMode.Key,
				Msg:  fmt.Sprintf("batch mode needs sources that end, and %s does not", src.Tables[0].Table.Name),
				Hint: "use 'streaming', with `leat run --catch-up` for a run that ends",
			})
			return
		}
	}
}

func (s *Session) jobName(pl *Plan) string {
	if n := configs.PipelineName.Get(s.settings); n != "" {
		return n
	}
	names := make([]string, len(pl.Sinks))
	for i := range pl.Sinks {
		names[i] = pl.Sinks[i].Table.Name
	}
	return "insert-into_" + strings.Join(names, ",")
}

func (s *Session) legacyCast() bool { return configs.LegacyCast.Get(s.settings) == "ENABLED" }
