package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/planner"
)

// A job of copies sets a table aside that cannot go on, and runs on from its last
// checkpoint without it. What that checkpoint holds of the table, what is not
// committed yet included, stays in every later one, until the table goes on: its
// source from the place of then, its sink by committing what is missing.

// asideSinks gives, by index, why sinks of a plan take no part.
func asideSinks(pl *planner.Plan) map[int]string {
	out := map[int]string{}
	for i := range pl.Pipes {
		p := &pl.Pipes[i]
		if why := pl.Sources[p.Source].Tables[p.Port].Aside; why != "" {
			out[p.Sink] = why
		}
	}
	return out
}

func frozenSinks(pl *planner.Plan) []string {
	var out []string
	for i := range asideSinks(pl) {
		out = append(out, pl.Sinks[i].UID)
	}
	return out
}

// setAside sets the table aside that an attempt failed for, and reports whether
// the job goes on without it: as long as there are others, and a checkpoint that
// tells where it stands.
func (j *Job) setAside(err error) bool {
	if j.spec.Replan == nil || diag.Retryable(err) || errors.Is(err, ErrNotStarted) {
		return false
	}
	pl := j.spec.Result.Plan
	pipe := pipeOf(pl, err)
	if pipe < 0 || pl.Sinks[pl.Pipes[pipe].Sink].Keeps || len(asideSinks(pl))+1 >= copiesIn(pl) {
		return false
	}
	p := &pl.Pipes[pipe]
	table := pl.Sources[p.Source].Tables[p.Port].Table.Name
	reason := reasonOf(err)
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	if j.aside[table] != "" || max(j.track.st.Stats.Checkpoints.LastID, j.track.st.Resumed) == 0 {
		return false // it was to be left out already, or nothing tells where it stands
	}
	if j.aside == nil {
		j.aside = map[string]string{}
	}
	j.aside[table] = reason
	j.resume = slices.DeleteFunc(j.resume, func(t string) bool { return t == table })
	j.spec.Log.Error("a table cannot go on and is set aside; the others go on", "table", table, "error", err)
	j.tell(fmt.Sprintf("table %s is set aside: %s. The others go on; `leat job restart %s --table %s` lets it go on from where it stands", table, reason, j.id.Name, table))
	return true
}

// copiesIn counts the sinks that are copies of tables: dead letters are none.
func copiesIn(pl *planner.Plan) int {
	n := 0
	for i := range pl.Sinks {
		if !pl.Sinks[i].Keeps {
			n++
		}
	}
	return n
}

// pipeOf gives the pipe of the one table that an error concerns, -1 if it concerns more.
func pipeOf(pl *planner.Plan, err error) int {
	var port *dataflow.PortError
	var op *dataflow.OperatorError
	if !errors.As(err, &op) {
		return -1
	}
	return slices.IndexFunc(pl.Pipes, func(p planner.Pipe) bool {
		if errors.As(err, &port) {
			return pl.Sources[p.Source].UID == op.UID && p.Port == port.Port
		}
		return p.UID == op.UID || pl.Sinks[p.Sink].UID == op.UID
	})
}

// reasonOf gives the message of an error without the remedy.
func reasonOf(err error) string {
	var list diag.List
	list.Add(err)
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.Msg
		if e.Cause != nil {
			texts[i] += ": " + e.Cause.Error()
		}
	}
	return strings.Join(texts, "; ")
}

// Resume lets a table go on that was set aside: the job takes a last checkpoint
// and begins again with it.
func (j *Job) Resume(table string) error {
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	names := j.track.aside()
	if !slices.Contains(names, table) {
		e := &diag.Error{
			Domain: diag.User, Code: diag.CodeJobState, Msg: fmt.Sprintf("table %s of job %s is not set aside", table, j.id.Name),
			Hint: "name one that `leat job show " + j.id.Name + "` shows as set aside, as database.table",
		}
		if len(names) > 0 {
			e.Notes = []string{"set aside: " + strings.Join(names, ", ")}
		}
		return e
	}
	delete(j.aside, table)
	if !slices.Contains(j.resume, table) {
		j.resume = append(j.resume, table)
	}
	j.restart = true
	if j.track.exec != nil {
		j.track.exec.Stop()
	}
	return nil
}

// aside lists the tables that are set aside; the lock is held.
func (t *tracker) aside() []string {
	stats := t.st.Stats
	if t.exec != nil {
		if now := t.exec.Stats(); len(now.Sources) > 0 {
			stats = now
		}
	}
	var names []string
	for i := range stats.Sources {
		for _, table := range stats.Sources[i].Status.Tables {
			if table.State == "set aside" {
				names = append(names, table.Name)
			}
		}
	}
	return names
}

// checkWhole refuses a savepoint that would lack tables.
func (j *Job) checkWhole() error {
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	names := j.track.aside()
	if len(names) == 0 {
		return nil
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeSavepoint, Msg: "a savepoint holds all tables of a job, and some are set aside: " + strings.Join(names, ", "),
		Hint: "let them go on first: leat job restart " + j.id.Name + " --table " + names[0],
	}
}

// asked reports whether the attempt that begins is to end at once, because a table
// was asked for while it was planned.
func (j *Job) asked() bool {
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	return j.restart
}

// resumes reports whether an attempt ended to let a table go on.
func (j *Job) resumes() bool {
	select {
	case <-j.stopping:
		return false
	default:
	}
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	again := j.restart
	j.restart = false
	return again
}

// answerRestart is POST /restart.
func (j *Job) answerRestart(w http.ResponseWriter, r *http.Request) {
	if err := j.Resume(r.URL.Query().Get("table")); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(toldOf(err))
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// Resume lets a table of a running job go on that was set aside.
func (c *Client) Resume(ctx context.Context, s *Status, table string) error {
	return call(ctx, socketPath(c.stateDir, s.Key), http.MethodPost, "/restart?table="+url.QueryEscape(table), nil)
}
