package job

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/planner"
)

// workers is the number of goroutines that encode and compact.
func workers(v configs.Values) int {
	return max(int(configs.Parallelism.Get(v)), runtime.GOMAXPROCS(0))
}

func zoneOf(v configs.Values) *time.Location {
	text := configs.LocalTimeZone.Get(v)
	if text == "default" {
		return time.Local
	}
	loc, err := configs.ParseZone(text)
	if err != nil {
		return time.Local
	}
	return loc
}

// localFolder gives the folder of a path or file URL; other schemes are none.
func localFolder(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return text, err == nil
	}
	return u.Path, u.Scheme == "file"
}

// checkSources looks at the outside world before anything is changed; all
// findings are reported at once.
func checkSources(ctx context.Context, g *dataflow.Graph) error {
	var errs diag.List
	for i := range g.Sources {
		if c, ok := g.Sources[i].Reader.(dataflow.Checker); ok {
			errs.Add(c.Check(ctx))
		}
	}
	for i := range g.Sinks {
		if c, ok := g.Sinks[i].Sink.(dataflow.Checker); ok {
			errs.Add(c.Check(ctx))
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errs.Err()
}

// guardTables refuses a known job whose tables the script would have to create:
// their data is gone, and the source would go on where it was.
func guardTables(r *planner.Result, last *dataflow.Checkpoint) error {
	var errs diag.List
	for _, step := range r.Steps {
		if step.Kind != planner.StepCreate || step.Table == "" {
			continue
		}
		full := step.Catalog + "." + step.Database + "." + step.Table
		if _, known := last.Sinks["sink:"+full]; known {
			errs = append(errs, &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: full,
				Msg:  fmt.Sprintf("the job has written it up to checkpoint %d, and it is not in %s any more", last.ID, step.Warehouse),
				Hint: "bring the warehouse back, or begin anew with `leat run --fresh`",
			})
		}
	}
	return errs.Err()
}

// guardNewTables refuses rows of others in tables that are new to a job of
// copies: rows that the source does not have would stay.
func guardNewTables(ctx context.Context, r *planner.Result, last *dataflow.Checkpoint) error {
	if !r.Mirror {
		return nil
	}
	var errs diag.List
	for i := range r.Plan.Sinks {
		s := &r.Plan.Sinks[i]
		if _, known := last.Sinks[s.UID]; known {
			continue
		}
		if err := guardEmpty(ctx, s); err != nil {
			errs.Add(err)
		}
	}
	return errs.Err()
}

// guardEmpty refuses a table that holds rows of others.
func guardEmpty(ctx context.Context, s *planner.Sink) error {
	c, ok := s.Connector.(connect.Holder)
	if !ok || s.Keeps {
		return nil
	}
	full, err := c.HasRows(ctx, s.Table)
	if err != nil || !full {
		return err
	}
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeFreshRefused, Table: s.Table.Name,
		Msg:  "it is new to the job, and it holds rows of others, which would stay beside those of the source",
		Hint: "rename or drop the table of the lake, or leave its source out with --exclude",
	}
}

// guardLostState refuses a job that is new to the state directory and whose tables
// it has written before: rows that the source has deleted since would stay, and
// tables without a key would get all rows a second time.
func guardLostState(ctx context.Context, j *Job) error {
	var errs diag.List
	for i := range j.spec.Result.Plan.Sinks {
		sink := &j.spec.Result.Plan.Sinks[i]
		lake, ok := sink.Connector.(connect.Author)
		if !ok {
			continue
		}
		name, id, err := lake.LastJob(ctx, sink.Table)
		switch {
		case err != nil:
			return err
		case name == j.id.Name:
			errs = append(errs, &diag.Error{
				Domain: diag.Guard, Code: diag.CodeJobState, Table: sink.Table.Name,
				Msg:  fmt.Sprintf("job %s has written it up to its checkpoint %s, of which %s knows nothing", name, id, j.dir),
				Hint: "give the state directory of its runs with --state-dir, start from a savepoint with --from, overwrite the tables with --fresh --replace, or give the job another pipeline.name to add to them",
			})
		}
	}
	return errs.Err()
}

func lakeError(err error, doing string) error {
	var l diag.List
	l.Add(err)
	if l[0].Domain != diag.Internal {
		return err
	}
	return &diag.Error{Domain: diag.External, Code: diag.CodeLakeIO, Msg: doing, Hint: "check the warehouse's folder and its rights", Cause: err}
}

// nonEmpty lists the sinks whose tables hold rows.
func nonEmpty(ctx context.Context, pl *planner.Plan) ([]string, error) {
	var full []string
	for i := range pl.Sinks {
		c, ok := pl.Sinks[i].Connector.(connect.Holder)
		if !ok || pl.Sinks[i].Keeps {
			continue
		}
		has, err := c.HasRows(ctx, pl.Sinks[i].Table)
		if err != nil {
			return nil, err
		}
		if has {
			full = append(full, strings.TrimPrefix(pl.Sinks[i].UID, "sink:"))
		}
	}
	return full, nil
}
