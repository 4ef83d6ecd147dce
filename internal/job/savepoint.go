package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"leat/configs"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
	"leat/internal/fileio/open"
)

// savepointPrefix begins the names of savepoints, which are Flink's:
// savepoint-<job>-<random>.
const savepointPrefix = "savepoint-"

// SavepointInfo is a savepoint as `leat job show` prints it.
type SavepointInfo struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Checkpoint is 0 until it is taken.
	Checkpoint dataflow.CheckpointID `json:"checkpoint,omitempty"`
	// Time is when it was asked for, and from then on when it was taken.
	Time time.Time `json:"time"`
	// State is "due", "taken" or "failed".
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// Savepoint takes a savepoint of the running job below dir (a folder or URL; the
// configured or default one if empty) and gives it once it is written. With stop
// it is the last thing the job does. A job that is just starting or restarting is
// waited for until ctx ends. A savepoint that was begun is taken also if ctx ends.
func (j *Job) Savepoint(ctx context.Context, dir string, stop bool) (SavepointInfo, error) {
	if err := j.checkWhole(); err != nil {
		return SavepointInfo{}, err
	}
	if dir == "" {
		dir = configs.SavepointDir.Get(j.settings)
	}
	if dir == "" {
		dir = filepath.Join(j.dir, "savepoints")
	}
	info := SavepointInfo{Name: j.savepointName(), Time: time.Now(), State: "due"}
	fs, base, err := open.FromURL(dir)
	if err != nil {
		return info, err
	}
	info.Path = fs.Join(base, info.Name)
	if err := fs.MkdirAll(ctx, info.Path); err != nil {
		return info, &diag.Error{Domain: diag.External, Code: diag.CodeSavepoint, Msg: "the folder of the savepoint cannot be made", Cause: err, Hint: "choose another with --path, or with 'execution.checkpointing.savepoint-dir'"}
	}
	type outcome struct {
		info SavepointInfo
		err  error
	}
	done := make(chan outcome, 1)
	if !j.begin(func() {
		info, err := j.take(context.WithoutCancel(ctx), fs, info, stop)
		done <- outcome{info, err}
	}) {
		return info, errors.Join(savepointEnd(dataflow.ErrStopped), fs.RemoveAll(ctx, info.Path))
	}
	select {
	case o := <-done:
		return o.info, o.err
	case <-ctx.Done():
		return info, context.Cause(ctx)
	}
}

// begin runs f beside the job, which waits for its end; false if the job is over.
func (j *Job) begin(f func()) bool {
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	select {
	case <-j.over:
		return false
	default:
	}
	j.beside.Go(f)
	return true
}

// end says that the job is over and waits for what runs beside it.
func (j *Job) end() {
	j.track.mu.Lock()
	close(j.over)
	j.track.mu.Unlock()
	j.beside.Wait()
}

// take takes a savepoint, whose folder is made.
func (j *Job) take(ctx context.Context, fs fileio.FS, info SavepointInfo, stop bool) (SavepointInfo, error) {
	j.noteSavepoint(info)
	exec, err := j.execution()
	if err == nil {
		err = exec.Savepoint(ctx, dataflow.SavepointRequest{
			SavepointRef: dataflow.SavepointRef{Name: info.Name, Path: info.Path}, Stop: stop,
			Write: func(ctx context.Context, s *dataflow.Savepoint) error { return j.keepSavepoint(ctx, fs, info, s) },
		})
	}
	if err == nil {
		return j.savepoint(info.Name), nil
	}
	if j.savepoint(info.Name).State == "taken" {
		// The run ended before it could say so.
		return j.savepoint(info.Name), nil
	}
	// Nothing but the empty folder is there.
	err = errors.Join(savepointEnd(err), fs.RemoveAll(ctx, info.Path))
	info.State, info.Error = "failed", err.Error()
	j.noteSavepoint(info)
	return info, err
}

func (j *Job) savepointName() string {
	key := j.id.Key[max(0, len(j.id.Key)-6):]
	return savepointPrefix + key + "-" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
}

// savepointEnd says why a savepoint was not taken.
func savepointEnd(err error) error {
	if errors.Is(err, dataflow.ErrStopped) {
		return &diag.Error{Domain: diag.External, Code: diag.CodeSavepoint, Msg: "the job ended, or began to restart, before the savepoint was taken", Hint: "look at the output of its run, and take it again"}
	}
	var e *diag.Error
	if errors.As(err, &e) {
		return err
	}
	return &diag.Error{Domain: diag.External, Code: diag.CodeSavepoint, Msg: "the savepoint was not taken", Cause: err, Hint: "look at the storage and take it again"}
}

// execution gives the running execution, or the next one of a job that restarts.
func (j *Job) execution() (*dataflow.Execution, error) {
	for {
		j.track.mu.Lock()
		exec, state := j.track.exec, j.track.st.State
		j.track.mu.Unlock()
		switch {
		case exec != nil && state != Stopping:
			return exec, nil
		case state == Stopping:
			return nil, dataflow.ErrStopped
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-j.over:
			return nil, dataflow.ErrStopped
		}
	}
}

