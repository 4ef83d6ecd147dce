package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/catalog"
	"leat/configs"
	"leat/internal/diag"
	"leat/internal/fileio/open"
	"leat/planner"
)

// takesAway reports whether a step takes from a table what a job that writes it
// relies on: the table itself, or its newest snapshots.
func takesAway(s *planner.Step) bool {
	switch s.Kind {
	case planner.StepDropTable, planner.StepDropDatabase, planner.StepRenameTable:
		return true
	case planner.StepCall:
		name := s.Call.Procedure.Name
		return strings.HasPrefix(name, "rollback_to") || name == "fast_forward" || name == "rescale"
	default:
		return false
	}
}

// GuardRunning refuses steps that take a table away from a running job of the
// state directory; leat.drop.force lets them pass.
func GuardRunning(ctx context.Context, client *Client, steps []planner.Step) error {
	if !slices.ContainsFunc(steps, func(s planner.Step) bool { return takesAway(&s) && !configs.ForceDrop.Get(s.Settings) }) {
		return nil
	}
	running, err := client.List(ctx)
	if err != nil {
		return err
	}
	var errs diag.List
	for i := range steps {
		s := &steps[i]
		if !takesAway(s) || configs.ForceDrop.Get(s.Settings) {
			continue
		}
		prefix, err := placeOf(s)
		if err != nil {
			return err
		}
		for _, st := range running {
			for _, table := range st.Tables {
				if table != prefix && !strings.HasPrefix(table, prefix+"/") {
					continue
				}
				errs = append(errs, &diag.Error{
					Domain: diag.Guard, Code: diag.CodeLakeInUse, Pos: s.Pos, Msg: fmt.Sprintf("job %s (pid %d) is writing to %s", st.Name, st.PID, table),
					Hint: fmt.Sprintf("stop it first: leat job stop %s; or SET 'leat.drop.force' = 'true'", st.Name),
				})
			}
		}
	}
	return errs.Err()
}

// placeOf gives the folder of the table, or of the database, that a step is about.
func placeOf(s *planner.Step) (string, error) {
	fs, root, err := open.FromURL(s.Warehouse)
	if err != nil {
		return "", err
	}
	c := catalog.New(fs, root)
	id := catalog.Identifier{Database: s.Database, Table: s.Table}
	if s.Kind == planner.StepCall {
		id.Table = s.Call.Text("table")
		if db, table, ok := strings.Cut(id.Table, "."); ok {
			id.Database, id.Table = db, table
		}
	}
	if id.Table == "" {
		return c.DatabasePath(id.Database), nil
	}
	return c.TablePath(id), nil
}
