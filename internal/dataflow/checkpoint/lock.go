package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio/flock"
)

// Self describes this process.
func Self() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return Owner{Host: host, PID: os.Getpid(), Since: time.Now()}
}

// Lock keeps a second process of this host away from a job. path is a local
// file beside the log. It never waits: held by a living process it gives a
// diag.Guard error (CodeJobRunning) that names it; a dead process holds nothing.
func Lock(path string, o Owner) (*flock.Lock, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encoding the owner of %s: %w", path, err)
	}
	l, err := flock.Acquire(path, content)
	var held *flock.HeldError
	switch {
	case err == nil:
		return l, nil
	case errors.As(err, &held):
		return nil, running(held.Holder)
	default:
		return nil, &diag.Error{
			Domain: diag.External, Code: diag.CodeJobState, Msg: "the lock of the job cannot be taken",
			Hint: "check that the state directory is on a local disk and writable, or choose another with --state-dir", Cause: err,
		}
	}
}

func running(holder []byte) *diag.Error {
	e := &diag.Error{Domain: diag.Guard, Code: diag.CodeJobRunning, Msg: "the same job runs already"}
	var o Owner
	if err := json.Unmarshal(holder, &o); err != nil || o.PID == 0 {
		e.Hint = "wait for it, stop it, or give this job another pipeline.name"
		return e
	}
	e.Msg = fmt.Sprintf("the same job runs already: pid %d on %s since %s", o.PID, o.Host, o.Since.Format(time.DateTime))
	e.Hint = "stop it with `leat job stop NAME`, or give this job another pipeline.name"
	return e
}
