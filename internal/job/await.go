package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"leat/catalog"
	"leat/cdc"
	"leat/configs"
	"leat/internal/diag"
	"leat/internal/query"
)

// Progressed waits until a job has read something, then until a checkpoint that
// began after that is committed. The zero value with Read set has seen nothing.
type Progressed struct {
	Read func(*Status) bool
	// need is the number of ended checkpoints to wait for, 0 before Read was true.
	need, last int64
}

// Committed takes the next status and reports whether all that was waited for is committed.
func (w *Progressed) Committed(s *Status) bool {
	c := &s.Stats.Checkpoints
	ended := c.Committed()
	if ended < w.last {
		w.need = 0 // the job was restarted and counts anew
	}
	w.last = ended
	if w.need == 0 && w.Read(s) {
		w.need = ended + 1
		if c.Current != 0 {
			w.need++ // the one under way may have begun before
		}
	}
	return w.need > 0 && ended >= w.need
}

// askEvery is how often a wait looks again.
const askEvery = 50 * time.Millisecond

// covering waits until the table of a SELECT holds what leat.read.wait-for names:
// a place in the source's history, or all that was committed when the wait began.
func (a *application) covering(ctx context.Context, w *query.Warehouse, database, table string) error {
	text := configs.ReadWaitFor.Get(a.step.Settings)
	if text == "" || database == query.SystemDatabase {
		return nil
	}
	begin, timeout := time.Now(), configs.ReadWaitTimeout.Get(a.step.Settings)
	c, err := query.Cover(ctx, w, database, table)
	if err != nil {
		return err
	}
	wait := tableWait{jobs: a.jobs, cover: c, name: catalog.Identifier{Database: database, Table: table}.String(), what: text}
	if text == "now" {
		wait.what = "what the source holds now"
		wait.job.Read = func(s *Status) bool { return s.SnapshotComplete() && s.CaughtUp(begin) }
	} else {
		target, err := cdc.ParseTarget(text)
		if err != nil {
			return err
		}
		wait.target = &target
		wait.job.Read = func(s *Status) bool {
			for i := range s.Stats.Sources {
				if src := &s.Stats.Sources[i].Status; src.Complete && target.ReachedBy(src.Position) {
					return true
				}
			}
			return false
		}
	}
	return wait.run(ctx, begin.Add(timeout), query.Waiting(ctx))
}

// tableWait waits for one table.
type tableWait struct {
	jobs   *Client
	cover  *query.Coverage
	name   string
	what   string
	target *cdc.Target // nil for all that is there now
	job    Progressed
}

func (t *tableWait) run(ctx context.Context, deadline time.Time, say func(string)) error {
	defer say("")
	for {
		if t.target != nil {
			if held, err := t.cover.Holds(ctx, *t.target); held || err != nil {
				return err
			}
		}
		writer, err := t.writer(ctx)
		if err != nil {
			return err
		}
		switch {
		case writer != nil && t.job.Committed(writer):
			return nil
		case writer == nil && t.target == nil:
			return &diag.Error{
				Domain: diag.External, Code: diag.CodeJobState, Table: t.name, Msg: "no job that runs here carries changes into it, so nobody can say what the source holds now",
				Hint: "start its job, or SET 'leat.read.wait-for' to a GTID set or file:offset",
			}
		case time.Now().After(deadline):
			return t.late(writer)
		}
		say(fmt.Sprintf("%s waits for %s%s", t.name, t.what, t.stands(writer)))
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// writer is the running job that writes the table, nil without one.
func (t *tableWait) writer(ctx context.Context) (*Status, error) {
	if t.jobs == nil {
		return nil, nil
	}
	list, err := t.jobs.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if slices.Contains(list[i].Tables, t.cover.Location) {
			return &list[i], nil
		}
	}
	return nil, nil
}

// stands says how far the table, or what writes it, has come.
func (t *tableWait) stands(writer *Status) string {
	if writer != nil {
		for i := range writer.Stats.Sources {
			return fmt.Sprintf("; job %s has read to %s", writer.Name, writer.Stats.Sources[i].Status.Position)
		}
	}
	if at := t.cover.Place(); at != "" {
		return "; it ends at " + at
	}
	return ""
}

func (t *tableWait) late(writer *Status) error {
	e := &diag.Error{
		Domain: diag.External, Code: diag.CodeJobState, Table: t.name, Retry: true, Msg: "it did not come to hold " + t.what + " in time" + t.stands(writer),
		Hint: "wait longer with SET 'leat.read.wait-timeout', or read what is there with RESET 'leat.read.wait-for'",
	}
	if writer == nil {
		e.Notes = []string{"no job that runs here writes it"}
	}
	return e
}
