package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/sqlfront"
)

// syncCalls are the procedures that start a job of copies; the value says whether
// it is about one table.
var syncCalls = map[string]bool{"mysql_sync_table": true, "mysql_sync_database": false}

func isSyncCall(name string) bool {
	_, ok := syncCalls[name]
	return ok
}

// callOrder is the order of positional arguments: warehouse, mysql_conf, and those
// of SyncArguments, the usual ones first.
func callOrder(one bool) []string {
	order := []string{"database", "mysql_conf", "catalog_conf", "table_conf", "primary_keys", "sync_primary_keys_from_source_schema", "partition_keys", "multiple_table_partition_keys", "computed_column", "metadata_column", "type_mapping", "including_tables", "excluding_tables"}
	if one {
		order = slices.Insert(order, 1, "table")
	}
	order = append(order, "warehouse")
	for _, a := range syncArguments {
		if !slices.Contains(order, a.Name) {
			order = append(order, a.Name)
		}
	}
	return order
}

// callSync plans CALL sys.mysql_sync_table(…) and sys.mysql_sync_database(…): the
// same job as `leat sync mysql` with these arguments.
func (s *Session) callSync(ctx context.Context, v *sqlfront.CallProcedure, name string, c *namespace) {
	one := syncCalls[name]
	args, ok := s.syncArgs(v, callOrder(one))
	if !ok {
		return
	}
	fail := func(msg, hint string) {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUsage, Pos: v.Pos(), Msg: msg, Hint: hint})
	}
	if one && args.text("table") == "" || args.text("database") == "" {
		fail("CALL sys."+name+" needs database"+map[bool]string{true: " and table", false: ""}[one], "add database => '…'")
		return
	}
	spec := SyncSpec{Connector: "mysql-cdc", Options: configs.Values{}}
	conf, err := ReadPairs("mysql_conf", args["mysql_conf"])
	if err != nil {
		s.fail(placed(err, v.Pos()))
		return
	}
	maps.Copy(spec.Options, conf)
	if _, given := conf["table-name"]; !one && given {
		fail("a job of a database takes no table-name", "name tables with including_tables => 'a|b'")
		return
	}
	if !one && args.text("including_tables") == "" {
		args["including_tables"] = []string{".*"}
	}
	warehouse, err := args.Apply(&spec, "")
	if err != nil {
		s.fail(placed(err, v.Pos()))
		return
	}
	if w := args.text("warehouse"); w != "" {
		warehouse = w
	}
	if warehouse == "" && c.lake != nil {
		warehouse = c.warehouse
	}
	if warehouse == "" {
		fail("the copies have no warehouse", "USE CATALOG a Paimon catalog first, or add warehouse => '…'")
		return
	}
	s.planSync(ctx, v.Pos(), spec, warehouse)
}

// planSync makes the plan of a job of copies that of the script.
func (s *Session) planSync(ctx context.Context, at diag.Pos, spec SyncSpec, warehouse string) {
	if s.synced != nil || len(s.builder.plan.Pipes) > 0 {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: "a script is one job, and this one has another already", Hint: "put the job of copies into a script of its own"})
		return
	}
	env := s.env
	env.Settings, env.Warehouse = maps.Clone(s.settings), warehouse
	r, err := planStored(ctx, spec, env)
	if err != nil {
		s.fail(placed(err, at))
		return
	}
	s.synced = r
}

// planStored plans copies after what the last checkpoint holds, and lets the job
// plan anew when a table is set aside or goes on.
func planStored(ctx context.Context, spec SyncSpec, env Env) (*Result, error) {
	if env.Stored != nil {
		spec.Stored = env.Stored(env.Settings, false)
	}
	r, err := SyncTables(ctx, spec, env)
	if err != nil {
		return nil, err
	}
	var again func(ctx context.Context, aside map[string]string, resume []string) (*Result, error)
	again = func(ctx context.Context, aside map[string]string, resume []string) (*Result, error) {
		next := spec
		next.Aside, next.Resume = aside, resume
		if env.Stored != nil {
			// A restart goes on from the newest checkpoint, however the job began.
			next.Stored = env.Stored(env.Settings, true)
		}
		r, err := SyncTables(ctx, next, env)
		if err == nil {
			r.Replan = again
		}
		return r, err
	}
	r.Replan = again
	return r, nil
}

// takeSynced makes the job of copies that of the result.
func (s *Session) takeSynced() {
	if s.synced == nil {
		return
	}
	y := s.synced
	if len(s.builder.plan.Pipes) > 0 {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Msg: "a script is one job, and this one has INSERT beside a job of copies", Hint: "put the job of copies into a script of its own"})
		return
	}
	steps := slices.Concat(s.result.Steps, y.Steps)
	explained := s.result.Explained
	*s.result = *y
	s.result.Steps, s.result.Explained = steps, explained
	for _, n := range y.Notices {
		s.notice(n)
	}
	s.result.Notices = s.notices
}

// syncArgs reads the arguments of a call.
func (s *Session) syncArgs(v *sqlfront.CallProcedure, order []string) (SyncArgs, bool) {
	out := SyncArgs{}
	before := len(s.errs)
	for i, a := range v.Args {
		name, at := strings.ToLower(a.Name.Text), a.Name.At
		if name == "" {
			at = a.Value.Pos()
			if i >= len(order) {
				s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUsage, Pos: at, Msg: fmt.Sprintf("the procedure has %d arguments", len(order)), Hint: "name the arguments: database => '…'"})
				break
			}
			name = order[i]
		}
		if !slices.Contains(order, name) {
			e := &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Pos: at, Msg: fmt.Sprintf("the procedure has no argument %s", name), Hint: "the arguments are " + strings.Join(order, ", ")}
			if near := configs.Nearest(name, order); near != "" {
				e.Hint = fmt.Sprintf("did you mean %s?", near)
			}
			s.fail(e)
			continue
		}
		x, err := s.constant(a.Value)
		if err != nil {
			s.fail(err)
			continue
		}
		if x.Value != "" {
			out[name] = splitArgument(name, x.Value)
		}
	}
	return out, len(s.errs) == before
}

// splitArgument takes a list apart that stands in one text: by semicolons, and
// pairs by the commas in front of a key.
func splitArgument(name, text string) []string {
	i := slices.IndexFunc(syncArguments, func(a SyncArgument) bool { return a.Name == name })
	if name != "mysql_conf" && (i < 0 || !syncArguments[i].List) {
		return []string{text}
	}
	parts := strings.Split(text, ";")
	pairs := strings.HasSuffix(name, "_conf") || strings.HasPrefix(name, "table_")
	if len(parts) > 1 || !pairs {
		return parts
	}
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if n := len(out); n > 0 && !strings.Contains(part, "=") {
			out[n-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}
