package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
	"leat/planner"
)

// watch is what source asks for tables that come while the attempt runs.
func (st *starter) watch(at Attempt, source int) *connect.Watch {
	pl := st.job.spec.Result.Plan
	return &connect.Watch{Spec: *pl.Sources[source].Watch, Add: func(ctx context.Context, d *connect.Discovered, out dataflow.Collector) ([]connect.Added, error) {
		list, err := st.job.spec.Result.Extend(ctx, d)
		if err != nil {
			return nil, err
		}
		var added []connect.Added
		for i, ext := range list {
			if err := st.extend(ctx, at, ext, out); err != nil {
				for _, rest := range slices.Backward(list[i:]) {
					rest.Undo()
				}
				return added, err
			}
			for _, n := range ext.Notices {
				st.job.tell(n.Msg)
			}
			added = append(added, connect.Added{Table: pl.Sources[ext.Source].Tables[ext.Port], Port: ext.Port, Joined: ext.Joined})
		}
		return added, nil
	}}
}

// extend makes the table of an extension and adds it to the running graph. A
// crash after any step of it finds the table at the next start as one that is
// new at the source.
func (st *starter) extend(ctx context.Context, at Attempt, ext *planner.Extension, out dataflow.Collector) error {
	grower, ok := out.(dataflow.Grower)
	if !ok {
		return errors.New("growing a job: its runtime cannot")
	}
	if ext.Joined {
		return nil
	}
	pl := st.job.spec.Result.Plan
	sink, pipe := &pl.Sinks[ext.Sink], &pl.Pipes[ext.Pipe]
	if !at.Replace {
		if err := guardEmpty(ctx, sink); err != nil {
			return err
		}
	}
	if err := (Statements{}).Apply(ctx, ext.Steps); err != nil {
		return err
	}
	n, err := sinkNode(sink, st.job.id.Name, at, st.env())
	if err != nil {
		return err
	}
	p, err := pipeline(pl, pipe, st.env())
	if err != nil {
		return err
	}
	if err := grower.Grow(ctx, &dataflow.Growth{Ports: 1, Pipelines: []dataflow.Pipeline{p}, Sinks: []dataflow.SinkNode{n}}); err != nil {
		return err
	}
	st.job.track.set(func(s *Status) { s.addSink(sink.Table) })
	return nil
}

// StoredSources gives what the newest checkpoint of a job of copies holds of its
// sources by uid, or the savepoint at from if that is not empty; nil if there is
// none. Nothing is changed.
func StoredSources(ctx context.Context, stateDir, from string, settings configs.Values, name, warehouse string) (map[string]json.RawMessage, error) {
	if from != "" {
		s, err := ReadSavepoint(ctx, from)
		if err != nil {
			return nil, err
		}
		return sourceData(s.Checkpoint), nil
	}
	id := IdentityOf(&planner.Result{Plan: &planner.Plan{Name: name}, Warehouse: warehouse, Mirror: true})
	dir := jobFolder(stateDir, settings, id)
	fs := local.New()
	if _, err := fs.Stat(ctx, dir); errors.Is(err, fileio.ErrNotExist) {
		return nil, nil
	}
	store, err := checkpoint.Open(ctx, fs, dir, checkpoint.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoints of job %s: %w", name, err)
	}
	l := store.Latest()
	if l == nil || l.Checkpoint == nil {
		return nil, nil
	}
	return sourceData(l.Checkpoint), nil
}

func sourceData(c *dataflow.Checkpoint) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(c.Sources))
	for uid, s := range c.Sources {
		out[uid] = s.Data
	}
	return out
}

// jobFolder is where a job keeps its state.
func jobFolder(stateDir string, settings configs.Values, id Identity) string {
	if d := configs.CheckpointDir.Get(settings); d != "" {
		if folder, ok := localFolder(d); ok {
			return filepath.Join(folder, id.Key)
		}
	}
	return filepath.Join(stateDir, "jobs", id.Key)
}
