package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio/local"
)

// control is the local HTTP server of a running job on a unix socket:
// GET /status, POST /stop, POST /savepoint. A job registers by its socket in <state-dir>/run.
type control struct {
	path   string
	server *http.Server
	done   chan struct{}
}

func socketPath(stateDir, key string) string {
	// The hash alone: a socket path is limited to about 100 bytes.
	return filepath.Join(stateDir, "run", key[max(0, len(key)-12):]+".sock")
}

func (j *Job) serve() (*control, error) {
	path := socketPath(j.spec.StateDir, j.id.Key)
	fs := local.New()
	// The lock of the job is ours, so a socket that stands there is a dead one.
	if err := errors.Join(fs.MkdirAll(context.Background(), filepath.Dir(path)), fs.Remove(context.Background(), path)); err != nil {
		return nil, stateError(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, stateError(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(j.Status())
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		j.Stop()
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /restart", j.answerRestart)
	mux.HandleFunc("POST /savepoint", j.answerSavepoint)
	c := &control{path: path, server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			j.spec.Log.Warn("control socket ended", "error", err)
		}
	}()
	return c, nil
}

func stateError(err error) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeJobState, Msg: "the control socket of the job cannot be made",
		Hint: "choose a state directory with a short path on a local disk (--state-dir)", Cause: err,
	}
}

func (c *control) close() {
	// An answer that a last savepoint made possible gets out.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.server.Shutdown(ctx)
	<-c.done
	_ = local.New().Remove(context.Background(), c.path)
}

// Client talks to the running jobs of a state directory.
type Client struct{ stateDir string }

// NewClient makes a client.
func NewClient(stateDir string) *Client { return &Client{stateDir: stateDir} }

// List gives the running jobs in order of name.
func (c *Client) List(ctx context.Context) ([]Status, error) {
	sockets, err := filepath.Glob(filepath.Join(c.stateDir, "run", "*.sock"))
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	var out []Status
	for _, s := range sockets {
		var st Status
		if err := call(ctx, s, http.MethodGet, "/status", &st); err != nil {
			continue // a socket left by a killed process
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Find gives the running job called name, by its name or its key.
func (c *Client) Find(ctx context.Context, name string) (Status, error) {
	list, err := c.List(ctx)
	if err != nil {
		return Status{}, err
	}
	var names []string
	for _, s := range list {
		if s.Name == name || s.Key == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeJobUnknown, Msg: fmt.Sprintf("no job called %s is running here", name), Hint: "see `leat job list`; --state-dir chooses another place"}
	if len(names) > 0 {
		e.Notes = []string{"running: " + strings.Join(names, ", ")}
	}
	return Status{}, e
}

// savepointAsked is the body of POST /savepoint.
type savepointAsked struct {
	Path string `json:"path"`
	Stop bool   `json:"stop"`
}

// answerSavepoint answers once the savepoint is taken, however long that lasts;
// who goes away earlier finds it in the status.
func (j *Job) answerSavepoint(w http.ResponseWriter, r *http.Request) {
	var asked savepointAsked
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	info, err := j.Savepoint(r.Context(), asked.Path, asked.Stop)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(toldOf(err))
		return
	}
	_ = json.NewEncoder(w).Encode(&info)
}

// told is an error as it goes over the socket.
type told struct {
	Code   diag.Code   `json:"code"`
	Domain diag.Domain `json:"domain"`
	Msg    string      `json:"msg"`
	Notes  []string    `json:"notes,omitempty"`
	Hint   string      `json:"hint"`
}

func toldOf(err error) told {
	var e *diag.Error
	if !errors.As(err, &e) {
		return told{Code: diag.CodeSavepoint, Domain: diag.External, Msg: err.Error(), Hint: "look at the output of the job's run"}
	}
	t := told{Code: e.Code, Domain: e.Domain, Msg: e.Msg, Notes: e.Notes, Hint: e.Hint}
	if e.Table != "" {
		t.Msg = "table " + e.Table + ": " + t.Msg
	}
	if e.Cause != nil {
		t.Msg += ": " + e.Cause.Error()
	}
	return t
}

// Savepoint takes a savepoint of a job below path (the job's own place if empty),
// with stop as its end. It waits until ctx ends.
func (c *Client) Savepoint(ctx context.Context, s *Status, path string, stop bool) (SavepointInfo, error) {
	body, err := json.Marshal(savepointAsked{Path: path, Stop: stop})
	if err != nil {
		return SavepointInfo{}, fmt.Errorf("asking for a savepoint: %w", err)
	}
	var info SavepointInfo
	err = exchange(ctx, socketPath(c.stateDir, s.Key), http.MethodPost, "/savepoint", bytes.NewReader(body), &info)
	if err != nil && ctx.Err() != nil {
		return info, &diag.Error{
			Domain: diag.External, Code: diag.CodeSavepoint, Msg: fmt.Sprintf("the savepoint of job %s was not taken in time; it will be once the job can", s.Name),
			Hint: "see `leat job show " + s.Name + "`, and wait longer with --timeout",
		}
	}
	return info, err
}

// Stop asks a job to end after a last checkpoint.
func (c *Client) Stop(ctx context.Context, s *Status) error {
	return call(ctx, socketPath(c.stateDir, s.Key), http.MethodPost, "/stop", nil)
}

// Refresh reads the status of a job again; it fails once the job has ended.
func (c *Client) Refresh(ctx context.Context, s *Status) (Status, error) {
	var st Status
	err := call(ctx, socketPath(c.stateDir, s.Key), http.MethodGet, "/status", &st)
	return st, err
}

func call(ctx context.Context, socket, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exchange(ctx, socket, method, path, http.NoBody, into)
}

// exchange asks a job. An answer with an error is that error.
func exchange(ctx context.Context, socket, method, path string, body io.Reader, into any) error {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "http://job"+path, body)
	if err != nil {
		return fmt.Errorf("asking the job: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the job: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusConflict {
		var t told
		if err := json.NewDecoder(resp.Body).Decode(&t); err != nil {
			return fmt.Errorf("reading the job's answer: %w", err)
		}
		return &diag.Error{Code: t.Code, Domain: t.Domain, Msg: t.Msg, Notes: t.Notes, Hint: t.Hint}
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("reading the job's answer: %w", err)
	}
	return nil
}