// keepSavepoint writes the savepoint and registers it with the job.
func (j *Job) keepSavepoint(ctx context.Context, fs fileio.FS, info SavepointInfo, s *dataflow.Savepoint) error {
	content := j.savepointOf(info, s)
	if err := writeSavepoint(ctx, fs, info.Path, content); err != nil {
		return err
	}
	info.Checkpoint, info.Time, info.State = s.Checkpoint.ID, content.Time, "taken"
	if err := j.register(ctx, info); err != nil {
		// The savepoint is complete without it.
		j.spec.Log.Warn("savepoint not registered with the job", "savepoint", info.Name, "error", err)
	}
	j.noteSavepoint(info)
	return nil
}

func (j *Job) savepointOf(info SavepointInfo, s *dataflow.Savepoint) *Savepoint {
	ck := &dataflow.Checkpoint{ID: s.Checkpoint.ID, Sources: s.Checkpoint.Sources, Sinks: map[string]dataflow.SinkRecord{}, Savepoint: s.Checkpoint.Savepoint}
	out := &Savepoint{Name: info.Name, Job: j.id.Name, Key: j.id.Key, Time: info.Time.UTC(), Checkpoint: ck, Tables: map[string]SavedTable{}}
	j.track.mu.Lock()
	out.CommitUser = j.commitUser
	j.track.mu.Unlock()
	for uid, r := range s.Checkpoint.Sinks {
		if held := s.Held[uid]; held != nil {
			r.Observed = held
		}
		ck.Sinks[uid] = dataflow.SinkRecord{Observed: r.Observed}
	}
	root := ""
	if _, path, err := open.FromURL(j.spec.Result.Warehouse); err == nil {
		root = path + "/"
	}
	for i := range j.spec.Result.Plan.Sinks {
		sink := &j.spec.Result.Plan.Sinks[i]
		held := s.Held[sink.UID]
		if held == nil {
			continue
		}
		t := SavedTable{Name: sink.Table.Name, Location: sink.Table.Location, Held: held}
		if rel, ok := strings.CutPrefix(t.Location, root); ok && root != "" {
			t.Relative = rel
		}
		out.Tables[sink.UID] = t
	}
	return out
}

// noteSavepoint puts a savepoint into the status, in place of what was known of it.
func (j *Job) noteSavepoint(info SavepointInfo) {
	j.track.set(func(s *Status) {
		list := slices.Clone(s.Savepoints)
		if i := slices.IndexFunc(list, func(x SavepointInfo) bool { return x.Name == info.Name }); i >= 0 {
			list[i] = info
		} else {
			list = append(list, info)
		}
		s.Savepoints = list
	})
}

func (j *Job) savepoint(name string) SavepointInfo {
	for _, s := range j.Status().Savepoints {
		if s.Name == name {
			return s
		}
	}
	return SavepointInfo{Name: name}
}

// refSuffix ends the files in which a job registers its savepoints, beside its log.
const refSuffix = ".ref"

func (j *Job) refPath(name string) string { return filepath.Join(j.dir, "savepoints", name+refSuffix) }

// register remembers that a savepoint was written, wherever that is: its folder
// may be out of reach when somebody asks.
func (j *Job) register(ctx context.Context, info SavepointInfo) error {
	b, err := json.Marshal(&info)
	if err != nil {
		return fmt.Errorf("encoding savepoint %s: %w", info.Name, err)
	}
	return local.New().Replace(ctx, j.refPath(info.Name), b)
}

// registered gives the savepoints that were written in earlier runs, oldest first.
func (j *Job) registered(ctx context.Context) ([]SavepointInfo, error) {
	fs := local.New()
	infos, err := fs.List(ctx, filepath.Join(j.dir, "savepoints"))
	if err != nil {
		return nil, fmt.Errorf("listing savepoints: %w", err)
	}
	var out []SavepointInfo
	for _, i := range infos {
		if i.IsDir || !strings.HasSuffix(i.Name, refSuffix) || strings.HasPrefix(i.Name, ".") {
			continue
		}
		b, err := fs.ReadFile(ctx, i.Path)
		if err != nil {
			return nil, fmt.Errorf("reading a savepoint's reference: %w", err)
		}
		var s SavepointInfo
		if json.Unmarshal(b, &s) == nil && s.Name != "" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b SavepointInfo) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// abandoned names the savepoints that the log began and that were not written:
// neither registered nor where they were to be. One whose place cannot be looked
// at counts as written.
func (st *starter) abandoned(ctx context.Context) ([]string, error) {
	known, err := st.job.registered(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range st.store.Entries() {
		if e.Checkpoint == nil || e.Checkpoint.Savepoint == nil || e.Restore != nil {
			continue
		}
		ref := *e.Checkpoint.Savepoint
		if slices.ContainsFunc(known, func(s SavepointInfo) bool { return s.Name == ref.Name }) {
			continue
		}
		fs, path, err := open.FromURL(ref.Path)
		if err != nil {
			continue
		}
		_, err = fs.Stat(ctx, fs.Join(path, SavepointMetadata))
		switch {
		case err == nil:
			info := SavepointInfo{Name: ref.Name, Path: ref.Path, Checkpoint: e.Checkpoint.ID, Time: e.Time, State: "taken"}
			if err := st.job.register(ctx, info); err != nil {
				return nil, err
			}
		case errors.Is(err, fileio.ErrNotExist):
			out = append(out, ref.Name)
			if err := fs.RemoveAll(ctx, path); err != nil {
				return nil, fmt.Errorf("removing the folder of a savepoint that was not written: %w", err)
			}
		}
	}
	return out, nil
}
